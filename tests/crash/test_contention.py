"""Many clients on the same few items at once: nothing is lost, nobody waits for ever, and only the answers that the
service documents for contention are given."""

import random
import threading
import time
import uuid

import pytest
from patience import SLOWER
from restarting_server import RestartingServer, create_table, run_together, scan
from stator_process import StatorProcess
from wire_client import WireClient

CLIENTS = 16
DEADLOCK_S = 30 * SLOWER  # No single request may take longer.


def table(name):
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def key(name):
    return {"pk": {"S": name}}


def error_of(answer):
    return answer["__type"].split("#")[-1]


def add(name, amount=1, **more):
    """The members of an update that counts."""
    return {"TableName": "Hot", "Key": key(name), "UpdateExpression": "ADD n :n",
            "ExpressionAttributeValues": {":n": {"N": str(amount)}}, **more}


def number(client, name, attribute="n"):
    item = client.expect("GetItem", {"TableName": "Hot", "Key": key(name), "ConsistentRead": True}).get("Item", {})
    return int(item.get(attribute, {"N": "0"})["N"])


@pytest.fixture(params=["in memory", "on disk"])
def port(request, tmp_path):
    arguments = ("--in-memory",) if request.param == "in memory" else ("--data-dir", str(tmp_path / "data"))
    with StatorProcess(*arguments) as server:
        create_table(WireClient(server.port), table("Hot"))
        yield server.port
        assert server.running(), f"the server ended during the test:\n{server.log()}"


@pytest.fixture
def connect(port):
    clients = []

    def new_client():
        clients.append(WireClient(port, timeout_s=DEADLOCK_S))
        return clients[-1]

    yield new_client
    for client in clients:
        client.close()


def test_no_increment_is_lost(connect):
    seen = []

    def count(client):
        for _ in range(40):
            answer = client.expect("UpdateItem", add("one", ReturnValues="UPDATED_NEW"))
            seen.append(int(answer["Attributes"]["n"]["N"]))

    run_together(*(lambda client=connect(): count(client) for _ in range(CLIENTS)))
    assert sorted(seen) == list(range(1, CLIENTS * 40 + 1)), "two increments returned the same number"
    assert number(connect(), "one") == CLIENTS * 40


def test_one_of_many_creates_an_item(connect):
    winners = []

    def create(client, name):
        for i in range(25):
            status, answer = client.call("PutItem", {
                "TableName": "Hot", "Item": {**key(f"new-{i}"), "by": {"S": name}},
                "ConditionExpression": "attribute_not_exists(pk)"})
            if status == 200:
                winners.append((f"new-{i}", name))
            else:
                assert error_of(answer) == "ConditionalCheckFailedException", answer

    run_together(*(lambda client=connect(), i=i: create(client, f"client-{i}") for i in range(CLIENTS)))
    there = [(item["pk"]["S"], item["by"]["S"]) for item in scan(connect(), "Hot")]
    assert sorted(there) == sorted(winners)
    assert len(there) == 25


def test_of_many_with_the_same_version_one_wins(connect):
    connect().expect("PutItem", {"TableName": "Hot", "Item": {**key("doc"), "version": {"N": "0"}}})
    won = []

    def change(client):
        for _ in range(25):
            seen = number(client, "doc", "version")
            status, answer = client.call("UpdateItem", {
                "TableName": "Hot", "Key": key("doc"), "UpdateExpression": "SET version = :next",
                "ConditionExpression": "version = :seen",
                "ExpressionAttributeValues": {":seen": {"N": str(seen)}, ":next": {"N": str(seen + 1)}}})
            if status == 200:
                won.append(seen + 1)
            else:
                assert error_of(answer) == "ConditionalCheckFailedException", answer

    run_together(*(lambda client=connect(): change(client) for _ in range(CLIENTS)))
    assert sorted(won) == list(range(1, number(connect(), "doc", "version") + 1))


