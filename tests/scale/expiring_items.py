"""Many items expire while GetItem is measured, in three ways:

enabled   the table is full of items whose time is over when TTL is enabled;
due       TTL is on, and the time of all items comes at the same moment;
late      TTL is on, and items are written whose time is over already.

    /usr/bin/python3 tests/scale/expiring_items.py --items 1000000

Says how long the items stayed, and GetItem's p99 (one connection, items that do not expire) before and meanwhile.
"""

import argparse
import array
import contextlib
import multiprocessing
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))

from loading import fork, load  # noqa: E402
from raw_client import RawClient, prepare  # noqa: E402
from stator_process import StatorProcess  # noqa: E402

TABLE = "Expiring"
LIVE = 2000
PATIENCE_S = 600
WAYS = ("enabled", "due", "late")


class Report:
    def __init__(self, way, items, load_s, gone_s, idle, during):
        self.way, self.items, self.load_s, self.gone_s, self.idle, self.during = way, items, load_s, gone_s, idle, during

    @property
    def ratio(self):
        return percentile(self.during, 99) / percentile(self.idle, 99)

    def __str__(self):
        text = f"{self.way:8} {self.items} items loaded in {self.load_s:.1f} s, gone after {self.gone_s:.1f} s"
        if self.during:
            spread = [f"{name} p50 {percentile(times, 50):.0f} p99 {percentile(times, 99):.0f} p99.9 "
                      f"{percentile(times, 99.9):.0f} max {max(times) / 1000:.0f} us ({len(times)})"
                      for name, times in (("idle", self.idle), ("meanwhile", self.during))]
            text += "; GetItem " + ", ".join(spread) + f"; p99 ratio {self.ratio:.2f}"
        return text


def percentile(times_ns, percent):
    """In microseconds."""
    ordered = sorted(times_ns)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] / 1000


class Sampler:
    """A process that reads items one after another and keeps how long each took."""

    def __init__(self, port, key_names):
        self._stop = fork.Event()
        self._receiver, sender = multiprocessing.Pipe(duplex=False)
        self._process = fork.Process(target=self._run, args=(port, key_names, sender), daemon=True)
        self._process.start()

    def _run(self, port, names, sender):
        client = RawClient(port)
        requests = [prepare("GetItem", {"TableName": TABLE, "Key": {"pk": {"S": name}}}) for name in names]
        chance = random.Random(1)
        times = array.array("q")
        while not self._stop.is_set():
            for _ in range(20):
                request = chance.choice(requests)
                begin = time.perf_counter_ns()
                status, answer = client.exchange(request)
                times.append(time.perf_counter_ns() - begin)
                assert status == 200 and b'"live' in answer, answer
        sender.send_bytes(times.tobytes())

    def stop(self):
        self._stop.set()
        times = array.array("q")
        times.frombytes(self._receiver.recv_bytes())
        self._process.join()
        return times


def sample_for(port, names, seconds):
    sampler = Sampler(port, names)
    time.sleep(seconds)  # How long the measurement takes, not a guess at when something is done.
    return sampler.stop()


def live_name(number):
    return f"live-{number}"


def expiring_item(way, expiry_s, filler="x" * 60):
    def make(number):
        return ('{"pk":{"S":"%s-%d"},"group":{"S":"g%d"},"filler":{"S":"%s"},"expires":{"N":"%d"}}'
                % (way, number, number % 1000, filler, expiry_s(number)))
    return make


