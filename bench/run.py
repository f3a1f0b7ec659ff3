#!/usr/bin/env python3
"""Measures Stator beside nginx with a fixed answer (the limit) and every peer that is there, interleaved in one run.

    bench/run.py [--only REGEX] [--seconds 3] [--rounds 3] [--out build/bench]

Prints one table, and writes it as results.json and results.svg. The load comes from wrk, one thread of it.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import report
from servers import ROOT, Stator, all_servers
from workloads import WORKLOADS, write_requests

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20261115


class Client:
    """Just enough of one to create tables and load items."""

    HEADERS = {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": "20261115T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=bench/20261115/us-east-1/dynamodb/aws4_request, "
                         "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0123456789abcdef" * 4,
    }

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(self, operation, request):
        body = json.dumps(request, separators=(",", ":"))
        self.connection.request("POST", "/", body.encode(),
                                {**self.HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"})
        response = self.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{operation}: {response.status} {answer[:500]!r}")
        return answer


def write_batches(port, batches):
    client = Client(port)
    for batch in batches:
        client.call("BatchWriteItem", {"RequestItems": {
            table: [{"PutRequest": {"Item": item}} for t, item in batch if t == table] for table in {t for t, _ in batch}}})


def load(server, workload):
    client = Client(server.port)
    for table in workload.tables:
        client.call("CreateTable", table)
        deadline = time.monotonic() + 30
        while b'"ACTIVE"' not in client.call("DescribeTable", {"TableName": table["TableName"]}):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{table['TableName']} does not become active")
            time.sleep(0.01)
    batches, batch, bytes_in = [], [], 0
    for table, item in workload.load(random.Random(SEED)):
        size = sum(len(str(value)) for value in item.values())
        if len(batch) == 25 or bytes_in + size > 4_000_000:
            batches.append(batch)
            batch, bytes_in = [], 0
        batch.append((table, item))
        bytes_in += size
    batches.append(batch)
    workers = 4 if len(batches) > 2000 else 1
    if workers == 1:
        write_batches(server.port, batches)
    else:
        with multiprocessing.Pool(workers) as pool:
            pool.starmap(write_batches, [(server.port, batches[w::workers]) for w in range(workers)])
    for operation, request in workload.after:
        client.call(operation, request)


def wrk(server, script, connections, seconds, **environment):
    """What wrk measured with one of the scripts here, which are told the rest by their environment."""
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency", "--timeout", "20s", "-s",
         str(HERE / script), f"http://127.0.0.1:{server.port}/"],
        env={**os.environ, "BENCH_HOME": str(HERE), **{name: str(value) for name, value in environment.items()}},
        capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


def drive(server, requests_file, connections, seconds):
    """One run of wrk against one server."""
    before, commits = server.cpu_s(), server.commits()
    result = wrk(server, "load.lua", connections, seconds, BENCH_REQUESTS=requests_file)
    cpu_s = server.cpu_s() - before
    committed, flushes = (after - earlier for after, earlier in zip(server.commits(), commits))
    if result["failed"] or result["lost"]:
        print(f"  {server.name}: {result['failed']} failed, {result['lost']} lost of {result['requests']}", file=sys.stderr)
    return {
        "per_s": result["requests"] / (result["duration_us"] / 1e6),
        "p50_ms": result["p50_us"] / 1000, "p99_ms": result["p99_us"] / 1000,
        "cpu_s_per_million": cpu_s / max(1, result["requests"]) * 1e6,
        "changes_per_commit": committed / flushes if flushes else 0,
        "failed": result["failed"] + result["lost"], "resident_mb": server.resident_mb(),
    }


def drive_at(server, first, connections, per_s, seconds):
    """A steady rate of one request, whatever the answers take: h2load's."""
    operation, body = first
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        data, log = os.path.join(directory, "body"), os.path.join(directory, "log")
        pathlib.Path(data).write_text(json.dumps(body))
        before = server.cpu_s()
        headers = {**Client.HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        subprocess.run(["h2load", "--h1", "-t1", f"-c{connections}", f"--rps={per_s / connections:.0f}",
                        f"-D{max(1, round(seconds))}", "-d", data, "--log-file", log,
                        *(part for name, value in headers.items() for part in ("-H", f"{name}: {value}")),
                        f"http://127.0.0.1:{server.port}/"], capture_output=True, check=True)
        cpu_s = server.cpu_s() - before
        lines = [line.split("\t") for line in pathlib.Path(log).read_text().splitlines()]
    times_us = sorted(int(line[2]) for line in lines)
    return {
        "per_s": len(times_us) / max(1, round(seconds)),
        "p50_ms": times_us[len(times_us) // 2] / 1000, "p99_ms": times_us[len(times_us) * 99 // 100] / 1000,
        "cpu_s_per_million": cpu_s / len(times_us) * 1e6, "changes_per_commit": 0,
        "failed": sum(line[1] != "200" for line in lines), "resident_mb": server.resident_mb(),
    }


def half_of(workload, so_far):
    """Half of what we reached in another workload in this run, in requests a second."""
    whole = next((done for done in so_far if done["name"] == workload.half_of), None)
    return whole["servers"]["stator memory"]["per_s"] / 2 if whole else 20_000


def measure(workload, seconds, rounds, so_far):
    if workload.half_of and not shutil.which("h2load"):
        print(f"  {workload.name}: no h2load", file=sys.stderr)
        return {}
    servers = [server for server in all_servers()
               if (workload.limit or not server.is_limit)
               and (workload.peers or server.is_ours or server.is_limit)
               and (workload.durable or not (server.is_ours and server.is_durable))]
    seconds = workload.seconds or seconds
    started = []
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".requests") as file:
            first = write_requests(file.name, workload, SEED)
            answer = b"{}"
            for server in servers:
                if server.is_limit:
                    continue
                started.append(server.start())
                try:
                    load(server, workload)
                except RuntimeError as refusal:
                    print(f"  {server.name} cannot do it: {refusal}", file=sys.stderr)
                    started.remove(server)
                    server.stop()
                    continue
                if server.is_ours and answer == b"{}":
                    answer = Client(server.port).call(*first)
            for server in servers:
                if server.is_limit:
                    server.answer_with(answer)
                    started.insert(0, server)
            runs = {server.name: [] for server in started}
            for number in range(rounds):
                # Turned around each time, so that nobody is always the first after a pause.
                for server in started if number % 2 == 0 else reversed(started):
                    runs[server.name].append(
                        drive_at(server, first, workload.connections, half_of(workload, so_far), seconds)
                        if workload.half_of else drive(server, file.name, workload.connections, seconds))
    finally:
        for server in started:
            server.stop()
    return {name: {field: statistics.median(run[field] for run in results) for field in results[0]}
            for name, results in runs.items()}


def time_start(name, arguments):
    """Seconds to the first answer, and MB then."""
    server = Stator(name, *arguments)
    server.prepare()
    began = time.perf_counter()
    server.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("GET", "/")
        connection.getresponse().read()
        return time.perf_counter() - began, server.resident_mb()
    finally:
        server.stop()


def facts():
    """Start-up, idle memory and size. RocksDB by itself opens a directory in turns with the server."""
    found = {}
    raw = ROOT / "build" / "bench_raw"

    def ask(*arguments):
        return float(subprocess.run([raw, *arguments], capture_output=True, text=True, check=True).stdout)

    opened = []
    for name, arguments in (("memory", ("--in-memory",)), ("durable", ())):
        times = []
        for _ in range(21):
            took, idle = time_start(name, arguments)
            times.append(took)
            if name == "durable" and raw.exists():
                with tempfile.TemporaryDirectory(prefix="bench-") as directory:
                    opened.append(ask("open", os.path.join(directory, "raw")))
        found[f"start-up to first answer, {name} (ms)"] = statistics.median(times) * 1000
        found[f"idle memory, {name} (MB)"] = idle
    if raw.exists():
        found["RocksDB's own open of a new directory (ms)"] = statistics.median(opened)
        found["RocksDB's iterator (rows/s)"] = ask("scan", "1000000")
    with tempfile.NamedTemporaryFile() as stripped:
        binary = os.environ.get("STATOR_BINARY", str(ROOT / "build" / "stator"))
        if subprocess.run(["strip", "-o", stripped.name, binary], check=False).returncode == 0:
            found["stripped binary (MB)"] = os.path.getsize(stripped.name) / 1e6
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="workloads whose name matches")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", default=str(ROOT / "build" / "bench"))
    asked = parser.parse_args()
    out = pathlib.Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    results = {"machine": {"cores": os.cpu_count(), "kernel": platform.release()}, "seconds": asked.seconds,
               "rounds": asked.rounds, "facts": facts() if not asked.only else {}, "workloads": []}
    print(report.heading())
    for workload in WORKLOADS:
        if not re.search(asked.only, workload.name):
            continue
        measured = measure(workload, asked.seconds, asked.rounds, results["workloads"])
        results["workloads"].append({"name": workload.name, "connections": workload.connections,
                                     "items_each": workload.items_each, "versus": workload.versus, "servers": measured})
        print(report.lines(results["workloads"][-1], results["workloads"]), flush=True)
        (out / "results.json").write_text(json.dumps(results, indent=1))
    print(report.fact_lines(results["facts"]))
    (out / "results.svg").write_text(report.picture(results))
    print(f"written to {out}/results.json and results.svg")


if __name__ == "__main__":
    main()
