"""What the tests with boto3 share. A test starts with no tables and may create any; they are gone when it ends."""

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError


@pytest.fixture(autouse=True)
def documents_reach_stator(endpoint, no_table_stays, monkeypatch):
    """Sends every client that names no endpoint to the server under test, so that a document's code runs as written.
    One attempt for each request, unless a client asks for more: a retry would hide an error that is not its fault."""
    create_client = botocore.session.Session.create_client

    def create(self, service_name, *args, **kwargs):
        if kwargs.get("endpoint_url") is None:
            kwargs["endpoint_url"] = endpoint
        config = kwargs.get("config") or Config()
        if config.retries is None:
            config = config.merge(Config(retries={"total_max_attempts": 1}))
        kwargs["config"] = config
        return create_client(self, service_name, *args, **kwargs)

    monkeypatch.setattr(botocore.session.Session, "create_client", create)
    # boto3 keeps one default session with the clients' settings of whoever came first.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def client():
    return boto3.client("dynamodb")


@pytest.fixture
def resource():
    return boto3.resource("dynamodb")


@pytest.fixture
def create_table(resource):
    """create_table("Orders", "PK", "SK", gsi={"GSI1": ("GSI1PK", "GSI1SK")}): string keys, on demand, as a Table."""

    def create(name, *keys, gsi=None):
        kinds = ("HASH", "RANGE")

        def schema(names):
            return [{"AttributeName": n, "KeyType": k} for n, k in zip(names, kinds)]

        attributes = list(dict.fromkeys([*keys, *(n for names in (gsi or {}).values() for n in names)]))
        request = {
            "TableName": name,
            "KeySchema": schema(keys),
            "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in attributes],
            "BillingMode": "PAY_PER_REQUEST",
        }
        if gsi:
            request["GlobalSecondaryIndexes"] = [
                {"IndexName": index, "KeySchema": schema(names), "Projection": {"ProjectionType": "ALL"}}
                for index, names in gsi.items()
            ]
        table = resource.create_table(**request)
        table.wait_until_exists()
        return table

    return create


@pytest.fixture
def refused():
    """with refused("ValidationException", "the whole message"): … the service must answer so."""

    class Refused:
        def __init__(self, code, message=None):
            self.code, self.message = code, message

        def __enter__(self):
            return self

        def __exit__(self, kind, error, _):
            assert kind is not None, f"expected {self.code}, but the request succeeded"
            if not isinstance(error, ClientError):
                return False
            self.response = error.response
            assert error.response["Error"]["Code"] == self.code, error
            assert self.message is None or error.response["Error"]["Message"] == self.message
            return True

    return Refused