def create_table(client, indexes):
    request = {
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    }
    if indexes:
        request["AttributeDefinitions"].append({"AttributeName": "group", "AttributeType": "S"})
        request["GlobalSecondaryIndexes"] = [
            {"IndexName": f"by-group-{i}", "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}} for i in range(indexes)]
    client.expect("CreateTable", request)


def count(client):
    return client.expect("DescribeTable", {"TableName": TABLE})["Table"]["ItemCount"]


def wait_until_gone(client, begin, progress):
    shown = begin
    while True:
        left = count(client) - LIVE
        if left == 0:
            return time.monotonic() - begin
        assert time.monotonic() - begin < PATIENCE_S, f"{left} items are still there"
        if progress and time.monotonic() - shown > 5:
            shown = time.monotonic()
            print(f"  after {shown - begin:.0f} s {left} are left", flush=True)
        time.sleep(0.1)


def check_what_is_left(client):
    """The counts are right, and only what does not expire is there: in the table and in its indexes."""
    table = client.expect("DescribeTable", {"TableName": TABLE})["Table"]
    names = [None, *(index["IndexName"] for index in table.get("GlobalSecondaryIndexes", []))]
    for name in names:
        seen, start = 0, {}
        while True:
            answer = client.expect("Scan", {"TableName": TABLE, **({"IndexName": name} if name else {}), **start})
            assert all(item["pk"]["S"].startswith("live-") for item in answer["Items"])
            seen += answer["Count"]
            if "LastEvaluatedKey" not in answer:
                break
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        assert seen == LIVE, f"{name or 'the table'} holds {seen} items"
    for index in table.get("GlobalSecondaryIndexes", []):
        assert index["ItemCount"] == LIVE, index


def run(port, items, idle_s=10, ways=WAYS, indexes=0, progress=False):
    """Yields a Report for each way."""
    client = RawClient(port)
    create_table(client, indexes)
    names = [live_name(number) for number in range(LIVE)]
    load(port, TABLE, LIVE, lambda n: '{"pk":{"S":"%s"},"group":{"S":"g%d"},"kept":{"S":"%s"}}'
         % (live_name(n), n, "y" * 80))
    enable = {"TableName": TABLE, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}}
    now_s = int(time.time())
    load_s = items / 10_000
    if "enabled" in ways:
        load_s = load(port, TABLE, items, expiring_item("enabled", lambda n: now_s - 10 - n % 3600))
        idle = sample_for(port, names, idle_s)
        sampler = Sampler(port, names)
        begin = time.monotonic()
        client.expect("UpdateTimeToLive", enable)
        gone_s = wait_until_gone(client, begin, progress)
        yield Report("enabled", items, load_s, gone_s, idle, sampler.stop())
        check_what_is_left(client)
    else:
        client.expect("UpdateTimeToLive", enable)
    if "due" in ways:
        due_s = int(time.time() + 1.5 * load_s + idle_s) + 2
        load_s = load(port, TABLE, items, expiring_item("due", lambda n: due_s))
        idle = sample_for(port, names, idle_s)
        assert time.time() < due_s, "the load was too slow to be over before the items expire"
        time.sleep(due_s - time.time())
        sampler = Sampler(port, names)
        gone_s = wait_until_gone(client, time.monotonic(), progress)
        yield Report("due", items, load_s, gone_s, idle, sampler.stop())
        check_what_is_left(client)
    if "late" in ways:
        load_s = load(port, TABLE, items, expiring_item("late", lambda n: now_s - 10 - n % 3600))
        gone_s = wait_until_gone(client, time.monotonic(), progress)
        yield Report("late", items, load_s, gone_s, [], [])
        check_what_is_left(client)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--items", type=int, default=1_000_000)
    arguments.add_argument("--idle-s", type=float, default=10, help="how long the idle p99 is measured")
    arguments.add_argument("--indexes", type=int, default=0, help="global indexes of the table")
    arguments.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    arguments.add_argument("--server", nargs=argparse.REMAINDER, default=[], help="further arguments of the server")
    given = arguments.parse_args()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(StatorProcess("--data-dir", directory, *given.server))
        print(f"server {server.pid}", flush=True)
        for report in run(server.port, given.items, given.idle_s, given.ways, given.indexes, progress=True):
            print(report, flush=True)


if __name__ == "__main__":
    main()
