"""Kills the server while it is written to, starts it again, and looks for what it had acknowledged.

Every writer has keys of its own and knows what each must hold: what was last acknowledged or, for the one request that
the kill interrupted, either what was before or what it asked for. Meanwhile an index is made and deleted again and
again, and items expire. What the indexes hold and what DescribeTable counts must follow from the table, a consumer who
replays the table's stream has the same items, and `stator check` finds nothing wrong with what each kill left.
STATOR_ROUNDS, STATOR_ROUND_S, STATOR_WRITERS and STATOR_CRASH_SEED prolong, enlarge or repeat a run.
"""

import os
import random
import subprocess
import time

import pytest
from patience import SLOWER
from restarting_server import CONNECTION_LOST, create_table, run_together, scan
from stator_process import StatorProcess, binary
from stream_consumer import StreamConsumer
from wire_client import WireClient

ROUNDS = int(os.environ.get("STATOR_ROUNDS", "20"))
SEED = int(os.environ.get("STATOR_CRASH_SEED", str(int(time.time()))))
WRITERS = int(os.environ.get("STATOR_WRITERS", "6"))
KEYS_OF_A_WRITER = 40
MIN_ROUND_S, MAX_ROUND_S = 0.1, float(os.environ.get("STATOR_ROUND_S", "0.8"))

