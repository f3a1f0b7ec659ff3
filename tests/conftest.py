"""One in-memory server for a whole run of tests, and the environment in which no tool finds real credentials."""

import os
import sys

import boto3
import pytest

sys.path.insert(0, os.path.dirname(__file__))

from stator_process import StatorProcess  # noqa: E402

FAKE_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_PAGER": "",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}
os.environ.update(FAKE_ENVIRONMENT)
for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
    os.environ.pop(name, None)


@pytest.fixture(scope="session")
def server():
    with StatorProcess() as process:
        yield process
        assert process.running(), f"the server ended during the tests:\n{process.log()}"


@pytest.fixture(scope="session")
def endpoint(server):
    return server.endpoint


@pytest.fixture
def no_table_stays(endpoint):
    """Deletes the tables a test leaves behind, so that the next may use their names."""
    yield
    client = boto3.client("dynamodb", endpoint_url=endpoint)
    for page in client.get_paginator("list_tables").paginate():
        for name in page["TableNames"]:
            client.delete_table(TableName=name)
