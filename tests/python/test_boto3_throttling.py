"""A provisioned table in real time: five read units a second, with 300 seconds of them saved when the table is new."""

import time

import boto3
import pytest
from botocore.config import Config

TABLE = "Throttled"
UNITS = 5
SAVED_UNITS = 300 * UNITS
LARGE_UNITS = 100
LARGE_ITEM = {"pk": {"S": "large"}, "filler": {"S": "x" * (LARGE_UNITS * 4096 - 200)}}
SMALL_ITEM = {"pk": {"S": "small"}}


@pytest.fixture
def table(client):
    """A new table, and when it was new."""
    began = time.monotonic()
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        ProvisionedThroughput={"ReadCapacityUnits": UNITS, "WriteCapacityUnits": 1000},
    )
    client.put_item(TableName=TABLE, Item=LARGE_ITEM)
    client.put_item(TableName=TABLE, Item=SMALL_ITEM)
    return began


def get(client, item=SMALL_ITEM):
    return client.get_item(TableName=TABLE, Key={"pk": item["pk"]}, ConsistentRead=True,
                           ReturnConsumedCapacity="TOTAL")


def use_up(client):
    """Reads until the table refuses; the units that were read and the refusal."""
    used = 0
    while used < 2 * SAVED_UNITS:
        # Large steps first: what is below nothing at the end has to come in again.
        item = LARGE_ITEM if used + LARGE_UNITS < SAVED_UNITS else SMALL_ITEM
        try:
            used += get(client, item)["ConsumedCapacity"]["CapacityUnits"]
        except client.exceptions.ProvisionedThroughputExceededException as refusal:
            return used, refusal
    raise AssertionError(f"{used} units were read from a table of {UNITS}")


def test_a_loop_of_reads_is_throttled_after_its_burst_and_goes_on_at_the_rate_of_the_table(client, table):
    used, refusal = use_up(client)
    came_in = UNITS * (time.monotonic() - table)
    assert SAVED_UNITS <= used <= SAVED_UNITS + came_in + 1
    assert refusal.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert refusal.response["Error"]["Message"].startswith(
        "The level of configured provisioned throughput for the table was exceeded.")

    began, served, refused = time.monotonic(), 0, 0
    while time.monotonic() - began < 2:
        try:
            get(client)
            served += 1
        except client.exceptions.ProvisionedThroughputExceededException:
            refused += 1
    elapsed = time.monotonic() - began
    assert refused > served
    assert UNITS * elapsed - 2 <= served <= UNITS * elapsed + 2


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_a_client_tries_again_until_capacity_has_come_in(client, table, mode):
    use_up(client)
    patient = boto3.client("dynamodb", config=Config(retries={"mode": mode, "total_max_attempts": 10}))
    answers = [get(patient) for _ in range(5)]
    assert all(answer["Item"] == SMALL_ITEM for answer in answers)
    assert sum(answer["ResponseMetadata"]["RetryAttempts"] for answer in answers) > 0
