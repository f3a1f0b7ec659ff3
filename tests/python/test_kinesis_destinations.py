"""The changes of a table reach a Kinesis data stream: an endpoint of the test's own that takes PutRecords."""

import base64
import http.server
import json
import threading
import time

import boto3
import pytest

from stator_process import StatorProcess
from wire_client import WireClient

STREAM_ARN = "arn:aws:kinesis:us-east-1:123456789012:stream/changes"
PATIENCE_S = 60


class Kinesis(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, answer = self.server.put_records(self.headers, body)
        answer = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Endpoint(http.server.ThreadingHTTPServer):
    """Takes records; `refuse` says which of them do not get in, `down` that nothing works."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Kinesis)
        self.daemon_threads = True
        self._changed = threading.Condition()
        self.records, self.calls = [], []
        self.refuse = lambda record: False
        self.down = False

    def put_records(self, headers, body):
        with self._changed:
            self.calls.append((dict(headers), body))
            if self.down:
                return 500, {"__type": "InternalFailure"}
            results, failed = [], 0
            for record in body["Records"]:
                data = json.loads(base64.b64decode(record["Data"]))
                if self.refuse(data):
                    failed += 1
                    results.append({"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "later"})
                else:
                    self.records.append((record["PartitionKey"], data))
                    results.append({"SequenceNumber": str(len(self.records)), "ShardId": "shardId-0"})
            self._changed.notify_all()
            return 200, {"FailedRecordCount": failed, "Records": results}

    def wait(self, condition):
        deadline = time.monotonic() + PATIENCE_S
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"only {len(self.records)} records after {PATIENCE_S} s"
                self._changed.wait(min(left, 0.1))


@pytest.fixture
def endpoint_of_kinesis():
    with Endpoint() as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever, args=(0.05,))
        thread.start()
        yield endpoint
        endpoint.shutdown()
        thread.join()


@pytest.fixture
def start(tmp_path, endpoint_of_kinesis):
    config = tmp_path / "stator.toml"
    config.write_text(f'[kinesis]\nendpoint = "http://127.0.0.1:{endpoint_of_kinesis.server_port}"\n')
    processes = []

    def run():
        process = StatorProcess("--data-dir", str(tmp_path / "data"), "--config", str(config),
                                "--trigger-retry-ms", "20")
        processes.append(process)
        return process, boto3.client("dynamodb", endpoint_url=process.endpoint)

    yield run
    for process in processes:
        if process.running():
            process.stop()


def create_table(client):
    client.create_table(
        TableName="Orders", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}])


def put(client, pk, n):
    client.put_item(TableName="Orders", Item={"PK": {"S": pk}, "n": {"N": str(n)}})


def numbers(records):
    by_key = {}
    for _, data in records:
        n = int(data["dynamodb"]["NewImage"]["n"]["N"])
        seen = by_key.setdefault(data["dynamodb"]["Keys"]["PK"]["S"], [])
        if n not in seen:  # at least once
            seen.append(n)
    return by_key


def test_changes_arrive_while_a_destination_is_enabled(start, endpoint_of_kinesis):
    process, client = start()
    kinesis = endpoint_of_kinesis
    create_table(client)
    put(client, "before", 0)
    client.enable_kinesis_streaming_destination(TableName="Orders", StreamArn=STREAM_ARN)
    before_ms = time.time() * 1000
    put(client, "a", 1)
    put(client, "a", 2)
    client.delete_item(TableName="Orders", Key={"PK": {"S": "a"}})
    kinesis.wait(lambda: len(kinesis.records) == 3)
    keys = {key for key, _ in kinesis.records}
    assert len(keys) == 1
    insert, modify, remove = (data for _, data in kinesis.records)
    assert [d["eventName"] for d in (insert, modify, remove)] == ["INSERT", "MODIFY", "REMOVE"]
    assert set(insert) == {"awsRegion", "eventID", "eventName", "userIdentity", "recordFormat", "tableName", "dynamodb",
                           "eventSource"}
    assert insert["tableName"] == "Orders"
    assert insert["recordFormat"] == "application/json"
    assert insert["userIdentity"] is None
    assert modify["dynamodb"]["OldImage"]["n"] == {"N": "1"}
    assert insert["dynamodb"]["ApproximateCreationDateTimePrecision"] == "MILLISECOND"
    assert before_ms - 1000 < insert["dynamodb"]["ApproximateCreationDateTime"] < time.time() * 1000 + 1000
    headers, body = kinesis.calls[0]
    assert headers["X-Amz-Target"] == "Kinesis_20131202.PutRecords"
    assert headers["Content-Type"] == "application/x-amz-json-1.1"
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=")
    assert body["StreamARN"] == STREAM_ARN
    assert body["StreamName"] == "changes"

    # Debian's boto3 does not know this operation.
    WireClient(process.port).expect("UpdateKinesisStreamingDestination", {
        "TableName": "Orders", "StreamArn": STREAM_ARN,
        "UpdateKinesisStreamingConfiguration": {"ApproximateCreationDateTimePrecision": "MICROSECOND"}})
    put(client, "b", 1)
    kinesis.wait(lambda: len(kinesis.records) == 4)
    # The new precision may take a moment, as in the service.
    deadline = time.monotonic() + PATIENCE_S
    while kinesis.records[-1][1]["dynamodb"]["ApproximateCreationDateTimePrecision"] != "MICROSECOND":
        assert time.monotonic() < deadline
        count = len(kinesis.records)
        put(client, "b", count)
        kinesis.wait(lambda: len(kinesis.records) > count)
    assert kinesis.records[-1][1]["dynamodb"]["ApproximateCreationDateTime"] > time.time() * 1e6 - 60e6

    put(client, "last", 1)
    client.disable_kinesis_streaming_destination(TableName="Orders", StreamArn=STREAM_ARN)
    put(client, "after", 1)
    kinesis.wait(lambda: "last" in numbers([r for r in kinesis.records if r[1]["eventName"] != "REMOVE"]))
    assert "after" not in str(kinesis.records)


def test_records_left_out_are_sent_again_in_order(start, endpoint_of_kinesis):
    _, client = start()
    kinesis = endpoint_of_kinesis
    tries = {}

    def refuse(data):
        n = data["dynamodb"]["NewImage"]["n"]["N"]
        tries[n] = tries.get(n, 0) + 1
        return int(n) % 5 == 0 and tries[n] < 6

    kinesis.refuse = refuse
    create_table(client)
    client.enable_kinesis_streaming_destination(TableName="Orders", StreamArn=STREAM_ARN)
    for n in range(40):
        put(client, f"p{n}", n)
    kinesis.wait(lambda: len(numbers(kinesis.records)) == 40)


def test_nothing_is_lost_when_the_endpoint_or_the_server_goes_away(start, endpoint_of_kinesis):
    process, client = start()
    kinesis = endpoint_of_kinesis
    create_table(client)
    client.enable_kinesis_streaming_destination(TableName="Orders", StreamArn=STREAM_ARN)
    for n in range(50):
        put(client, f"p{n % 5}", n)
    kinesis.wait(lambda: kinesis.records)
    kinesis.down = True
    for n in range(50, 100):
        put(client, f"p{n % 5}", n)
    process.kill()
    process, client = start()
    kinesis.down = False
    for n in range(100, 150):
        put(client, f"p{n % 5}", n)
    kinesis.wait(lambda: sum(map(len, numbers(kinesis.records).values())) == 150)
    for key, seen in numbers(kinesis.records).items():
        assert seen == list(range(int(key[1:]), 150, 5)), key