class Mixed:
    """Counts on the same items by single writes and by transactions that name them in any order."""

    ITEMS = [f"item-{i}" for i in range(5)]

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.added = dict.fromkeys(self.ITEMS, 0)
        self.conflicts = 0

    def run(self, client):
        for _ in range(60):
            (self._transaction if self.chance.random() < 0.6 else self._single)(client)

    def _single(self, client):
        name = self.chance.choice(self.ITEMS)
        status, answer = client.call("UpdateItem", add(name))
        if status == 200:
            self.added[name] += 1
            return
        assert error_of(answer) == "TransactionConflictException", answer
        self.conflicts += 1

    def _transaction(self, client):
        names = self.chance.sample(self.ITEMS, self.chance.randint(1, len(self.ITEMS)))
        checked = [] if len(names) == 1 else [names.pop()]
        started = time.monotonic()
        status, answer = client.call("TransactWriteItems", {"TransactItems": [
            *({"Update": add(name)} for name in names),
            *({"ConditionCheck": {"TableName": "Hot", "Key": key(name), "ConditionExpression": "n >= :zero",
                                  "ExpressionAttributeValues": {":zero": {"N": "0"}}}} for name in checked)]})
        assert time.monotonic() - started < DEADLOCK_S
        if status == 200:
            for name in names:
                self.added[name] += 1
            return
        assert error_of(answer) == "TransactionCanceledException", answer
        codes = {reason["Code"] for reason in answer["CancellationReasons"]}
        assert codes <= {"None", "TransactionConflict"}, answer
        self.conflicts += 1


def test_transactions_and_single_writes_meet(connect):
    for name in Mixed.ITEMS:
        connect().expect("UpdateItem", add(name, 0))
    workers = [Mixed(seed) for seed in range(CLIENTS)]
    run_together(*(lambda worker=worker, client=connect(): worker.run(client) for worker in workers))
    client = connect()
    for name in Mixed.ITEMS:
        assert number(client, name) == sum(worker.added[name] for worker in workers), name
    writes = CLIENTS * 60
    assert sum(worker.conflicts for worker in workers) < writes / 2, "most writes met a conflict"


def test_a_transaction_of_a_hundred_meets_its_mirror_image(connect):
    names = [f"wide-{i}" for i in range(100)]
    done = []

    def write(client, order):
        for _ in range(6):
            status, answer = client.call("TransactWriteItems", {"TransactItems": [
                {"Update": add(name)} for name in order]})
            if status == 200:
                done.append(1)
            else:
                assert error_of(answer) == "TransactionCanceledException", answer
                assert {reason["Code"] for reason in answer["CancellationReasons"]} <= {"None", "TransactionConflict"}

    run_together(*(lambda client=connect(), i=i: write(client, names if i % 2 else names[::-1]) for i in range(8)))
    assert done
    client = connect()
    assert {number(client, name) for name in names} == {len(done)}


def test_readers_see_whole_transactions_in_order(connect):
    """Each transaction sets the same version in all items: a snapshot has one version, and never an older one."""
    names = [f"part-{i}" for i in range(12)]
    over = threading.Event()

    def put_all(client, version):
        return client.call("TransactWriteItems", {"TransactItems": [
            {"Put": {"TableName": "Hot", "Item": {**key(name), "n": {"N": str(version)},
                                                  "filler": {"S": "x" * (version % 3000)}}}} for name in names]})

    put_all(connect(), 0)
    acknowledged = [0]

    def write(client):
        try:
            for version in range(1, 250):
                status, answer = put_all(client, version)
                assert status == 200, answer  # Readers hold up no writer.
                acknowledged[0] = version
        finally:
            over.set()

    def read(client):
        newest = 0
        while not over.is_set():
            at_least = acknowledged[0]
            answer = client.expect("TransactGetItems", {"TransactItems": [
                {"Get": {"TableName": "Hot", "Key": key(name)}} for name in names]})
            versions = {int(response["Item"]["n"]["N"]) for response in answer["Responses"]}
            assert len(versions) == 1, f"parts of several transactions: {versions}"
            version = versions.pop()
            assert version >= newest, f"{version} after {newest} was seen"
            assert version >= at_least, f"{version} after {at_least} was acknowledged"
            newest = version

    run_together(lambda client=connect(): write(client),
                 *(lambda client=connect(): read(client) for _ in range(6)))


