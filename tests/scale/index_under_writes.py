"""A full table gets a global index while it is written to and while the server is killed.

    /usr/bin/python3 tests/scale/index_under_writes.py --items 1000000 --kills 5

At the end the index must hold exactly what a scan of the table says it must, in every attribute and in the counts of
DescribeTable, and the table what its writers were told.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time

HERE = os.path.dirname(__file__)
for folder in ("", os.pardir, os.path.join(os.pardir, "crash")):
    sys.path.insert(0, os.path.join(HERE, folder))

from loading import fork, load  # noqa: E402
from raw_client import LOST, RawClient, pages, prepare  # noqa: E402
from restarting_server import RestartingServer  # noqa: E402

TABLE = "Indexed"
INDEX = "by-group"
PROJECTED = ("pk", "group", "at", "color", "version")
WRITERS = 3
CONNECTIONS = 8
HOT_ITEMS = 4
BACKFILL_PATIENCE_S = 1800
NO_ITEM = None


def key_of(number):
    return {"pk": {"S": f"item-{number}"}}


def loaded_item(number):
    """Text of the JSON of an item as it is before the index. Some lack a key of the index or have one of another type,
    some are so large that an index does not copy them."""
    group = '"group":{"%s":"%d"},' % ("N" if number % 61 == 0 else "S", number % 1000)
    at = '"at":{"N":"%d"},' % number
    return '{"pk":{"S":"item-%d"},%s%s"version":{"N":"0"},"color":{"S":"%s"},"remark":{"S":"loaded"}}' % (
        number, "" if number % 50 == 0 else group, "" if number % 97 == 0 else at,
        "red" * (2000 if number % 1009 == 0 else 1))


def entry_of(item):
    """What the index must hold of an item, or nothing."""
    if "S" not in item.get("group", {}) or "N" not in item.get("at", {}):
        return None
    return {name: item[name] for name in PROJECTED if name in item}


def size_of(item):
    """In bytes, as DynamoDB counts; of strings and whole positive numbers only."""
    size = 0
    for name, value in item.items():
        (kind, text), = value.items()
        size += len(name) + (len(text) if kind == "S" else 1 + (len(text.rstrip("0")) + 1) // 2)
    return size


class Writer:
    """A process that writes to keys of its own, and to a few that all share, over several connections at once.

    It knows of each of its keys what version the item must have: the last acknowledged one or, if a kill came before an
    answer, one of several."""

    def __init__(self, number, items, port):
        self._number, self._items, self._port = number, items, port
        self._stop = fork.Event()
        self._receiver, self._sender = fork.Pipe(duplex=False)
        self._writes = fork.Value("q", 0, lock=False)
        self._process = fork.Process(target=self._run, daemon=True)
        self._process.start()

    @property
    def writes(self):
        assert self._process.is_alive(), "a writer ended by itself"
        return self._writes.value

    def stop(self):
        """Ends it; the versions its items may have, by key."""
        self._stop.set()
        while not self._receiver.poll(0.1):
            assert self._process.is_alive(), "a writer ended by itself"
        known = json.loads(self._receiver.recv_bytes())
        self._process.join()
        return known

    def _run(self):
        self._chance = random.Random(self._number)
        self._version = 0
        self._known = {}
        while not self._stop.is_set():
            port = self._port.value
            try:
                clients = [RawClient(port) for _ in range(CONNECTIONS)]
                while not self._stop.is_set():
                    self._write_together(clients)
            except LOST:
                while self._port.value == port and not self._stop.is_set():
                    time.sleep(0.001)
        self._sender.send_bytes(json.dumps(self._known).encode())

    def _write_together(self, clients):
        """One request on each connection. Their keys are different, so that every answer tells what an item is now."""
        taken = set()
        under_way = [(client, *self._request(taken)) for client in clients]
        for _, _, outcomes in under_way:
            for key, version in outcomes:
                loaded = int(key.removeprefix("item-")) < self._items
                self._known.setdefault(key, [0 if loaded else NO_ITEM]).append(version)
        for client, request, _ in under_way:
            client.send(request)
        for client, request, outcomes in under_way:
            status, answer = client.receive()
            assert status == 200, f"{request[-500:]!r} was answered {answer!r}"
            for key, version in outcomes:
                self._known[key] = [version]
        self._writes.value += len(under_way)

    def _own_number(self, taken):
        while True:
            number = self._chance.randrange(self._items * 21 // 20 // WRITERS) * WRITERS + self._number
            if number not in taken:
                taken.add(number)
                return number

    def _request(self, taken):
        """A request, and the version that each key of the writer will have."""
        self._version += 1
        kind = self._chance.randrange(20)
        if kind == 0:
            return self._touch_hot_item(), []
        number = self._own_number(taken)
        pk, version = f"item-{number}", self._version
        if kind < 6:
            return prepare("PutItem", {"TableName": TABLE, "Item": self._item(number)}), [(pk, version)]
        if kind < 9:
            return prepare("DeleteItem", {"TableName": TABLE, "Key": key_of(number)}), [(pk, NO_ITEM)]
        if kind == 9:
            other = self._own_number(taken)
            return prepare("TransactWriteItems", {"TransactItems": [
                {"Put": {"TableName": TABLE, "Item": self._item(number)}},
                {"Delete": {"TableName": TABLE, "Key": key_of(other)}},
            ]}), [(pk, version), (f"item-{other}", NO_ITEM)]
        return self._update(number), [(pk, version)]

    def _item(self, number):
        return {
            **key_of(number), **self._group(), "at": {"N": str(self._version)}, "version": {"N": str(self._version)},
            "color": {"S": self._chance.choice(("blue", "green", "x" * 5000))},
        }

    def _group(self):
        return {"group": {"S": str(self._chance.randrange(1000))}} if self._chance.random() < 0.9 else {}

    def _update(self, number):
        values = {":version": {"N": str(self._version)}}
        kind = self._chance.randrange(5)
        expression = "SET version = :version"
        if kind < 3:  # moves the entry, or makes one
            expression += ", #group = :group, #at = :version"
            values[":group"] = {"S": str(self._chance.randrange(1000))}
        elif kind == 3:
            expression += ", remark = :version REMOVE #group"
        else:  # changes the entry where it is
            expression += ", color = :color"
            values[":color"] = {"S": f"color-{self._version}"}
        names = {name: name[1:] for name in ("#group", "#at") if name in expression}
        return prepare("UpdateItem", {
            "TableName": TABLE, "Key": key_of(number), "UpdateExpression": expression,
            "ExpressionAttributeValues": values, **({"ExpressionAttributeNames": names} if names else {})})

    def _touch_hot_item(self):
        return prepare("UpdateItem", {
            "TableName": TABLE, "Key": {"pk": {"S": f"hot-{self._chance.randrange(HOT_ITEMS)}"}},
            "UpdateExpression": "SET #group = :group, #at = :at, color = :color",
            "ExpressionAttributeNames": {"#group": "group", "#at": "at"},
            "ExpressionAttributeValues": {":group": {"S": str(self._chance.randrange(1000))},
                                          ":at": {"N": str(self._version)}, ":color": {"S": "hot"}}})


class Site:
    """A server that is killed now and then, and the port at which its clients find it."""

    def __init__(self, directory, *arguments):
        self.server = RestartingServer(directory, *arguments)
        self.port = fork.Value("i", self.server.port)
        self.client = RawClient(self.port.value)

    def kill(self):
        self.server.kill_and_restart(random.Random(0))
        self.port.value = self.server.port
        self.client = RawClient(self.port.value)

    def index(self):
        table = self.client.expect("DescribeTable", {"TableName": TABLE})["Table"]
        return table["GlobalSecondaryIndexes"][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.__exit__()


def create_table(client):
    client.expect("CreateTable", {
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]})


def create_index(client):
    client.expect("UpdateTable", {
        "TableName": TABLE,
        "AttributeDefinitions": [{"AttributeName": "group", "AttributeType": "S"},
                                 {"AttributeName": "at", "AttributeType": "N"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {
            "IndexName": INDEX,
            "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["color", "version"]}}}]})


def wait_for_backfill(site, items, kills, say):
    """Until the index is active, with so many kills spread over the growth of the index. Returns the seconds."""
    begin = time.monotonic()
    killed = 0
    while True:
        index = site.index()
        if index["IndexStatus"] == "ACTIVE":
            assert killed == kills, f"the index was there after {killed} of {kills} kills"
            return time.monotonic() - begin
        assert index["IndexStatus"] == "CREATING" and index["Backfilling"] is True, index
        assert time.monotonic() - begin < BACKFILL_PATIENCE_S, f"the index is not there yet: {index}"
        # The last kill comes well before the end, so that it never misses the backfill.
        if killed < kills and index["ItemCount"] >= items * 0.8 * killed / kills:
            killed += 1
            say(f"kill {killed} at {index['ItemCount']} entries after {time.monotonic() - begin:.1f} s")
            site.kill()


def compare(site, known, say):
    """The table is what its writers know, and the index what the table says."""
    entries = {}
    items = table_bytes = index_bytes = 0
    for page in pages(site.client, TABLE):
        for item in page:
            items += 1
            table_bytes += size_of(item)
            pk = item["pk"]["S"]
            version = int(item["version"]["N"]) if "version" in item else None
            if pk in known:
                assert version in known.pop(pk), f"{pk} has version {version}"
            entry = entry_of(item)
            if entry is not None:
                entries[pk] = json.dumps(entry, sort_keys=True)
                index_bytes += size_of(entry)
    lost = [pk for pk, versions in known.items() if NO_ITEM not in versions]
    assert not lost, f"{len(lost)} items are lost: {lost[:5]}"
    expected = len(entries)
    for page in pages(site.client, TABLE, IndexName=INDEX):
        for entry in page:
            pk = entry["pk"]["S"]
            wanted = entries.pop(pk, None)
            assert wanted is not None, f"the index has {entry} that the table has not, or has it twice"
            assert wanted == json.dumps(entry, sort_keys=True), f"the index has {entry}, the table {wanted}"
    assert not entries, f"the index lacks {len(entries)} entries: {list(entries.values())[:3]}"
    table = site.client.expect("DescribeTable", {"TableName": TABLE})["Table"]
    index = table["GlobalSecondaryIndexes"][0]
    counted = (table["ItemCount"], table["TableSizeBytes"], index["ItemCount"], index["IndexSizeBytes"])
    there = (items, table_bytes, expected, index_bytes)
    assert counted == there, f"items, bytes, entries and their bytes are counted as {counted} and are {there}"
    say(f"{items} items and {expected} entries are as they must be")


def run(directory, items, kills, say=print, arguments=()):
    with Site(directory, *arguments) as site:
        create_table(site.client)
        say(f"{items} items loaded in {load(site.port.value, TABLE, items, loaded_item):.1f} s")
        writers = [Writer(number, items, site.port) for number in range(WRITERS)]
        create_index(site.client)
        before = sum(writer.writes for writer in writers)
        seconds = wait_for_backfill(site, items, kills, say)
        writes = sum(writer.writes for writer in writers) - before
        say(f"the index is active after {seconds:.1f} s, {kills} kills and {writes} writes ({writes / seconds:.0f}/s)")
        known = {}
        for writer in writers:
            known.update(writer.stop())
        assert writes > 10 * kills, "too few writes to mean anything"
        compare(site, known, say)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--items", type=int, default=1_000_000)
    arguments.add_argument("--kills", type=int, default=5)
    arguments.add_argument("--server", nargs=argparse.REMAINDER, default=[], help="further arguments of the server")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        run(os.path.join(directory, "data"), given.items, given.kills, lambda text: print(text, flush=True), given.server)


if __name__ == "__main__":
    main()
