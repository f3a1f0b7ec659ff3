"""Tables are made, filled and deleted while the server is killed: what was acknowledged holds, and no table that was
deleted leaves anything to the next one of its name. STATOR_ROUNDS and STATOR_CRASH_SEED prolong or repeat a run."""

import os
import random
import time

from restarting_server import CONNECTION_LOST, RestartingServer, run_together, scan

ROUNDS = int(os.environ.get("STATOR_ROUNDS", "20"))
SEED = int(os.environ.get("STATOR_CRASH_SEED", str(int(time.time()))))
OWNERS = 4
MIN_ROUND_S, MAX_ROUND_S = 0.05, 0.6


class Owner:
    """The only one to touch its table. `there` is None while a request with an unknown outcome is open."""

    def __init__(self, name, seed):
        self.name = name
        self.random = random.Random(seed)
        self.there = False
        self.items = {}
        self.doubtful = None  # the item whose write was interrupted
        self.changes = 0

    def _table(self):
        return {
            "TableName": self.name,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                                     {"AttributeName": "by", "AttributeType": "S"}],
            "GlobalSecondaryIndexes": [{
                "IndexName": "ByWriter", "KeySchema": [{"AttributeName": "by", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}}],
            "BillingMode": "PAY_PER_REQUEST",
        }

    def run(self, client):
        try:
            while True:
                if not self.there:
                    self.there = None
                    client.expect("CreateTable", self._table())
                    self.there = True
                elif self.random.random() < 0.1:
                    self.there = None
                    client.expect("DeleteTable", {"TableName": self.name})
                    self.there, self.items = False, {}
                else:
                    self._put(client)
                self.changes += 1
        except CONNECTION_LOST:
            pass  # The kill.

    def _put(self, client):
        pk, by = str(self.random.randrange(30)), str(self.changes)
        self.doubtful = (pk, by)
        client.expect("PutItem", {"TableName": self.name, "Item": {"pk": {"S": pk}, "by": {"S": by}}})
        self.items[pk] = by
        self.doubtful = None

    def check(self, client):
        status, answer = client.call("DescribeTable", {"TableName": self.name})
        found = status == 200
        assert found or answer["__type"].endswith("#ResourceNotFoundException"), answer
        assert self.there is None or self.there == found, f"{self.name}: there {self.there}, found {found}"
        if not found:
            self.there, self.items, self.doubtful = False, {}, None
            return
        assert answer["Table"]["TableStatus"] == "ACTIVE", answer
        items = {item["pk"]["S"]: item["by"]["S"] for item in scan(client, self.name)}
        wanted = [self.items]
        if self.doubtful:
            wanted.append({**self.items, self.doubtful[0]: self.doubtful[1]})
        assert items in wanted, f"{self.name}: {items}, not one of {wanted}"
        assert {item["pk"]["S"]: item["by"]["S"] for item in scan(client, self.name, IndexName="ByWriter")} == items
        assert answer["Table"]["ItemCount"] == len(items)
        self.there, self.items, self.doubtful = True, items, None


def test_a_table_is_there_or_not(tmp_path):
    print(f"STATOR_CRASH_SEED={SEED}")
    chance = random.Random(SEED)
    owners = [Owner(f"Table{i}", chance.random()) for i in range(OWNERS)]
    with RestartingServer(tmp_path / "data") as server:
        for _ in range(ROUNDS):
            def restart():
                time.sleep(chance.uniform(MIN_ROUND_S, MAX_ROUND_S))  # The moment of the kill, drawn at random.
                server.kill_and_restart(chance)

            run_together(restart, *(lambda owner=owner, client=server.connect(): owner.run(client) for owner in owners))
            client = server.connect()
            names = client.expect("ListTables", {})["TableNames"]
            for owner in owners:
                owner.check(client)
                assert owner.there == (owner.name in names)
            client.close()
    assert sum(owner.changes for owner in owners) > 5 * ROUNDS, "too few changes to mean anything"
