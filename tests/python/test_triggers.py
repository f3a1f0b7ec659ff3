"""Functions bound to streams: every change arrives, in order, whatever the function and the server go through."""

import json
import threading
import time
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lambda_functions import DESTINATION_ARN, Functions
from stator_process import StatorProcess

RETRY = ("--trigger-retry-ms", "20")


class Bench:
    """A server with functions, and the clients that a test needs."""

    def __init__(self, tmp_path, functions):
        self._tmp_path, self.functions = tmp_path, functions
        self.start()

    def start(self, *more):
        config = self._tmp_path / "stator.toml"
        config.write_text(self.functions.config())
        self.process = StatorProcess("--data-dir", str(self._tmp_path / "data"), "--config", str(config), *RETRY, *more)
        once = Config(retries={"total_max_attempts": 1}, max_pool_connections=50)
        self.dynamodb = boto3.client("dynamodb", endpoint_url=self.process.endpoint, config=once)
        self.mappings = boto3.client("lambda", endpoint_url=self.process.endpoint, config=once)

    def restart(self):
        self.process.kill()
        self.start()

    def create_table(self, name="Orders", view="NEW_AND_OLD_IMAGES"):
        return self.dynamodb.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("PK", "SK")],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": view},
        )["TableDescription"]["LatestStreamArn"]

    def bind(self, arn, function, **settings):
        return self.mappings.create_event_source_mapping(
            **{"FunctionName": function, "EventSourceArn": arn, "StartingPosition": "TRIM_HORIZON", **settings})["UUID"]

    def put(self, pk, sk, table="Orders", **attributes):
        self.dynamodb.put_item(TableName=table, Item={"PK": {"S": pk}, "SK": {"S": sk}, **attributes})

    def result(self, uuid):
        return self.mappings.get_event_source_mapping(UUID=uuid)["LastProcessingResult"]


@pytest.fixture
def bench(tmp_path):
    with Functions() as functions:
        functions["fn"] = lambda event, context: None
        functions["other"] = lambda event, context: None
        bench = Bench(tmp_path, functions)
        try:
            yield bench
            assert bench.process.running(), bench.process.log()
        finally:
            bench.process.stop()


def keys(records):
    return [(r["dynamodb"]["Keys"]["PK"]["S"], r["dynamodb"]["Keys"]["SK"]["S"]) for r in records]


def lag_ms(bench):
    with urllib.request.urlopen(f"{bench.process.endpoint}/_stator/triggers") as page:
        mapping, = json.load(page)["mappings"]
    return mapping["lag_ms"]


def once_each(records):
    """At least once is what is promised: a record that came again is left out."""
    seen = set()
    return [r for r in records if not (r["eventID"] in seen or seen.add(r["eventID"]))]


def by_item(records, attribute="n"):
    values = {}
    for record in records:
        image = record["dynamodb"].get("NewImage", {})
        key = keys([record])[0]
        values.setdefault(key, []).append(int(image[attribute]["N"]) if attribute in image else None)
    return values


