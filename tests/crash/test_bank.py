"""Money moves between accounts of three tables while the server is killed again and again.

Each transfer leaves a trace that says it happened: a record in a table of its own, or its name in both accounts. What
the accounts hold must follow from the traces to the last unit, every acknowledged transfer must have left one, a
refused one none, and no reader may ever see a sum that is not the one of the beginning. STATOR_ROUNDS (kills) and
STATOR_CRASH_SEED prolong or repeat a run.
"""

import os
import random
import threading
import time
import uuid
from collections import defaultdict

from patience import SLOWER
from restarting_server import CONNECTION_LOST, RestartingServer, create_table, run_together, scan

ROUNDS = int(os.environ.get("STATOR_ROUNDS", "20"))
SEED = int(os.environ.get("STATOR_CRASH_SEED", str(int(time.time()))))
TELLERS, READERS = 8, 2
MIN_ROUND_S, MAX_ROUND_S = 0.2, 1.0
ACCOUNTS_OF_A_TABLE = 10
OPENING_BALANCE = 100
RECORDS = "Transfers"
MAX_ATTEMPTS = 50


def on_demand(name, *keys):
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": key, "KeyType": kind} for key, _, kind in keys],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": value} for key, value, _ in keys],
        "BillingMode": "PAY_PER_REQUEST",
    }


TABLES = [
    on_demand("Checking", ("id", "S", "HASH")),
    on_demand("Savings", ("owner", "S", "HASH"), ("slot", "N", "RANGE")),
    on_demand("Vaults", ("number", "N", "HASH")),
    on_demand(RECORDS, ("id", "S", "HASH")),
]


def account(table_name, i):
    """An account is its table and key."""
    if table_name == "Checking":
        return table_name, {"id": {"S": f"account-{i}"}}
    if table_name == "Savings":
        return table_name, {"owner": {"S": f"owner-{i % 3}"}, "slot": {"N": str(i)}}
    return table_name, {"number": {"N": str(i)}}


ACCOUNTS = [account(name, i) for name in ("Checking", "Savings", "Vaults") for i in range(ACCOUNTS_OF_A_TABLE)]
TOTAL = OPENING_BALANCE * len(ACCOUNTS)


class Transfer:
    def __init__(self, name, chance):
        self.name = name
        self.source, self.target, witness = chance.sample(range(len(ACCOUNTS)), 3)
        self.amount = chance.randint(1, 60)
        self.recorded = chance.random() < 0.7
        self.token = str(uuid.UUID(int=chance.getrandbits(128))) if chance.random() < 0.6 else None
        self.witness = witness if chance.random() < 0.3 else None
        self._order = chance.random()

    def request(self):
        actions = [
            self._update(self.source, "balance >= :amount", -self.amount),
            self._update(self.target, "attribute_exists(balance)", self.amount),
        ]
        if self.recorded:
            actions.append({"Put": {"TableName": RECORDS, "Item": {
                "id": {"S": self.name}, "source": {"N": str(self.source)}, "target": {"N": str(self.target)},
                "amount": {"N": str(self.amount)}}}})
        if self.witness is not None:
            table_name, key = ACCOUNTS[self.witness]
            actions.append({"ConditionCheck": {
                "TableName": table_name, "Key": key, "ConditionExpression": "attribute_exists(balance)"}})
        random.Random(self._order).shuffle(actions)
        return {"TransactItems": actions, **({"ClientRequestToken": self.token} if self.token else {})}

    def _update(self, at, condition, change):
        table_name, key = ACCOUNTS[at]
        values = {":change": {"N": str(change)}}
        if ":amount" in condition:
            values[":amount"] = {"N": str(self.amount)}
        expression = "SET balance = balance + :change"
        if not self.recorded:
            expression += " ADD traces :name"
            values[":name"] = {"SS": [self.name]}
        return {"Update": {"TableName": table_name, "Key": key, "UpdateExpression": expression,
                           "ConditionExpression": condition, "ExpressionAttributeValues": values}}


class Teller:
    """Makes one transfer after the other. One with a token is asked again until its outcome is known."""

    def __init__(self, name, seed):
        self.name = name
        self.chance = random.Random(seed)
        self.done, self.refused, self.unknown = {}, {}, {}
        self.conflicts = 0
        self.retried = 0
        self._client = None

    def run(self, server, closed):
        while not closed.is_set():
            count = len(self.done) + len(self.refused) + len(self.unknown)
            transfer = Transfer(f"{self.name}-{count}", self.chance)
            outcome = self._make(server, transfer)
            outcome[transfer.name] = transfer
            if outcome is self.done and transfer.token and self.chance.random() < 0.1:
                # Asking again for what is done is answered, and does nothing.
                assert self._make(server, transfer) is self.done, f"{transfer.name} was done, and is not when repeated"

    def _make(self, server, transfer):
        request = transfer.request()
        for _ in range(MAX_ATTEMPTS):
            try:
                if self._client is None:
                    self._client = server.connect()
                status, answer = self._client.call("TransactWriteItems", request)
            except CONNECTION_LOST:
                self._client = None
                if transfer.token is None:
                    return self.unknown
                self.retried += 1
                continue
            if status == 200:
                return self.done
            codes = self._codes(answer)
            if "ConditionalCheckFailed" in codes:
                return self.refused
            assert codes <= {"None", "TransactionConflict"}, answer
            self.conflicts += 1
        raise AssertionError(f"{transfer.name} found no outcome in {MAX_ATTEMPTS} attempts")

    @staticmethod
    def _codes(answer):
        error = answer["__type"].split("#")[-1]
        if error == "TransactionInProgressException":
            return {"None"}
        assert error == "TransactionCanceledException", answer
        return {reason["Code"] for reason in answer["CancellationReasons"]}


