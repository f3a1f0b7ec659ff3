"""What an operator looks at: metrics, health, readiness, the log."""

import json
import re
import subprocess
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.exceptions import ClientError

from patience import SLOWER
from stator_process import StatorProcess, binary

SAMPLE = re.compile(r"^(stator_[a-z0-9_]+)(?:\{([^}]*)\})? (\S+)$")


def get(server, page):
    try:
        with urllib.request.urlopen(f"{server.endpoint}/_stator/{page}", timeout=30 * SLOWER) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def metrics(server):
    """{(name, labels): value}, with labels as a frozenset of pairs."""
    status, headers, text = get(server, "metrics")
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        pairs = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        assert (name, pairs) not in samples, f"{line} is there twice"
        samples[name, pairs] = float(value)
    return samples


def labels(**pairs):
    return frozenset(pairs.items())


@pytest.fixture
def own():
    with StatorProcess("--in-memory") as process:
        yield process


@pytest.fixture
def client(own):
    return boto3.client("dynamodb", endpoint_url=own.endpoint)


def create_table(client, **more):
    client.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("PK", "status")],
        GlobalSecondaryIndexes=[{
            "IndexName": "by-status", "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            **({"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}} if more else {})}],
        **(more or {"BillingMode": "PAY_PER_REQUEST"}))


def test_every_metric_is_described_once_and_well_named(own, client):
    create_table(client)
    text = get(own, "metrics")[2]
    kinds = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
    assert len(kinds) == len({name for name, _ in kinds}) == len(re.findall("^# HELP ", text, re.M))
    for name, kind in kinds:
        assert re.fullmatch(r"stator_[a-z0-9_]+", name)
        assert (kind == "counter") == name.endswith("_total"), name
    families = {name for name, _ in kinds}
    for line in text.splitlines():
        if not line.startswith("#"):
            name = SAMPLE.match(line).group(1)
            assert name in families or re.sub(r"_(bucket|sum|count)$", "", name) in families, line


def test_requests_are_counted_by_operation_and_result(own, client):
    create_table(client)
    for _ in range(3):
        client.put_item(TableName="Orders", Item={"PK": {"S": "1"}})
    with pytest.raises(ClientError):
        client.put_item(TableName="Orders", Item={"PK": {"S": "1"}}, ConditionExpression="attribute_not_exists(PK)")
    with pytest.raises(ClientError):
        client.get_item(TableName="Nowhere", Key={"PK": {"S": "1"}})
    seen = metrics(own)

    def requests(operation, result):
        return seen.get(("stator_requests_total", labels(service="DynamoDB", operation=operation, result=result)), 0)

    assert requests("PutItem", "success") == 3
    assert requests("PutItem", "ConditionalCheckFailedException") == 1
    assert requests("GetItem", "ResourceNotFoundException") == 1
    assert requests("GetItem", "success") == 0
    of_put = {"service": "DynamoDB", "operation": "PutItem"}
    assert seen["stator_request_duration_seconds_count", labels(**of_put)] == 4
    assert seen["stator_request_duration_seconds_bucket", labels(**of_put, le="+Inf")] == 4
    assert 0 < seen["stator_request_duration_seconds_sum", labels(**of_put)] < 60
    bounds = sorted((float(dict(pairs)["le"]), value) for (name, pairs), value in seen.items()
                    if name == "stator_request_duration_seconds_bucket" and of_put.items() <= dict(pairs).items())
    assert [value for _, value in bounds] == sorted(value for _, value in bounds)


def test_tables_show_what_they_hold_and_consume(own, client):
    create_table(client)
    client.put_item(TableName="Orders", Item={"PK": {"S": "1"}, "status": {"S": "new"}, "text": {"S": "x" * 2000}})
    client.put_item(TableName="Orders", Item={"PK": {"S": "2"}})
    client.get_item(TableName="Orders", Key={"PK": {"S": "1"}}, ConsistentRead=True)
    client.query(TableName="Orders", IndexName="by-status", KeyConditionExpression="#s = :s",
                 ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":s": {"S": "new"}})
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "Orders", "Item": {"PK": {"S": "3"}}}}])
    seen = metrics(own)
    table, index = labels(table="Orders", index=""), labels(table="Orders", index="by-status")
    assert (seen["stator_table_items", table], seen["stator_table_items", index]) == (3, 1)
    assert seen["stator_table_size_bytes", table] > 2000
    # 2 for the large item, 1 for the small one, 2 for one in a transaction.
    assert seen["stator_consumed_write_units_total", table] == 5
    assert seen["stator_consumed_write_units_total", index] == 2
    assert seen["stator_consumed_read_units_total", table] == 1
    assert seen["stator_consumed_read_units_total", index] == 0.5
    client.delete_table(TableName="Orders")
    assert ("stator_table_items", table) not in metrics(own)


def test_throttled_requests_are_counted(own, client):
    from botocore.config import Config
    once = boto3.client("dynamodb", endpoint_url=own.endpoint, config=Config(retries={"total_max_attempts": 1}))
    create_table(once, ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1})
    refused = 0
    for number in range(400):
        try:
            once.put_item(TableName="Orders", Item={"PK": {"S": str(number)}, "text": {"S": "x" * 10_000}})
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ProvisionedThroughputExceededException"
            refused += 1
            break
    assert refused == 1
    assert metrics(own)["stator_throttled_writes_total", labels(table="Orders", index="")] == 1


