"""Fills a table: BatchWriteItem from a few processes, each with several requests under way."""

import json
import multiprocessing
import time

from raw_client import RawClient, prepare

PROCESSES = 2
CONNECTIONS = 8
BATCH = 25

fork = multiprocessing.get_context("fork")


def _load_part(port, table, make_item, numbers):
    clients = [RawClient(port) for _ in range(CONNECTIONS)]
    batches = [numbers[at:at + BATCH] for at in range(0, len(numbers), BATCH)]
    for at in range(0, len(batches), CONNECTIONS):
        under_way = list(zip(clients, batches[at:at + CONNECTIONS]))
        for client, batch in under_way:
            puts = ",".join('{"PutRequest":{"Item":%s}}' % make_item(number) for number in batch)
            client.send(prepare("BatchWriteItem", '{"RequestItems":{"%s":[%s]}}' % (table, puts)))
        for client, _ in under_way:
            status, answer = client.receive()
            assert status == 200 and not json.loads(answer).get("UnprocessedItems"), answer[:500]


def load(port, table, count, make_item):
    """Puts the items make_item(0) to make_item(count - 1), each the text of its JSON. Returns the seconds it took."""
    begin = time.monotonic()
    parts = [
        fork.Process(target=_load_part, args=(port, table, make_item, range(part, count, PROCESSES)), daemon=True)
        for part in range(PROCESSES)
    ]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    assert all(part.exitcode == 0 for part in parts), "the load failed"
    return time.monotonic() - begin