TABLE = {
    "TableName": "Crash",
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "PK", "AttributeType": "S"},
        {"AttributeName": "SK", "AttributeType": "S"},
        {"AttributeName": "group", "AttributeType": "S"},
        {"AttributeName": "color", "AttributeType": "S"},
        {"AttributeName": "version", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexes": [{
        "IndexName": "ByGroup",
        "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }, {
        "IndexName": "ByColor",  # sparse: not every item has a color
        "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}, {"AttributeName": "version", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["group"]},
    }],
    "LocalSecondaryIndexes": [{
        "IndexName": "ByVersion",
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "version", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
# What an item must have to be in an index, and what of it is there; None is everything.
INDEXES = {
    "ByGroup": ({"group"}, None),
    "ByColor": ({"color", "version"}, {"PK", "SK", "color", "version", "group"}),
    "ByVersion": ({"version"}, {"PK", "SK", "version"}),
}
# Made and deleted while the others write.
COMING_AND_GOING = {
    "IndexName": "ByGroupAndVersion",
    "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}, {"AttributeName": "version", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["color"]},
}
COMING_AND_GOING_HOLDS = ({"group", "version"}, {"PK", "SK", "group", "version", "color"})
EXPIRES = "expires"  # the attribute
EXPIRING = "expiring-"  # sort keys of items whose time has come when they are written
PATIENCE_S = 60 * SLOWER
COUNTER = {"PK": {"S": "counter"}, "SK": {"S": "counter"}}


class Writer:
    """Writes to its own keys and to the counter that all share, until the connection breaks."""

    def __init__(self, name, seed):
        self.name = name
        self.random = random.Random(seed)
        self.acknowledged = {}  # sort key -> version; absent means no item
        self.interrupted = {}   # what the request under way would have made of its keys
        self.version = 0
        self.counted = 0
        self.counting = False
        self.writes = 0

    def _key(self, sort_key):
        return {"PK": {"S": self.name}, "SK": {"S": sort_key}}

    def _item(self, sort_key, version):
        return {
            **self._key(sort_key),
            "version": {"N": str(version)},
            "group": {"S": f"{self.name}-{version % 3}"},
            **({"color": {"S": "red"}} if version % 2 else {}),
            "filler": {"S": "x" * self.random.choice((1, 100, 5000))},
            **({EXPIRES: {"N": "4000000000"}} if version % 5 == 0 else {}),
        }

    def _put(self, sort_key, version):
        return "PutItem", {"TableName": "Crash", "Item": self._item(sort_key, version)}, {sort_key: version}

    def _put_expiring(self, sort_key, version):
        item = {**self._item(EXPIRING + sort_key, version), EXPIRES: {"N": str(int(time.time()) - 10)}}
        return "PutItem", {"TableName": "Crash", "Item": item}, {}

    def _update(self, sort_key, version):
        change = "SET version = :v, #g = :g" + (" REMOVE color" if version % 2 else ", color = :c")
        return "UpdateItem", {
            "TableName": "Crash", "Key": self._key(sort_key), "UpdateExpression": change,
            "ExpressionAttributeNames": {"#g": "group"},
            "ExpressionAttributeValues": {
                ":v": {"N": str(version)}, ":g": {"S": f"{self.name}-{version % 3}"},
                **({} if version % 2 else {":c": {"S": "blue"}})},
        }, {sort_key: version}

    def _conditional(self, sort_key, version):
        # Nobody else writes the key, so what was acknowledged last is there.
        operation, request, effect = self._update(sort_key, version)
        known = self.acknowledged.get(sort_key)
        if known is None:
            request["ConditionExpression"] = "attribute_not_exists(PK)"
        else:
            request["ConditionExpression"] = "version = :known"
            request["ExpressionAttributeValues"][":known"] = {"N": str(known)}
        return operation, request, effect

    def _delete(self, sort_key, _):
        return "DeleteItem", {"TableName": "Crash", "Key": self._key(sort_key)}, {sort_key: None}

    def _transact(self, sort_key, version):
        # All or nothing: the two always hold the same version.
        names = (f"pair-{sort_key}-a", f"pair-{sort_key}-b")
        puts = [{"Put": {"TableName": "Crash", "Item": self._item(name, version)}} for name in names]
        return "TransactWriteItems", {"TransactItems": puts}, {name: version for name in names}

    def _batch(self, _, version):
        # Each for itself: of an interrupted one, any part may be there.
        writes, effect = [], {}
        for key in self.random.sample(range(KEYS_OF_A_WRITER), 8):
            if self.random.random() < 0.3:
                writes.append({"DeleteRequest": {"Key": self._key(str(key))}})
                effect[str(key)] = None
            else:
                writes.append({"PutRequest": {"Item": self._item(str(key), version)}})
                effect[str(key)] = version
        return "BatchWriteItem", {"RequestItems": {"Crash": writes}}, effect

    def run(self, port):
        client = WireClient(port)
        try:
            while True:
                self._write_once(client)
        except CONNECTION_LOST:
            pass  # The kill.
        finally:
            client.close()

    def _write_once(self, client):
        self.version += 1
        sort_key = str(self.random.randrange(KEYS_OF_A_WRITER))
        make = self.random.choice((self._put, self._put, self._update, self._conditional, self._delete,
                                   self._transact, self._batch, self._put_expiring))
        operation, request, self.interrupted = make(sort_key, self.version)
        answer = client.expect(operation, request)
        assert not answer.get("UnprocessedItems"), answer
        self.acknowledged.update(self.interrupted)
        self.interrupted = {}
        self.writes += 1

        self.counting = True
        client.expect("UpdateItem", {
            "TableName": "Crash", "Key": COUNTER, "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}}})
        self.counted += 1
        self.counting = False

    def check(self, found):
        """Compares with what the restarted server holds, and takes over what the interrupted request did."""
        for sort_key in set(self.acknowledged) | set(self.interrupted) | set(found):
            wanted = self.acknowledged.get(sort_key)
            allowed = {wanted, self.interrupted.get(sort_key, wanted)}
            assert found.get(sort_key) in allowed, (
                f"{self.name}/{sort_key}: acknowledged {wanted}, interrupted {self.interrupted}, "
                f"found {found.get(sort_key)}")
        for sort_key, version in found.items():
            if sort_key.startswith("pair-") and sort_key.endswith("-a"):
                assert found.get(sort_key[:-1] + "b") == version, f"half a transaction: {self.name}/{sort_key}"
        self.acknowledged = found
        self.interrupted = {}


class IndexChanger:
    """Makes an index, waits until it is there, deletes it, and so on. `there` is None while a request is open."""

    def __init__(self):
        self.there = False
        self.changes = 0

    def run(self, port):
        client = WireClient(port)
        try:
            while True:
                was_there, self.there = self.there, None
                change = ({"Delete": {"IndexName": COMING_AND_GOING["IndexName"]}} if was_there
                          else {"Create": COMING_AND_GOING})
                client.expect("UpdateTable", {
                    "TableName": "Crash", "GlobalSecondaryIndexUpdates": [change],
                    "AttributeDefinitions": TABLE["AttributeDefinitions"]})
                self.there = not was_there
                self.settle(client)
                self.changes += 1
        except CONNECTION_LOST:
            pass  # The kill.
        finally:
            client.close()

    def settle(self, client):
        """Waits until the index is complete or gone; returns the table's description then."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            described = client.expect("DescribeTable", {"TableName": "Crash"})["Table"]
            found = {index["IndexName"]: index["IndexStatus"] for index in described["GlobalSecondaryIndexes"]}
            status = found.get(COMING_AND_GOING["IndexName"])
            if status in (None, "ACTIVE") and described["TableStatus"] == "ACTIVE":
                return described
            assert time.monotonic() < deadline, f"the index stays {status}"

    def check(self, client):
        """What was acknowledged holds; an interrupted change happened or did not. Returns whether the index is there."""
        described = self.settle(client)
        found = COMING_AND_GOING["IndexName"] in {
            index["IndexName"] for index in described["GlobalSecondaryIndexes"]}
        assert self.there is None or self.there == found, f"the index: there {self.there}, found {found}"
        self.there = found
        return found


def order(item):
    return item["PK"]["S"], item["SK"]["S"]


def check_indexes(client, items, indexes):
    """Each index holds what the table implies, and what is counted is what is there."""
    described = client.expect("DescribeTable", {"TableName": "Crash"})["Table"]
    assert described["ItemCount"] == len(items)
    counts = {index["IndexName"]: index["ItemCount"]
              for index in described["GlobalSecondaryIndexes"] + described["LocalSecondaryIndexes"]}
    assert counts.keys() == indexes.keys()
    for name, (needed, projected) in indexes.items():
        implied = [{field: value for field, value in item.items() if projected is None or field in projected}
                   for item in items if needed <= item.keys()]
        held = scan(client, "Crash", IndexName=name)
        assert sorted(held, key=order) == sorted(implied, key=order), f"{name} differs from its table"
        assert counts[name] == len(held), f"{name} counts wrong"


def consume(consumer, port):
    client = WireClient(port)
    try:
        while True:
            consumer.poll(client)
    except CONNECTION_LOST:
        pass  # The kill.
    finally:
        client.close()


def scan_without_expired(client):
    """All items, once those whose time has come are deleted."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        items = scan(client, "Crash", ConsistentRead=True)
        late = [item for item in items if item["SK"]["S"].startswith(EXPIRING)]
        if not late:
            return items
        assert time.monotonic() < deadline, f"{len(late)} items do not expire"


def check_all(client, writers, consumer, changer, count_before):
    """Returns the counter. Checks every item, the indexes, the stream, and the counter's bounds."""
    indexes = dict(INDEXES)
    if changer.check(client):
        indexes[COMING_AND_GOING["IndexName"]] = COMING_AND_GOING_HOLDS
    items = scan_without_expired(client)
    consumer.poll(client)
    consumer.check(items, "PK", "SK")
    by_writer = {writer.name: {} for writer in writers}
    count = 0
    for item in items:
        if item["PK"] == COUNTER["PK"]:
            count = int(item["n"]["N"])
        else:
            by_writer[item["PK"]["S"]][item["SK"]["S"]] = int(item["version"]["N"])
    for writer in writers:
        writer.check(by_writer[writer.name])

    check_indexes(client, items, indexes)

    acknowledged = count_before + sum(writer.counted for writer in writers)
    assert acknowledged <= count <= acknowledged + sum(writer.counting for writer in writers)
    for writer in writers:
        writer.counted, writer.counting = 0, False
    return count


def check_nothing_stays(client, changer):
    """Once all items are deleted, no index entry, count or byte may be left of them."""
    indexes = dict(INDEXES)
    if changer.there:
        indexes[COMING_AND_GOING["IndexName"]] = COMING_AND_GOING_HOLDS
    for item in scan(client, "Crash"):
        client.expect("DeleteItem", {"TableName": "Crash", "Key": {"PK": item["PK"], "SK": item["SK"]}})
    check_indexes(client, [], indexes)
    described = client.expect("DescribeTable", {"TableName": "Crash"})["Table"]
    assert described["TableSizeBytes"] == 0
    for index in described["GlobalSecondaryIndexes"] + described["LocalSecondaryIndexes"]:
        assert index["IndexSizeBytes"] == 0, f"{index['IndexName']} still counts bytes"


def check_directory(directory):
    """What no server uses is whole: files, indexes, counters, catalog, streams."""
    done = subprocess.run([binary(), "check", str(directory)], capture_output=True, text=True, timeout=120 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr


def write_until_killed(server, writers, consumer, changer, duration_s):
    def kill():
        # Not a wait for something to happen: the moment of the kill is what the test draws at random.
        time.sleep(duration_s)
        ended_by_itself = not server.running()
        server.kill()
        assert not ended_by_itself, f"the server ended by itself:\n{server.log()}"

    run_together(kill, lambda: consume(consumer, server.port), lambda: changer.run(server.port),
                 *(lambda writer=writer: writer.run(server.port) for writer in writers))


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_no_acknowledged_write_is_lost(tmp_path, durability):
    print(f"STATOR_CRASH_SEED={SEED}")
    chance = random.Random(SEED)
    directory = tmp_path / "data"
    arguments = ("--data-dir", str(directory), "--durability", durability)
    writers = [Writer(f"writer{i}", chance.random()) for i in range(WRITERS)]
    consumer = StreamConsumer("Crash")
    changer = IndexChanger()
    count = 0

    def start():
        # Another number of shards closes those there are and opens children.
        return StatorProcess(*arguments, "--stream-shards", str(chance.choice((2, 3, 6))))

    server = start()
    try:
        client = WireClient(server.port)
        create_table(client, TABLE)
        client.expect("UpdateTimeToLive", {"TableName": "Crash", "TimeToLiveSpecification": {
            "Enabled": True, "AttributeName": EXPIRES}})
        client.close()
        for number in range(ROUNDS):
            write_until_killed(server, writers, consumer, changer, chance.uniform(MIN_ROUND_S, MAX_ROUND_S))
            if number < 20 or number % 10 == 0:  # it reads the whole stream
                check_directory(directory)
            server = start()
            client = WireClient(server.port)
            count = check_all(client, writers, consumer, changer, count)
            client.close()
        assert sum(writer.writes for writer in writers) > ROUNDS * WRITERS, "too few writes to mean anything"
        assert server.stop() == 0
        check_directory(directory)

        # What a clean end leaves must be the same as what it found.
        server = start()
        client = WireClient(server.port)
        check_all(client, writers, consumer, changer, count)
        check_nothing_stays(client, changer)
        consumer.poll(client)
        consumer.check([], "PK", "SK")
        print(f"{ROUNDS} kills, {sum(writer.writes for writer in writers)} acknowledged writes, "
              f"{consumer.records} records in {len(consumer.shards)} shards, {changer.changes} changes of an index")
        client.close()
    finally:
        server.kill()


def test_a_directory_has_one_server(tmp_path):
    with StatorProcess("--data-dir", str(tmp_path / "data")):
        with pytest.raises(RuntimeError, match="no ready line"):
            StatorProcess("--data-dir", str(tmp_path / "data"))
