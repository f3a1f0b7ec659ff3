"""Kills the server while a table with point-in-time recovery is written to, and then goes back to random seconds.

Every writer has keys of its own and notes when each request began and was answered. At a second, a key holds what was
answered before it; a request that was under way at that moment, or was interrupted by a kill, may count or not. A
restored table must be exactly one of the tables that this allows, with the indexes and counts that follow from it. The
restores are interrupted by kills too. STATOR_ROUNDS and STATOR_CRASH_SEED prolong or repeat a run.
"""

import os
import random
import time

from patience import SLOWER
from restarting_server import CONNECTION_LOST, RestartingServer, create_table, run_together, scan
from wire_client import WireClient

ROUNDS = int(os.environ.get("STATOR_ROUNDS", "3"))
SEED = int(os.environ.get("STATOR_CRASH_SEED", str(int(time.time()))))
RESTORES = min(20, 3 + ROUNDS)
WRITERS = 4
KEYS_OF_A_WRITER = 30
ACTIVE_TIMEOUT_S = 60 * SLOWER

TABLE = {
    "TableName": "Source",
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "PK", "AttributeType": "S"},
        {"AttributeName": "SK", "AttributeType": "S"},
        {"AttributeName": "color", "AttributeType": "S"},
        {"AttributeName": "version", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexes": [{
        "IndexName": "ByColor",
        "KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }],
    "LocalSecondaryIndexes": [{
        "IndexName": "ByVersion",
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "version", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }],
    "BillingMode": "PAY_PER_REQUEST",
}


class Writer:
    """Writes to its own keys until the connection breaks, and knows what they may be at any moment."""

    def __init__(self, name, seed):
        self.name = name
        self.random = random.Random(seed)
        self.version = 0
        self.log = []  # (begun, answered or None, {sort key: version or None})

    def _key(self, sort_key):
        return {"PK": {"S": self.name}, "SK": {"S": sort_key}}

    def _item(self, sort_key, version):
        return {**self._key(sort_key), "version": {"N": str(version)}, "filler": {"S": "x" * (version % 200)},
                **({"color": {"S": f"c{version % 5}"}} if version % 3 else {})}

    def _request(self, sort_key):
        self.version += 1
        kind = self.random.randrange(5)
        if kind == 0:
            return "DeleteItem", {"TableName": "Source", "Key": self._key(sort_key)}, {sort_key: None}
        if kind == 1:
            pair = (f"pair-{sort_key}-a", f"pair-{sort_key}-b")
            return "TransactWriteItems", {"TransactItems": [
                {"Put": {"TableName": "Source", "Item": self._item(name, self.version)}} for name in pair
            ]}, {name: self.version for name in pair}
        return "PutItem", {"TableName": "Source", "Item": self._item(sort_key, self.version)}, {sort_key: self.version}

    def run(self, port, until):
        client = WireClient(port)
        try:
            while time.time() < until:
                operation, request, effect = self._request(str(self.random.randrange(KEYS_OF_A_WRITER)))
                begun = time.time()
                self.log.append((begun, None, effect))
                client.expect(operation, request)
                self.log[-1] = (begun, time.time(), effect)
        except CONNECTION_LOST:
            pass  # The kill.
        finally:
            client.close()

    def check(self, second, found):
        """`found` is what the restored table holds: sort key -> version."""
        allowed = {}
        for begun, answered, effect in self.log:
            for sort_key, version in effect.items():
                if answered is not None and answered < second:
                    allowed[sort_key] = {version}
                elif begun < second:
                    allowed.setdefault(sort_key, {None}).add(version)
        for sort_key in set(allowed) | set(found):
            assert found.get(sort_key) in allowed.get(sort_key, {None}), (
                f"second {second}, {self.name}/{sort_key}: {found.get(sort_key)} is none of {allowed.get(sort_key)}")
        for sort_key, version in found.items():
            if sort_key.endswith("-a"):
                assert found.get(sort_key[:-1] + "b") == version, f"half a transaction: {self.name}/{sort_key}"


def wait_until_active(server, name, chance):
    """Now and then the server is killed meanwhile: the restore must go on."""
    deadline = time.monotonic() + ACTIVE_TIMEOUT_S
    while True:
        client = server.connect()
        table = client.expect("DescribeTable", {"TableName": name})["Table"]
        client.close()
        if table["TableStatus"] == "ACTIVE":
            return
        assert table["RestoreSummary"]["RestoreInProgress"] is True
        assert time.monotonic() < deadline, f"{name} is not restored"
        if chance.random() < 0.05:
            server.kill_and_restart(chance)
        time.sleep(0.02)