def test_one_token_sent_by_many_at_once_counts_once(connect):
    for _ in range(10):
        token = str(uuid.uuid4())
        statuses = []

        def send(client):
            status, answer = client.call("TransactWriteItems", {
                "ClientRequestToken": token, "TransactItems": [{"Update": add("once")}]})
            statuses.append(status)
            assert status == 200 or error_of(answer) == "TransactionInProgressException", answer

        before = number(connect(), "once")
        run_together(*(lambda client=connect(): send(client) for _ in range(6)))
        assert 200 in statuses
        assert number(connect(), "once") == before + 1


def test_writers_of_a_table_that_goes_and_comes_back(connect):
    """A write finds the table or does not; one made to the table before is never found in the next."""
    over = threading.Event()
    acknowledged = []

    def write(client, name):
        i = 0
        while not over.is_set():
            i += 1
            item = key(f"{name}-{i}")
            if i % 3:
                status, answer = client.call("PutItem", {"TableName": "Hot", "Item": item})
            else:
                status, answer = client.call("TransactWriteItems", {"TransactItems": [
                    {"Put": {"TableName": "Hot", "Item": item}}]})
            if status == 200:
                acknowledged.append(f"{name}-{i}")
            else:
                assert error_of(answer) == "ResourceNotFoundException", answer

    def replace(client):
        try:
            for _ in range(12):
                time.sleep(0.05)  # Lets the writers fill the table; any moment is as good.
                client.expect("DeleteTable", {"TableName": "Hot"})
                deadline = time.monotonic() + 20 * SLOWER
                while client.call("DescribeTable", {"TableName": "Hot"})[0] == 200:
                    assert time.monotonic() < deadline, "the table does not go"
                before = set(acknowledged)
                create_table(client, table("Hot"))
                there = {item["pk"]["S"] for item in scan(client, "Hot")}
                assert not there & before, "the new table holds items of the one before"
        finally:
            over.set()

    run_together(lambda client=connect(): replace(client),
                 *(lambda client=connect(), i=i: write(client, f"w{i}") for i in range(6)))
    client = connect()
    described = client.expect("DescribeTable", {"TableName": "Hot"})["Table"]
    assert described["ItemCount"] == len(scan(client, "Hot"))


@pytest.mark.parametrize("restart", ["kill_and_restart", "stop_and_restart"])
def test_a_token_is_known_after_a_restart(tmp_path, restart):
    token = str(uuid.uuid4())
    request = {"ClientRequestToken": token, "TransactItems": [
        {"Update": add("a", 5)},
        {"Put": {"TableName": "Hot", "Item": key("b"), "ConditionExpression": "attribute_not_exists(pk)"}}]}
    with RestartingServer(tmp_path / "data") as server:
        client = server.connect()
        create_table(client, table("Hot"))
        client.expect("TransactWriteItems", request)
        for _ in range(3):
            getattr(server, restart)()
            client = server.connect()
            # Its condition fails by now: only the token says that it was done.
            assert client.expect("TransactWriteItems", request) == {}
            assert number(client, "a") == 5

            other = {**request, "TransactItems": [{"Update": add("a", 6)}]}
            status, answer = client.call("TransactWriteItems", other)
            assert (status, error_of(answer)) == (400, "IdempotentParameterMismatchException")
            assert number(client, "a") == 5

        # Without a token it is a new request, and with another token too.
        status, answer = client.call("TransactWriteItems", {"TransactItems": request["TransactItems"]})
        assert (status, error_of(answer)) == (400, "TransactionCanceledException")
        assert [reason["Code"] for reason in answer["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
        client.expect("TransactWriteItems", {"ClientRequestToken": str(uuid.uuid4()),
                                             "TransactItems": [{"Update": add("a", 5)}]})
        assert number(client, "a") == 10


def test_a_token_does_not_depend_on_the_order_of_members(connect):
    """The same request in other words: JSON's members have no order."""
    token = str(uuid.uuid4())
    update = add("order")
    client = connect()
    client.expect("TransactWriteItems", {"ClientRequestToken": token, "TransactItems": [{"Update": update}]})
    turned = {"TransactItems": [{"Update": dict(reversed(update.items()))}], "ClientRequestToken": token}
    client.expect("TransactWriteItems", turned)
    assert number(client, "order") == 1
