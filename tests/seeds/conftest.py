"""A document's Python and its shell commands run side by side: boto3's fixtures, and those of the CLI that are not
about tables. What a document needs beyond tables (streams, functions) is here.

A document may ask for an operation that the server does not answer yet. The test is then skipped and names the
operation; with a server that has it, it begins to run by itself."""

import contextlib
import http.server
import json
import queue
import threading

import boto3
import pytest
from botocore.exceptions import ClientError

from boto3_fixtures import *  # noqa: F403
from cli_fixtures import aws_on_path, refuses, run_shell, sh  # noqa: F401
from stator_process import StatorProcess

PATIENCE_S = 30


def skip_if_unknown(error):
    if error.response["Error"]["Code"] in ("UnknownOperationException", "404"):
        pytest.skip(f"waits for {error.operation_name}, which this server does not answer")
    raise error


@pytest.fixture
def streams(client):
    """streams("Orders"): the records of the table's stream, oldest first."""
    reader = boto3.client("dynamodbstreams")

    def read(table_name):
        arn = client.describe_table(TableName=table_name)["Table"]["LatestStreamArn"]
        try:
            shards = reader.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        except ClientError as error:
            skip_if_unknown(error)
        records = []
        for shard in shards:
            iterator = reader.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
            # An open shard gives an iterator for ever; a test's changes are in its first pages.
            for _ in range(20):
                page = reader.get_records(ShardIterator=iterator)
                records += page["Records"]
                iterator = page.get("NextShardIterator")
                if not iterator or not page["Records"]:
                    break
        return records

    return read


class Function(http.server.BaseHTTPRequestHandler):
    """Takes Lambda's invoke call and keeps the records of the event."""

    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for record in event["Records"]:
            self.server.records.put(record)
        self.send_response(200)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"null")

    def log_message(self, *_):
        pass


class BoundServer:
    """A server whose configuration maps a function to an address, and the function itself."""

    def __init__(self, process, records, sh):
        self.endpoint, self._records, self.sh = process.endpoint, records, sh
        self.client = boto3.client("dynamodb", endpoint_url=self.endpoint)

    def table(self, name):
        return boto3.resource("dynamodb", endpoint_url=self.endpoint).Table(name)

    def create_table_with_stream(self, name):
        return self.client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("PK", "SK")],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )["TableDescription"]["LatestStreamArn"]

    def wait_until_enabled(self, uuid):
        client = boto3.client("lambda", endpoint_url=self.endpoint)
        for _ in range(2000):
            if client.get_event_source_mapping(UUID=uuid)["State"] == "Enabled":
                return
        raise AssertionError(f"the mapping {uuid} did not become enabled")

    def next_record(self):
        return self._records.get(timeout=PATIENCE_S)


@pytest.fixture
def functions(tmp_path):
    """with functions("name") as bound: a server of its own on which the function of that name is this process."""

    @contextlib.contextmanager
    def start(name):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Function) as function:
            function.records = queue.Queue()
            thread = threading.Thread(target=function.serve_forever)
            thread.start()
            try:
                config = tmp_path / "stator.toml"
                config.write_text(f'[functions]\n{name} = "http://127.0.0.1:{function.server_port}"\n')
                try:
                    process = StatorProcess("--in-memory", "--config", str(config))
                except RuntimeError as error:
                    if "unknown key" in str(error):
                        pytest.skip("waits for CreateEventSourceMapping: this server maps no functions")
                    raise
                with process:
                    yield BoundServer(process, function.records, run_shell(process.endpoint, tmp_path))
            finally:
                function.shutdown()
                thread.join()

    return start