def test_an_event_has_lambdas_shape(bench):
    arn = bench.create_table()
    bench.bind(arn, "fn")
    bench.put("a", "1", n={"N": "1"})
    bench.put("a", "1", n={"N": "2"})
    bench.dynamodb.delete_item(TableName="Orders", Key={"PK": {"S": "a"}, "SK": {"S": "1"}})
    bench.functions.wait(lambda: len(bench.functions.records("fn")) == 3)
    insert, modify, remove = bench.functions.records("fn")
    for record, name in ((insert, "INSERT"), (modify, "MODIFY"), (remove, "REMOVE")):
        assert set(record) == {"eventID", "eventName", "eventVersion", "eventSource", "awsRegion", "dynamodb",
                               "eventSourceARN"}
        assert record["eventName"] == name
        assert record["eventVersion"] == "1.1"
        assert record["eventSource"] == "aws:dynamodb"
        assert record["awsRegion"] == "us-east-1"
        assert record["eventSourceARN"] == arn
        assert isinstance(record["dynamodb"]["ApproximateCreationDateTime"], int)
        assert record["dynamodb"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
        assert keys([record]) == [("a", "1")]
    assert set(insert["dynamodb"]) == {"ApproximateCreationDateTime", "Keys", "NewImage", "SequenceNumber", "SizeBytes",
                                       "StreamViewType"}
    assert modify["dynamodb"]["OldImage"]["n"] == {"N": "1"}
    assert modify["dynamodb"]["NewImage"]["n"] == {"N": "2"}
    assert "NewImage" not in remove["dynamodb"]
    path, headers = bench.functions.requests[0]
    assert path == "/2015-03-31/functions/fn/invocations"
    assert headers["X-Amz-Invocation-Type"] == "RequestResponse"


def test_an_expired_item_names_the_service(bench):
    arn = bench.create_table()
    bench.bind(arn, "fn", FilterCriteria={"Filters": [{"Pattern": json.dumps(
        {"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}})}]})
    bench.dynamodb.update_time_to_live(
        TableName="Orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
    bench.put("a", "1", ttl={"N": str(int(time.time()) - 10)})
    bench.functions.wait(lambda: len(bench.functions.records("fn")) == 1)
    record, = bench.functions.records("fn")
    assert record["eventName"] == "REMOVE"
    assert record["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_a_function_that_fails_for_a_while_gets_everything_in_order(bench):
    broken, taken = threading.Event(), []
    broken.set()

    def handler(event, context):
        if broken.is_set():
            raise RuntimeError("not now")
        taken.extend(event["Records"])

    bench.functions["fn"] = handler
    arn = bench.create_table()
    uuid = bench.bind(arn, "fn", BatchSize=7)
    for n in range(60):
        bench.put(f"p{n % 6}", "1", n={"N": str(n)})
    bench.functions.wait(lambda: len(bench.functions.events["fn"]) > 10)
    bench.functions.wait(lambda: bench.result(uuid) == "PROBLEM: Function call failed")
    assert taken == []
    broken.clear()
    bench.functions.wait(lambda: len(taken) >= 60)
    assert len(once_each(taken)) == 60
    for item, numbers in by_item(once_each(taken)).items():
        assert numbers == sorted(numbers), item
    bench.functions.wait(lambda: bench.result(uuid) == "OK")


def test_a_poisoned_record_is_isolated_and_lands_at_the_destination(bench):
    taken = []

    def handler(event, context):
        if ("poison", "5") in keys(event["Records"]):
            raise ValueError("I cannot take this")
        taken.extend(event["Records"])

    bench.functions["fn"] = handler
    arn = bench.create_table()
    for n in range(10):
        bench.put("poison", str(n))
    bench.bind(arn, "fn", BatchSize=100, BisectBatchOnFunctionError=True, MaximumRetryAttempts=2,
               DestinationConfig={"OnFailure": {"Destination": DESTINATION_ARN}})
    bench.functions.wait(lambda: len(taken) == 9 and bench.functions.failures)
    assert keys(taken) == [("poison", str(n)) for n in range(10) if n != 5]
    failure, = bench.functions.failures
    assert failure["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert failure["requestContext"]["functionArn"] == "arn:aws:lambda:us-east-1:123456789012:function:fn"
    assert failure["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST",
                                          "functionError": "Unhandled"}
    assert failure["version"] == "1.0"
    batch = failure["DDBStreamBatchInfo"]
    assert batch["batchSize"] == 1
    assert batch["streamArn"] == arn
    assert batch["startSequenceNumber"] == batch["endSequenceNumber"]
    poisoned = {r["dynamodb"]["SequenceNumber"] for r in bench.functions.records("fn") if keys([r])[0][1] == "5"}
    assert poisoned == {batch["startSequenceNumber"]}


def test_reported_items_are_tried_again_from_the_first_on(bench):
    taken, reported = [], []

    def handler(event, context):
        for record in event["Records"]:
            if keys([record])[0][1] == "4" and len(reported) < 3:
                reported.append(record)
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
            taken.append(record)
        return {"batchItemFailures": []}

    bench.functions["fn"] = handler
    arn = bench.create_table()
    for n in range(8):
        bench.put("same", str(n))
    bench.bind(arn, "fn", FunctionResponseTypes=["ReportBatchItemFailures"])
    bench.functions.wait(lambda: len(taken) == 8)
    assert keys(taken) == [("same", str(n)) for n in range(8)]
    assert len(reported) == 3


def test_a_function_that_hangs_delays_no_write_and_no_other_function(bench):
    release = threading.Event()
    bench.functions["fn"] = lambda event, context: release.wait(30)
    arn = bench.create_table()
    bench.bind(arn, "fn")
    bench.bind(arn, "other")
    for n in range(50):
        bench.put(f"p{n}", "1")
    bench.functions.wait(lambda: len(bench.functions.records("other")) == 50)
    assert bench.functions.records("fn") == []
    release.set()
    bench.functions.wait(lambda: len(bench.functions.records("fn")) == 50)


def test_nothing_is_lost_when_the_server_is_killed(bench):
    taken = []
    calls = [0]

    def handler(event, context):
        calls[0] += 1
        if calls[0] % 5 == 0:
            raise RuntimeError("now and then")
        taken.extend(event["Records"])

    bench.functions["fn"] = handler
    arn = bench.create_table()
    uuid = bench.bind(arn, "fn", BatchSize=10, ParallelizationFactor=2)
    for round_ in range(4):
        for n in range(40):
            bench.put(f"p{n % 10}", "1", n={"N": str(round_ * 40 + n)})
        at_least = len(taken)
        bench.functions.wait(lambda: len(taken) > at_least)
        bench.restart()
    bench.functions.wait(lambda: len(once_each(list(taken))) == 160)
    for item, numbers in by_item(once_each(taken)).items():
        assert numbers == sorted(numbers), item
        assert len(numbers) == 16
    shown = bench.mappings.get_event_source_mapping(UUID=uuid)
    assert shown["State"] == "Enabled"
    assert (shown["BatchSize"], shown["ParallelizationFactor"]) == (10, 2)
    # What was done before a quiet moment is not done again after it.
    bench.functions.wait(lambda: lag_ms(bench) == 0)
    before = len(taken)
    assert bench.process.stop() == 0
    bench.start()
    bench.put("new", "1", n={"N": "1"})
    bench.functions.wait(lambda: len(taken) > before)
    assert keys(taken[before:]) == [("new", "1")]


def test_batches_gather_for_their_window(bench):
    arn = bench.create_table()
    bench.bind(arn, "fn", BatchSize=1000, MaximumBatchingWindowInSeconds=1)
    for n in range(20):
        bench.put("same", f"{n:02}")
    bench.functions.wait(lambda: len(bench.functions.records("fn")) == 20)
    assert len(bench.functions.events["fn"]) <= 3
    assert keys(bench.functions.records("fn")) == [("same", f"{n:02}") for n in range(20)]


def test_a_stream_that_ends_is_delivered_to_the_end(bench):
    arn = bench.create_table()
    uuid = bench.bind(arn, "fn")
    for n in range(10):
        bench.put(f"p{n}", "1")
    bench.dynamodb.delete_table(TableName="Orders")
    bench.functions.wait(lambda: len(bench.functions.records("fn")) == 10)
    assert bench.mappings.get_event_source_mapping(UUID=uuid)["State"] == "Enabled"
    # A table of the same name has another stream.
    again = bench.create_table()
    assert again != arn
    bench.bind(again, "fn")
    bench.put("new", "1")
    bench.functions.wait(lambda: len(bench.functions.records("fn")) == 11)
    assert len(bench.mappings.list_event_source_mappings(FunctionName="fn")["EventSourceMappings"]) == 2


def test_more_shards_after_a_restart_keep_the_order_of_items(bench):
    arn = bench.create_table()
    bench.bind(arn, "fn")
    for n in range(100):
        bench.put(f"p{n % 10}", "1", n={"N": str(n)})
    bench.process.kill()
    bench.start("--stream-shards", "8")
    for n in range(100, 200):
        bench.put(f"p{n % 10}", "1", n={"N": str(n)})
    bench.functions.wait(lambda: len(once_each(bench.functions.records("fn"))) == 200)
    for item, numbers in by_item(once_each(bench.functions.records("fn"))).items():
        assert numbers == list(range(int(item[0][1:]), 200, 10)), item


def test_refusals_name_what_is_wrong(bench):
    def refused(code, message, status, **request):
        with pytest.raises(ClientError) as caught:
            bench.mappings.create_event_source_mapping(**request)
        assert caught.value.response["Error"]["Code"] == code
        assert caught.value.response["Error"]["Message"] == message
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status

    arn = bench.create_table()
    uuid = bench.bind(arn, "fn")
    known = {"EventSourceArn": arn, "StartingPosition": "LATEST"}
    refused("ResourceConflictException",
            f'The event source arn (" {arn} ") and function (" fn ") provided mapping already exists. Please update '
            f"or delete the existing mapping with UUID {uuid}", 409, FunctionName="fn", **known)
    refused("InvalidParameterValueException", "Function does not exist", 400, FunctionName="nobody", **known)
    nowhere = arn.replace("Orders", "Nowhere")
    refused("InvalidParameterValueException", f"Stream not found: {nowhere}", 400, FunctionName="other",
            EventSourceArn=nowhere, StartingPosition="LATEST")
    with pytest.raises(bench.mappings.exceptions.ResourceNotFoundException):
        bench.mappings.get_event_source_mapping(UUID="14e0db71-5d35-4eb5-b481-8945cf9d10c2")


def test_an_unsigned_request_is_refused(bench):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{bench.process.endpoint}/2015-03-31/event-source-mappings/")
    assert caught.value.code == 403
    assert caught.value.headers["x-amzn-ErrorType"] == "MissingAuthenticationTokenException"
    assert "message" in json.load(caught.value)


def test_the_metrics_show_a_mapping(bench):
    uuid = bench.bind(bench.create_table(), "fn")
    bench.put("a", "1")
    bench.functions.wait(lambda: bench.result(uuid) == "OK")
    with urllib.request.urlopen(f"{bench.process.endpoint}/_stator/metrics") as page:
        text = page.read().decode()
    labels = f'{{mapping="{uuid}",function="fn"}}'
    assert f"stator_trigger_enabled{labels} 1" in text
    assert f"stator_trigger_ok{labels} 1" in text
    assert f"stator_trigger_records_delivered_total{labels} 1" in text
