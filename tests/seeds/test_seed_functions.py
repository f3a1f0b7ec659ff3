"""The handlers of the documents as functions that the server calls: bound to a stream, in a process of their own port,
as one would run them beside a local database."""

import boto3
import pytest
from botocore.config import Config

import test_seed_complete_guide as guide
import test_seed_operations as operations
from lambda_functions import DESTINATION_ARN, Functions
from stator_process import StatorProcess

ORDERS = 30


@pytest.fixture
def bound(tmp_path):
    """The two handlers, each bound to the stream of a table Orders; what they print is kept in order."""
    with Functions() as functions:
        printed = {"operations": [], "guide": []}

        def calling(name, handler, module, monkeypatch):
            def call(event, context):
                monkeypatch.setattr(module, "print", printed[name].append, raising=False)
                return handler(event, context)
            return call

        with pytest.MonkeyPatch.context() as monkeypatch:
            functions["operations"] = calling("operations", operations.handler, operations, monkeypatch)
            functions["guide"] = calling("guide", guide.lambda_handler, guide, monkeypatch)
            config = tmp_path / "stator.toml"
            config.write_text(functions.config())
            with StatorProcess("--in-memory", "--config", str(config), "--trigger-retry-ms", "20") as process:
                once = Config(retries={"total_max_attempts": 1})
                client = boto3.client("dynamodb", endpoint_url=process.endpoint, config=once)
                arn = client.create_table(
                    TableName="Orders", BillingMode="PAY_PER_REQUEST",
                    KeySchema=[{"AttributeName": "userId", "KeyType": "HASH"}],
                    AttributeDefinitions=[{"AttributeName": "userId", "AttributeType": "S"}],
                    StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
                )["TableDescription"]["LatestStreamArn"]
                mappings = boto3.client("lambda", endpoint_url=process.endpoint, config=once)

                def bind(function, **settings):
                    mappings.create_event_source_mapping(
                        FunctionName=function, EventSourceArn=arn, StartingPosition="LATEST", **settings)

                yield functions, printed, boto3.resource("dynamodb", endpoint_url=process.endpoint).Table("Orders"), bind


def run_orders(table, email=lambda n: {"email": f"user{n}@example.com"}):
    for n in range(ORDERS):
        table.put_item(Item={"userId": str(n), "status": "pending", **email(n)})
        table.update_item(Key={"userId": str(n)}, UpdateExpression="SET #status = :s",
                          ExpressionAttributeNames={"#status": "status"}, ExpressionAttributeValues={":s": "shipped"})
        table.delete_item(Key={"userId": str(n)})


def test_both_handlers_see_every_order_come_change_and_go(bound):
    functions, printed, table, bind = bound
    bind("operations")
    bind("guide")
    run_orders(table)
    functions.wait(lambda: len(printed["guide"]) == 4 * ORDERS and len(printed["operations"]) == ORDERS)
    assert printed["operations"] == ["Status changed: pending -> shipped"] * ORDERS
    for n in range(ORDERS):
        about = [line for line in printed["guide"]
                 if f"'{n}'" in line or line == f"Order Confirmed to user{n}@example.com"]
        assert about[0].startswith("New order: ")
        assert about[1] == f"Order Confirmed to user{n}@example.com"
        assert about[2].startswith("Order deleted: ") and "'shipped'" in about[2]


def test_an_order_without_an_address_does_not_stop_the_others(bound):
    # The guide's handler takes it for granted that an order has an email.
    functions, printed, table, bind = bound
    bind("guide", BisectBatchOnFunctionError=True, MaximumRetryAttempts=1,
         DestinationConfig={"OnFailure": {"Destination": DESTINATION_ARN}})
    run_orders(table, lambda n: {} if n == 7 else {"email": f"user{n}@example.com"})
    functions.wait(lambda: functions.failures and
                   len({line for line in printed["guide"] if line.startswith("Order deleted: ")}) == ORDERS)
    failure, = functions.failures
    assert failure["DDBStreamBatchInfo"]["batchSize"] == 1
    poisoned = [record for record in functions.records("guide")
                if record["dynamodb"]["SequenceNumber"] == failure["DDBStreamBatchInfo"]["startSequenceNumber"]]
    assert {(r["eventName"], r["dynamodb"]["Keys"]["userId"]["S"]) for r in poisoned} == {("INSERT", "7")}
