"""The commands of the binary: stator shell, import and export."""

import os
import subprocess

import boto3
import pytest

from stator_process import binary


@pytest.fixture
def stator(tmp_path, no_table_stays):
    """stator("import", …) runs the command in a directory of the test's own, with what it reads as text."""

    def run(*arguments, text=None, env=None, timeout=120):
        environment = {**os.environ, "HOME": str(tmp_path), **(env or {})}
        return subprocess.run([binary(), *map(str, arguments)], cwd=tmp_path, env=environment, input=text,
                              capture_output=True, text=True, timeout=timeout)

    return run


@pytest.fixture
def client(endpoint):
    return boto3.client("dynamodb", endpoint_url=endpoint)


@pytest.fixture
def create_table(client, no_table_stays):
    def create(name, *keys, **more):
        types = dict(key.split(":") if ":" in key else (key, "S") for key in keys)
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": n, "KeyType": k} for n, k in zip(types, ("HASH", "RANGE"))],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in types.items()],
            BillingMode="PAY_PER_REQUEST", **more)

    return create


@pytest.fixture
def items_of(client):
    """All items of a table, sorted."""

    def read(table):
        found = []
        for page in client.get_paginator("scan").paginate(TableName=table):
            found += page["Items"]
        return sorted(found, key=repr)

    return read
