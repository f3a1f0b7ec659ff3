"""Runs shell commands in which `aws` is the AWS CLI, sent to the server under test."""

import json
import os
import shutil
import subprocess

import boto3
import pytest

TIMEOUT_S = 120
SERVICE_ERROR = 254


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.text = process.stdout
        self.error = process.stderr.strip()

    @property
    def json(self):
        assert self.code == 0, f"exit code {self.code}: {self.error}"
        return json.loads(self.text)


def write_aws(directory, endpoint):
    """Puts an `aws` into the directory that is the AWS CLI at the endpoint."""
    # Debian's CLI is version 2; another `aws` earlier on the path may be version 1, whose exit codes differ.
    real = os.environ.get("AWS_CLI") or ("/usr/bin/aws" if os.path.exists("/usr/bin/aws") else shutil.which("aws"))
    assert real, "the AWS CLI is not installed: tools/install-deps test"
    directory.mkdir(exist_ok=True)
    wrapper = directory / "aws"
    wrapper.write_text(f'#!/bin/sh\nexec {real} --endpoint-url {endpoint} "$@"\n')
    wrapper.chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


def run_shell(endpoint, directory, path=None):
    """A function that runs a line as a shell would, in the directory, with `aws` at the endpoint."""
    path = path or write_aws(directory / "bin", endpoint)

    def run(command):
        command = command.replace("http://localhost:8000", endpoint)
        environment = {**os.environ, "PATH": path, "AWS_DEFAULT_OUTPUT": "json"}
        return Result(subprocess.run(
            ["bash", "-c", command], cwd=directory, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S))

    return run


@pytest.fixture(scope="session")
def aws_on_path(endpoint, tmp_path_factory):
    return write_aws(tmp_path_factory.mktemp("bin"), endpoint)


@pytest.fixture
def sh(aws_on_path, endpoint, no_table_stays, tmp_path):
    """sh("aws dynamodb …") runs the line in a directory of the test's own."""
    return run_shell(endpoint, tmp_path, aws_on_path)


@pytest.fixture
def refuses(sh):
    """refuses(command, operation, code, message): the service must answer so, and the CLI say it."""

    def run(command, operation, code, message):
        result = sh(command)
        assert result.error == f"An error occurred ({code}) when calling the {operation} operation: {message}"
        assert result.code == SERVICE_ERROR
        assert result.text == ""

    return run


@pytest.fixture
def client(endpoint, no_table_stays):
    """For what a test needs but is not about: the CLI takes a second for each command."""
    return boto3.client("dynamodb", endpoint_url=endpoint)


@pytest.fixture
def create_table(client):
    def create(name, *keys):
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": n, "KeyType": k} for n, k in zip(keys, ("HASH", "RANGE"))],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in keys],
            BillingMode="PAY_PER_REQUEST",
        )

    return create