def read_accounts(client):
    """All accounts at one moment. Checks what must hold at every moment; returns balances and traces."""
    answer = client.expect("TransactGetItems", {"TransactItems": [
        {"Get": {"TableName": table_name, "Key": key}} for table_name, key in ACCOUNTS]})
    balances, traces = [], []
    for response in answer["Responses"]:
        balances.append(int(response["Item"]["balance"]["N"]))
        traces.append(set(response["Item"].get("traces", {"SS": []})["SS"]))
    assert sum(balances) == TOTAL, f"the sum is {sum(balances)}, not {TOTAL}: {balances}"
    assert min(balances) >= 0, f"an account is overdrawn: {balances}"
    holders = defaultdict(int)
    for names in traces:
        for name in names:
            holders[name] += 1
    half = [name for name, count in holders.items() if count != 2]
    assert not half, f"half a transfer is seen: {half}"
    return balances, traces


class Reader:
    def __init__(self):
        self.reads = 0

    def run(self, server, closed):
        client = None
        while not closed.is_set():
            try:
                client = client or server.connect()
                read_accounts(client)
                self.reads += 1
            except CONNECTION_LOST:
                client = None


def check_books(client, tellers):
    """Compares accounts and records with what the tellers know, while nobody writes."""
    balances, traces = read_accounts(client)
    records = {item["id"]["S"]: item for item in scan(client, RECORDS, ConsistentRead=True)}
    expected = [OPENING_BALANCE] * len(ACCOUNTS)
    for teller in tellers:
        for name, transfer in {**teller.done, **teller.refused, **teller.unknown}.items():
            if transfer.recorded:
                there = name in records
                if there:
                    record = records.pop(name)
                    facts = tuple(int(record[field]["N"]) for field in ("source", "target", "amount"))
                    assert facts == (transfer.source, transfer.target, transfer.amount), f"{name}: {record}"
            else:
                there = name in traces[transfer.source] and name in traces[transfer.target]
            assert there or name not in teller.done, f"the acknowledged transfer {name} is lost"
            assert not there or name not in teller.refused, f"the refused transfer {name} happened"
            if there:
                expected[transfer.source] -= transfer.amount
                expected[transfer.target] += transfer.amount
    assert not records, f"records of nobody's transfers: {records}"
    assert balances == expected, "accounts do not hold what the transfers imply"


def test_no_money_is_made_or_lost(tmp_path):
    print(f"STATOR_CRASH_SEED={SEED}")
    chance = random.Random(SEED)
    tellers = [Teller(f"teller{i}", chance.random()) for i in range(TELLERS)]
    readers = [Reader() for _ in range(READERS)]
    closed = threading.Event()

    with RestartingServer(tmp_path / "data") as server:
        client = server.connect()
        for table in TABLES:
            create_table(client, table)
        for table_name, key in ACCOUNTS:
            client.expect("PutItem", {
                "TableName": table_name, "Item": {**key, "balance": {"N": str(OPENING_BALANCE)}}})
        client.close()

        def kill_at_random():
            try:
                for _ in range(ROUNDS):
                    if closed.wait(chance.uniform(MIN_ROUND_S, MAX_ROUND_S)):
                        return
                    server.kill_and_restart(chance)
                closed.wait(MIN_ROUND_S)
            finally:
                closed.set()

        def until_closed(run):
            try:
                run(server, closed)
            except BaseException:
                closed.set()
                raise

        run_together(kill_at_random, *(lambda worker=worker: until_closed(worker.run) for worker in tellers + readers),
                     timeout_s=(60 + ROUNDS * (MAX_ROUND_S + 30)) * SLOWER)
        check_books(server.connect(), tellers)
        server.stop_and_restart()
        check_books(server.connect(), tellers)

    def count(field):
        return sum(len(getattr(teller, field)) for teller in tellers)

    reads = sum(reader.reads for reader in readers)
    print(f"{count('done')} done, {count('refused')} refused, {count('unknown')} unknown, "
          f"{sum(teller.retried for teller in tellers)} asked again, "
          f"{sum(teller.conflicts for teller in tellers)} conflicts, {reads} reads")
    assert count("done") > 10 * ROUNDS, "too few transfers to mean anything"
    assert reads > ROUNDS, "too few reads to mean anything"
