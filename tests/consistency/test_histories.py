"""Histories of concurrent clients across kills of the server: single items must be linearizable, transactions strictly
serializable. STATOR_ROUNDS (kills) and STATOR_CRASH_SEED prolong or repeat a run; each three kills have keys of their
own, so that a long run is many histories of a length that can be checked."""

import itertools
import os
import random
import threading
import time

import linearizability
import serializability
from patience import SLOWER
from recorded_clients import ItemClient, ListClient
from restarting_server import RestartingServer, create_table, run_together

ROUNDS = int(os.environ.get("STATOR_ROUNDS", "6"))
SEED = int(os.environ.get("STATOR_CRASH_SEED", str(int(time.time()))))
KILLS_OF_AN_EPISODE = 3
CLIENTS = 8
MIN_ROUND_S, MAX_ROUND_S = 0.2, 1.2
CHECK_S = 120


def table(name):
    return {"TableName": name, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST"}


def use_while_it_is_killed(server, clients, chance, kills):
    stopped = threading.Event()

    def kill():
        try:
            for _ in range(kills):
                time.sleep(chance.uniform(MIN_ROUND_S, MAX_ROUND_S))  # The moment of the kill, drawn at random.
                server.kill_and_restart(chance)
            time.sleep(chance.uniform(MIN_ROUND_S, MAX_ROUND_S))
        finally:
            stopped.set()

    run_together(kill, *(lambda client=client: client.run(stopped) for client in clients), timeout_s=300 * SLOWER)


def episodes():
    for number in range(-(-ROUNDS // KILLS_OF_AN_EPISODE)):
        yield number, min(KILLS_OF_AN_EPISODE, ROUNDS - number * KILLS_OF_AN_EPISODE)


def test_single_items_are_linearizable(tmp_path):
    print(f"STATOR_CRASH_SEED={SEED}")
    chance = random.Random(SEED)
    count = unknown = 0
    with RestartingServer(tmp_path / "data") as server:
        create_table(server.connect(), table("Items"))
        for episode, kills in episodes():
            keys = [f"{episode}-{i}" for i in range(4)]
            clients = [ItemClient(f"c{i}", server, chance.random(), "Items", keys) for i in range(CLIENTS)]
            use_while_it_is_killed(server, clients, chance, kills)
            history = [operation for client in clients for operation in client.history]
            result = linearizability.check(history, timeout_s=CHECK_S)
            assert result, linearizability.explain(result)
            count += len(history)
            unknown += sum(operation.output == linearizability.UNKNOWN for operation in history)
    print(f"{count} operations, {unknown} of unknown outcome, {ROUNDS} kills: linearizable")
    assert count > 20 * ROUNDS, "too few operations to mean anything"


def test_transactions_are_strictly_serializable(tmp_path):
    print(f"STATOR_CRASH_SEED={SEED}")
    chance = random.Random(SEED + 1)
    count = {serializability.OK: 0, serializability.FAILED: 0, serializability.UNKNOWN: 0}
    numbers = itertools.count()
    with RestartingServer(tmp_path / "data") as server:
        for name in ("Left", "Right"):
            create_table(server.connect(), table(name))
        for episode, kills in episodes():
            keys = [episode * 8 + i for i in range(8)]
            clients = [ListClient(f"c{i}", server, chance.random(), ("Left", "Right"), keys, numbers)
                       for i in range(CLIENTS)]
            use_while_it_is_killed(server, clients, chance, kills)
            clients[0].read_all()
            history = [transaction for client in clients for transaction in client.history]
            anomalies = serializability.check(history)
            assert not anomalies, "\n".join(str(anomaly) for anomaly in anomalies[:5])
            for transaction in history:
                count[transaction.outcome] += 1
    print(f"transactions {count}, {ROUNDS} kills: strictly serializable")
    assert count[serializability.OK] > 10 * ROUNDS, "too few transactions to mean anything"