def test_connections_and_the_engine_are_shown(own, client):
    create_table(client)
    client.put_item(TableName="Orders", Item={"PK": {"S": "1"}})
    seen = metrics(own)
    plain = labels()
    assert seen["stator_connections", plain] >= 1
    assert seen["stator_connections_accepted_total", plain] >= 2
    assert seen["stator_received_bytes_total", plain] > 0
    assert seen["stator_sent_bytes_total", plain] > 0
    assert seen["stator_engine_commit_changes_count", plain] >= 2
    assert seen["stator_engine_written_bytes_total", plain] > 0
    assert seen["stator_engine_write_failed", plain] == 0
    assert seen["stator_requests_under_way", plain] == 1  # this one
    assert seen["stator_process_resident_memory_bytes", plain] > 1_000_000
    assert seen["stator_background_failures_total", labels(job="deleting expired items")] == 0


def test_a_batch_is_one_change_of_the_store(own, client):
    create_table(client)
    before = metrics(own)["stator_engine_commit_changes_sum", labels()]
    client.batch_write_item(RequestItems={"Orders": [
        {"PutRequest": {"Item": {"PK": {"S": str(number)}, "Status": {"S": "new"}}}} for number in range(25)]})
    assert metrics(own)["stator_engine_commit_changes_sum", labels()] == before + 1


def test_flushes_are_measured(tmp_path):
    with StatorProcess("--data-dir", str(tmp_path)) as process:
        create_table(boto3.client("dynamodb", endpoint_url=process.endpoint))
        seen = metrics(process)
        assert seen["stator_engine_flush_duration_seconds_count", labels()] >= 1
        assert seen["stator_engine_reads_total", labels(**{"from": "memory"})] >= 0


def test_ready_and_health(own):
    assert get(own, "ready")[::2] == (200, '{"status":"ready"}')
    assert json.loads(get(own, "health")[2])["status"] == "ok"
    assert get(own, "nothing")[0] == 404
    result = subprocess.run([binary(), "health", "--port", str(own.port)], capture_output=True, text=True, timeout=30 * SLOWER)
    assert (result.returncode, result.stdout) == (0, "ready\n")
    own.stop()
    result = subprocess.run([binary(), "health", "--port", str(own.port)], capture_output=True, text=True, timeout=30 * SLOWER)
    assert result.returncode == 1
    assert "is not ready: Connection refused" in result.stderr


def test_the_log_as_json_has_an_object_a_line_with_request_ids():
    with StatorProcess("--in-memory", "--log-format", "json", "--log-level", "debug") as process:
        client = boto3.client("dynamodb", endpoint_url=process.endpoint)
        answer = client.list_tables()
        process.stop()
        events = [json.loads(line) for line in process.log().splitlines()]
    assert all({"time", "level", "message"} <= set(event) for event in events)
    mine = [event for event in events if event.get("request_id") == answer["ResponseMetadata"]["RequestId"]]
    assert [(event["message"], event["target"], event["status"]) for event in mine] == [
        ("request", "DynamoDB_20120810.ListTables", "200")]


def test_a_slow_request_is_logged_with_where_the_time_went():
    with StatorProcess("--in-memory", "--slow-ms", "1") as process:
        client = boto3.client("dynamodb", endpoint_url=process.endpoint)
        create_table(client)
        for number in range(8):
            client.put_item(TableName="Orders", Item={"PK": {"S": str(number)}, "text": {"S": "x" * 390_000}})
        answer = client.scan(TableName="Orders")
        process.stop()
        log = process.log()
    wanted = answer["ResponseMetadata"]["RequestId"]
    line = next(line for line in log.splitlines() if wanted in line)
    assert " slow request " in line
    fields = dict(re.findall(r"(\w+)=(\S+)", line))
    assert fields["target"] == "DynamoDB_20120810.Scan"
    parts = [float(fields[name]) for name in (
        "receive_ms", "route_ms", "parse_ms", "execute_ms", "frame_ms", "send_ms")]
    assert abs(sum(parts) - float(fields["total_ms"])) < 0.1


def test_a_slow_write_says_how_long_it_waited_for_its_commit(tmp_path):
    with StatorProcess("--data-dir", str(tmp_path), "--slow-ms", "1") as process:
        client = boto3.client("dynamodb", endpoint_url=process.endpoint)
        create_table(client)
        answer = client.put_item(TableName="Orders", Item={"PK": {"S": "a"}, "text": {"S": "x" * 390_000}})
        process.stop()
        log = process.log()
    wanted = answer["ResponseMetadata"]["RequestId"]
    line = next(line for line in log.splitlines() if wanted in line)
    fields = dict(re.findall(r"(\w+)=(\S+)", line))
    waits = [float(fields[name]) for name in ("keys_ms", "disk_ms", "commit_ms")]
    assert waits[2] > 0
    assert sum(waits) <= float(fields["execute_ms"])
