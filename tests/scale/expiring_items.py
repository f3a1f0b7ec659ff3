"""Many items expire while GetItem is measured, in three ways:

enabled   the table is full of items whose time is over when TTL is enabled;
due       TTL is on, and the time of all items comes at the same moment;
late      TTL is on, and items are written whose time is over already.

    /usr/bin/python3 tests/scale/expiring_items.py --items 1000000

Says how long the items stayed, and GetItem's p99 (one connection, items that do not expire) before and meanwhile. With
--judge it fails if that was more than a minute, or if p99 was more than three times what it was before. Both mean
something only on a machine that does nothing else.
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
MOST_S, MOST_RATIO = 60, 3
WAYS = ("enabled", "due", "late")


class Report:
    def __init__(self, way, items, load_s, gone_s, cpu_s, idle=(), during=()):
        self.way, self.items, self.load_s, self.gone_s, self.cpu_s = way, items, load_s, gone_s, cpu_s
        self.idle, self.during = idle, during

    @property
    def ratio(self):
        return percentile(self.during, 99) / percentile(self.idle, 99) if self.during else 0

    def __str__(self):
        text = f"{self.way:8} {self.items} items loaded in {self.load_s:.1f} s, gone after {self.gone_s:.1f} s ({self.cpu_s:.1f} s of CPU)"
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


def cpu_s(pid):
    """What the server has used of its processors' time, all its threads together."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


class Measurement:
    """From its making until the items are gone."""

    def __init__(self, server, names):
        self._server = server
        self._sampler = Sampler(server.port, names) if names else None
        self._cpu_s, self._begin = cpu_s(server.pid), time.monotonic()

    def finish(self, way, items, load_s, idle, progress):
        client = RawClient(self._server.port)
        gone_s = wait_until_gone(client, self._begin, progress)
        used_s = cpu_s(self._server.pid) - self._cpu_s
        during = self._sampler.stop() if self._sampler else ()
        check_what_is_left(client)
        return Report(way, items, load_s, gone_s, used_s, idle, during)


def run(server, items, idle_s=10, ways=WAYS, indexes=0, progress=False):
    """Yields a Report for each way. Reads nothing meanwhile if `idle_s` is 0."""
    port = server.port
    client = RawClient(port)
    create_table(client, indexes)
    load(port, TABLE, LIVE, lambda n: '{"pk":{"S":"%s"},"group":{"S":"g%d"},"kept":{"S":"%s"}}'
         % (live_name(n), n, "y" * 80))
    names = [live_name(number) for number in range(LIVE)] if idle_s else []
    enable = prepare("UpdateTimeToLive", {
        "TableName": TABLE, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}})
    now_s = int(time.time())
    load_s = items / 5000
    if "enabled" in ways:
        load_s = load(port, TABLE, items, expiring_item("enabled", lambda n: now_s - 10 - n % 3600))
        idle = sample_for(port, names, idle_s) if names else ()
        measurement = Measurement(server, names)
        assert RawClient(port).exchange(enable)[0] == 200
        yield measurement.finish("enabled", items, load_s, idle, progress)
    else:
        assert client.exchange(enable)[0] == 200
    if "due" in ways:
        due_s = int(time.time() + 2.5 * load_s + idle_s) + 5
        load_s = load(port, TABLE, items, expiring_item("due", lambda n: due_s))
        idle = sample_for(port, names, idle_s) if names else ()
        assert time.time() < due_s, "the load was too slow to be over before the items expire"
        time.sleep(due_s - time.time())
        yield Measurement(server, names).finish("due", items, load_s, idle, progress)
    if "late" in ways:
        load_s = load(port, TABLE, items, expiring_item("late", lambda n: now_s - 10 - n % 3600))
        yield Measurement(server, ()).finish("late", items, load_s, (), progress)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--items", type=int, default=1_000_000)
    arguments.add_argument("--idle-s", type=float, default=10, help="how long the idle p99 is measured; 0: no reads at all")
    arguments.add_argument("--indexes", type=int, default=0, help="global indexes of the table")
    arguments.add_argument("--directory", help="where the server keeps its data (a temporary one)")
    arguments.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    arguments.add_argument("--judge", action="store_true")
    arguments.add_argument("--server", nargs=argparse.REMAINDER, default=[], help="further arguments of the server")
    given = arguments.parse_args()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(dir=given.directory))
        server = stack.enter_context(StatorProcess("--data-dir", directory, *given.server))
        print(f"server {server.pid}", flush=True)
        try:
            for report in run(server, given.items, given.idle_s, given.ways, given.indexes, progress=True):
                print(report, flush=True)
                if given.judge:
                    assert report.gone_s <= MOST_S and report.ratio <= MOST_RATIO, "too slow"
        except BaseException:
            print(f"The server {'still runs' if server.running() else 'ended'} and logged:\n{server.log()}")
            raise


if __name__ == "__main__":
    main()
