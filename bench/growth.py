#!/usr/bin/env python3
"""The same GetItem, PutItem and Query of 20 on more and more items, on disk: throughput and memory as a curve.

    bench/growth.py [--sizes 10000,1000000,20000000] [--seconds 5] [--rounds 3] [--out build/bench]

Writes growth.json and growth.svg. The server runs with --durability os, so that the disk's flushes are not what is
measured, and its usual cache.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import report
from run import Client, wrk
from servers import ROOT, Stator
from workloads import table

KINDS = {"get": "GetItem", "put": "PutItem", "query": "Query of 20"}


def drive(server, kind, items, seconds, begin=0):
    result = wrk(server, "growth.lua", 32, seconds, GROWTH_KIND=kind, GROWTH_ITEMS=items, GROWTH_FROM=begin)
    if result["failed"] or result["lost"]:
        raise RuntimeError(f"{kind}: {result}")
    return result


def load(server, have, items):
    """Goes on until everything from `have` on is there; requests under way at the end of a run are sent again."""
    began = time.monotonic()
    first = have
    while have < items:
        left = items - have
        have += 25 * drive(server, "load", items, 1 if left < 1_000_000 else 10, have)["requests"]
    taken = time.monotonic() - began
    if items > first:
        print(f"  {items - first:,} items written in {taken:.0f} s: {(items - first) / taken:,.0f} a second", flush=True)


def settle(server, at_most_s=180):
    """Waits until what was written is in its place: the curve is about the size, not about what a load leaves to do."""
    until = time.monotonic() + at_most_s
    while time.monotonic() < until:
        if not any(server.engine_metrics("compaction_pending_bytes", "compactions_running", "memtable_flushes_running")):
            return
        time.sleep(1)


def measure(server, items, seconds, rounds):
    found = {}
    for kind, name in KINDS.items():
        drive(server, kind, items, 1)  # what is asked for most is in the cache by then, as far as it fits
        runs = [drive(server, kind, items, seconds) for _ in range(rounds)]
        found[name] = {"per_s": statistics.median(run["requests"] / run["duration_us"] * 1e6 for run in runs),
                       "p50_ms": statistics.median(run["p50_us"] for run in runs) / 1000,
                       "p99_ms": statistics.median(run["p99_us"] for run in runs) / 1000}
    found["resident_mb"] = server.resident_mb()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000,1000000,20000000")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", default=str(ROOT / "build" / "bench"))
    asked = parser.parse_args()
    out = pathlib.Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    server = Stator("stator", "--durability", "os").start()
    found = {}
    try:
        Client(server.port).call("CreateTable", table("Growth", sort="sk"))
        have = 0
        for items in sorted(int(size) for size in asked.sizes.split(",")):
            load(server, have, items)
            have = items
            settle(server)
            found[items] = measure(server, items, asked.seconds, asked.rounds)
            line = ", ".join(f"{name} {found[items][name]['per_s']:,.0f}/s (p50 {found[items][name]['p50_ms']:.2f} ms, "
                             f"p99 {found[items][name]['p99_ms']:.2f} ms)" for name in KINDS.values())
            print(f"{items:>12,} items: {line}, {found[items]['resident_mb']:.0f} MB", flush=True)
            (out / "growth.json").write_text(json.dumps(found, indent=1))
    finally:
        server.stop()
    (out / "growth.svg").write_text(report.curve(found, list(KINDS.values())))
    print(f"written to {out}/growth.json and growth.svg")


if __name__ == "__main__":
    sys.exit(main())