def check_restored(client, name, second, writers):
    items = scan(client, name)
    found = {writer.name: {} for writer in writers}
    for item in items:
        found[item["PK"]["S"]][item["SK"]["S"]] = int(item["version"]["N"])
    for writer in writers:
        writer.check(second, found[writer.name])
    described = client.expect("DescribeTable", {"TableName": name})["Table"]
    assert "RestoreSummary" not in described
    assert described["ItemCount"] == len(items)

    def order(item):
        return item["PK"]["S"], item["SK"]["S"]
    colored = sorted((item for item in items if "color" in item), key=order)
    assert sorted(scan(client, name, IndexName="ByColor"), key=order) == colored
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == len(colored)
    assert len(scan(client, name, IndexName="ByVersion")) == len(items)


def test_every_second_comes_back(tmp_path):
    chance = random.Random(SEED)
    print(f"STATOR_CRASH_SEED={SEED}")
    writers = [Writer(f"w{number}", chance.random()) for number in range(WRITERS)]
    with RestartingServer(tmp_path) as server:
        client = server.connect()
        create_table(client, TABLE)
        client.expect("UpdateContinuousBackups", {
            "TableName": "Source", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}})
        client.close()
        first = int(time.time()) + 1
        for _ in range(ROUNDS):
            until = time.time() + chance.uniform(0.8, 2.2)
            port = server.port

            def kill(moment=until - 0.1):
                time.sleep(max(0, moment - time.time()))
                server.kill()

            run_together(kill, *(lambda writer=writer: writer.run(port, until) for writer in writers))
            server._start()
        last = int(time.time())
        assert last > first
        seconds = {chance.randint(first, last) for _ in range(RESTORES)} | {last}
        for second in seconds:
            client = server.connect()
            client.expect("RestoreTableToPointInTime", {
                "SourceTableName": "Source", "TargetTableName": f"At-{second}", "RestoreDateTime": second})
            client.close()
        for second in seconds:
            wait_until_active(server, f"At-{second}", chance)
            client = server.connect()
            check_restored(client, f"At-{second}", second, writers)
            client.close()


def test_a_backup_is_the_table_at_one_moment(tmp_path):
    """Pairs are written together; in a backup made under writes and restored after kills, none is torn."""
    chance = random.Random(SEED)
    writers = [Writer(f"w{number}", chance.random()) for number in range(WRITERS)]
    backups = []
    with RestartingServer(tmp_path) as server:
        client = server.connect()
        create_table(client, TABLE)
        port = server.port
        until = time.time() + 2.0

        def make_backups():
            for number in range(4):
                time.sleep(0.3)
                begun = time.time()
                details = client.expect("CreateBackup", {"TableName": "Source", "BackupName": f"backup{number}"})
                backups.append((begun, time.time(), details["BackupDetails"]["BackupArn"]))

        run_together(make_backups, *(lambda writer=writer: writer.run(port, until) for writer in writers))
        client.close()
        server.kill_and_restart(chance)
        client = server.connect()
        client.expect("DeleteTable", {"TableName": "Source"})
        listed = client.expect("ListBackups", {"TableName": "Source"})["BackupSummaries"]
        assert [one["BackupArn"] for one in listed] == [arn for _, _, arn in backups]
        for number, (_, _, arn) in enumerate(backups):
            client.expect("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": f"From-{number}"})
        client.close()
        for number, (begun, answered, arn) in enumerate(backups):
            wait_until_active(server, f"From-{number}", chance)
            client = server.connect()
            items = scan(client, f"From-{number}")
            described = client.expect("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
            assert described["SourceTableDetails"]["ItemCount"] == len(items)
            for writer in writers:
                # One moment between the request and its answer: all that was answered before, nothing begun after.
                found = {item["SK"]["S"]: int(item["version"]["N"]) for item in items if item["PK"]["S"] == writer.name}
                writer_at = Writer(writer.name, 0)
                writer_at.log = [(b, a if a is not None and a < begun else None, e)
                                 for b, a, e in writer.log if b < answered]
                writer_at.check(answered, found)
            client.close()
