"""Every wire case over HTTP. The same files run in-process as a unit test; here they also pass the listener, the
framing and the headers. A file gets a server of its own, a case is a test."""

import json
import pathlib

import pytest
from stator_process import StatorProcess
from wire_client import WireClient
from wire_format import difference, expand

HERE = pathlib.Path(__file__).resolve().parent


class WireFile:
    """A file's server with its tables created, started with the first of its cases."""

    def __init__(self, path):
        self.path = path
        self.process = StatorProcess()
        try:
            self.client = WireClient(self.process.port)
            for table in json.loads(path.read_text()).get("tables", []):
                self.client.expect("CreateTable", expand(table))
        except BaseException:
            self.process.kill()
            raise

    def close(self):
        self.client.close()
        self.process.stop()


@pytest.fixture(scope="session")
def open_file():
    """Answers with the WireFile of a path; there is one at a time, since a file's cases follow each other. A server
    that a case has brought down is replaced, so that one crash is one failure."""
    current = None

    def open_path(path):
        nonlocal current
        if current is not None and (current.path != path or not current.process.running()):
            current.close()
            current = None
        if current is None:
            current = WireFile(path)
        return current

    yield open_path
    if current is not None:
        current.close()


def all_cases():
    for path in sorted(HERE.rglob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            name = f"{path.relative_to(HERE).with_suffix('')}: {case['name']}"
            yield pytest.param(path, case, id=name)


def check_step(step, status, answer):
    """None if the answer to a step is the expected one, else what is wrong with it."""
    if "error" not in step:
        if status != step.get("status", 200):
            return f"expected status {step.get('status', 200)}, got {status}: {json.dumps(answer)}"
        return difference(step["response"], answer) if "response" in step else None

    if status != step.get("status", 400):
        return f"expected status {step.get('status', 400)}, got {status}: {json.dumps(answer)}"
    kind = str(answer.pop("__type", "")).rpartition("#")[2]
    message = answer.pop("message", answer.pop("Message", None))
    if kind != step["error"]:
        return f"expected {step['error']}, got {kind}: {message}"
    found = difference(step["message"], message, "message") if "message" in step else None
    if found is None and "response" in step:
        found = difference(step["response"], answer)
    return found


@pytest.mark.parametrize("path, case", all_cases())
def test_wire_case(open_file, path, case):
    client = open_file(path).client
    for number, step in enumerate(case["steps"], 1):
        request = step["raw"] if "raw" in step else expand(step["request"])
        status, answer = client.call(step["op"], request)
        found = check_step(step, status, answer)
        assert found is None, f"step {number} ({step['op']}): {found}"
