"""A server on a data directory that is killed and started again while clients use it."""

import http.client
import random
import subprocess
import threading
import time

from patience import SLOWER
from stator_process import StatorProcess, binary
from wire_client import WireClient

START_TIMEOUT_S = 60 * SLOWER
CONNECTION_LOST = (OSError, http.client.HTTPException)


class RestartingServer:
    """Clients of any thread ask connect() for the server of the moment; one thread restarts it."""

    def __init__(self, data_dir, *more):
        self._arguments = ("--data-dir", str(data_dir), "--durability", "sync", *more)
        self._changed = threading.Condition()
        self._process = None
        self._start()

    def _start(self):
        process = StatorProcess(*self._arguments)
        with self._changed:
            self._process = process
            self._changed.notify_all()

    def _take(self):
        with self._changed:
            process, self._process = self._process, None
        assert process.running(), f"the server ended by itself:\n{process.log()}"
        return process

    def connect(self):
        """A new connection; waits while the server is down."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._process is not None, START_TIMEOUT_S):
                raise AssertionError("the server did not come back")
            return WireClient(self._process.port)

    @property
    def port(self):
        """Of the server that was started last, for the thread that restarts it."""
        return self._process.port

    def kill(self):
        self._take().kill()

    def kill_and_restart(self, chance=random):
        """kill -9, now and then once more while the server recovers, and a start on what is left."""
        self.kill()
        if chance.random() < 0.3:
            self._interrupt_a_start(chance.uniform(0, 0.1))
        self._start()

    def stop_and_restart(self):
        assert self._take().stop() == 0
        self._start()

    def _interrupt_a_start(self, delay_s):
        process = subprocess.Popen([binary(), "--port", "0", *self._arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay_s)  # The moment of the kill, drawn at random.
        process.kill()
        process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process is not None:
            self._process.kill()


def create_table(client, table):
    client.expect("CreateTable", table)
    deadline = time.monotonic() + 20 * SLOWER
    while client.expect("DescribeTable", {"TableName": table["TableName"]})["Table"]["TableStatus"] != "ACTIVE":
        assert time.monotonic() < deadline, f"{table['TableName']} stays inactive"


def scan(client, table_name, **more):
    items, start = [], {}
    while True:
        answer = client.expect("Scan", {"TableName": table_name, **more, **start})
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return items
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def run_together(*jobs, timeout_s=120 * SLOWER):
    """Runs every job on a thread of its own, all at once; the first failure of one is raised here."""
    failures = []
    start = threading.Barrier(len(jobs))

    def run(job):
        try:
            start.wait(30)
            job()
        except BaseException as failure:  # noqa: BLE001: raised again below
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout_s
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    if failures:
        raise failures[0]
    assert not any(thread.is_alive() for thread in threads), f"still busy after {timeout_s} s: a deadlock?"
