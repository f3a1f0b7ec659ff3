"""Every operation with every member missing, of every wrong type, empty, huge, deeply nested, doubled or null.

Whatever is sent, the answer is a 200 or a 4xx of the service's kind, the server goes on, and a table that no request
names is as it was, after a restart too. Then the same with several members wrong at once, drawn at random:
STATOR_MALFORMED_COUNT for each operation, STATOR_CRASH_SEED repeats them.
"""

import collections
import os
import random

import api_shapes
import pytest
from malformed import spoilt, spoilt_at_random
from pipeline import Pipeline
from restarting_server import create_table, scan
from sample_requests import ITEM, TABLE, TARGET, requests
from stator_process import StatorProcess
from wire_client import WireClient

COUNT = int(os.environ.get("STATOR_MALFORMED_COUNT", "300"))
SEED = int(os.environ.get("STATOR_CRASH_SEED", "1"))
GUARDED = {**TARGET, "TableName": "Guarded"}
OPERATIONS = api_shapes.operations()
BATCH = 64


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return str(tmp_path_factory.mktemp("malformed") / "data")


@pytest.fixture(scope="module")
def running(data):
    print(f"STATOR_CRASH_SEED={SEED}")
    process = StatorProcess("--data-dir", data, "--durability", "os")
    client = WireClient(process.port)
    create_table(client, GUARDED)
    for i in range(100):
        client.expect("PutItem", {"TableName": "Guarded", "Item": {**ITEM, "sk": {"N": str(i)}}})
    before = guarded(client)
    yield process
    # The table that nobody named, and the same after a restart.
    assert process.running(), process.log()
    assert guarded(WireClient(process.port)) == before
    assert process.stop() == 0
    with StatorProcess("--data-dir", data, "--durability", "os") as again:
        assert guarded(WireClient(again.port)) == before


def guarded(client):
    by_key = lambda item: int(item["sk"]["N"])  # noqa: E731
    described = client.expect("DescribeTable", {"TableName": "Guarded"})["Table"]
    return (sorted(scan(client, "Guarded"), key=by_key), sorted(scan(client, "Guarded", IndexName="ByG"), key=by_key),
            described["ItemCount"], described["TableSizeBytes"], described["KeySchema"],
            described["AttributeDefinitions"])


def tidy_up(client):
    """Requests that were not malformed enough made tables and deleted ours."""
    for name in client.expect("ListTables", {})["TableNames"]:
        if name not in ("Guarded", TABLE):
            client.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            client.call("DeleteTable", {"TableName": name})
    status, _ = client.call("DescribeTable", {"TableName": TABLE})
    if status != 200:
        create_table(client, TARGET)
    client.call("UpdateTable", {"TableName": TABLE, "BillingMode": "PAY_PER_REQUEST"})


def wrong(status, answer):
    """What is wrong with an answer, or None."""
    if status == 200:
        return None if isinstance(answer, dict) else "not an object"
    if not 400 <= status < 500:
        return "a failure of the server"
    name = answer.get("__type", "").split("#")[-1]
    if not name or name.startswith("Internal"):
        return "not an error of the service"
    return None


def send_all(running, service, operation, cases):
    """Sends (what, body) and looks at every answer."""
    tidy_up(WireClient(running.port))
    pipeline = Pipeline(running.port)
    kinds = collections.Counter()
    for start in range(0, len(cases), BATCH):
        some = cases[start:start + BATCH]
        answered = 0
        try:
            for (what, body), (status, answer) in zip(some, pipeline.send(service, operation, [c[1] for c in some])):
                answered += 1
                problem = wrong(status, answer)
                assert problem is None, f"{problem}: {what}\n{body[:2000]}\n{status} {str(answer)[:2000]}"
                kinds[answer["__type"].split("#")[-1] if status != 200 else "200"] += 1
        except OSError as lost:
            raise AssertionError(f"{lost!r} at one of {[what for what, _ in some[answered:answered + 16]]}; "
                                 f"running: {running.running()}\n{running.log()[-4000:]}") from lost
    pipeline.close()
    print(operation, dict(kinds))


every_operation = pytest.mark.parametrize("service, operation, shape", OPERATIONS,
                                          ids=[name for _, name, _ in OPERATIONS])


@every_operation
def test_one_malformed_member(running, service, operation, shape):
    send_all(running, service, operation,
             [case for request in requests(operation, shape) for case in spoilt(request, shape)])


@every_operation
def test_several_malformed_members(running, service, operation, shape):
    chance = random.Random(f"{SEED} {operation}")
    bases = requests(operation, shape)
    send_all(running, service, operation,
             [("at random", spoilt_at_random(chance.choice(bases), shape, chance)) for _ in range(COUNT)])
