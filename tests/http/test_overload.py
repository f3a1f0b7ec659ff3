"""More than can be served: connections, slow clients, endless bodies, vanishing clients, bursts. What must hold is that
memory stays bounded, that time limits end what does not end by itself, and that a well-behaved client is served."""

import concurrent.futures
import json
import os
import resource
import signal
import socket
import struct
import threading
import time

import boto3
import botocore.config
import pytest
from conftest import head, request
from patience import MEMORY_IS_ITS_OWN, SLOWER

CONNECTIONS = 10_000
MB = 1 << 20
TABLE = {
    "TableName": "Tab",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def resident_bytes(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def open_sockets(server):
    count = 0
    for name in os.listdir(f"/proc/{server.process.pid}/fd"):
        try:
            count += os.readlink(f"/proc/{server.process.pid}/fd/{name}").startswith("socket:")
        except OSError:
            pass  # closed meanwhile
    return count


def wait_until(holds, seconds=60 * SLOWER):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def assert_served(server):
    """A client that behaves gets its answer."""
    with server.connect(timeout=60 * SLOWER) as client:
        assert client.send(request()).answer().status == 200


def put(key, size=10):
    return request("PutItem", json.dumps({"TableName": "Tab", "Item": {"pk": {"S": key}, "v": {"S": "v" * size}}}))


def create_table(server, items=0, size=0):
    with server.connect(timeout=60 * SLOWER) as client:
        assert client.send(request("CreateTable", json.dumps(TABLE))).answer().status == 200
        for i in range(items):
            assert client.send(put(str(i), size)).answer().status == 200


def metric(server, name):
    with server.connect(timeout=60 * SLOWER) as client:
        page = client.send(b"GET /_stator/metrics HTTP/1.1\r\n\r\n").answer().body.decode()
    return next(float(line.split()[1]) for line in page.splitlines() if line.startswith(name + " "))


@pytest.fixture
def connections():
    """As many as were asked for, unless this process may not open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 200
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
    yield allowed - 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ten_thousand_connections(start, connections):
    server = start("--max-connections", str(connections + 10), "--header-timeout-ms", "600000")
    before = resident_bytes(server)
    sockets_before = open_sockets(server)
    clients = [server.connect(timeout=60 * SLOWER) for _ in range(connections)]
    try:
        for client in clients:
            client.send(request())
        for client in clients:
            assert client.answer().status == 200
        assert_served(server)
        # A connection has a buffer of 32 KB, of which it has touched little, and not much else.
        if MEMORY_IS_ITS_OWN:
            assert resident_bytes(server) - before < connections * 32 * 1024
    finally:
        for client in clients:
            client.close()
    wait_until(lambda: open_sockets(server) <= sockets_before)


def test_slow_writers_and_slow_readers_are_cut_off_and_others_served(start):
    server = start("--header-timeout-ms", "1000", "--transfer-timeout-ms", "1000")
    before = open_sockets(server)
    create_table(server, items=10, size=20_000)
    heads = [server.connect() for _ in range(30)]
    bodies = [server.connect() for _ in range(30)]
    chunks = [server.connect() for _ in range(30)]
    readers = [server.connect() for _ in range(10)]
    for client in bodies:
        client.send(head(Content_Length=100_000) + b"\r\n")
    for client in chunks:
        client.send(head(Transfer_Encoding="chunked") + b"\r\nfffff\r\n")
    for client in readers:  # asks for far more than sockets hold, and takes hardly any
        client.send(request("Scan", '{"TableName":"Tab"}') * 100)
    wait_until(lambda: metric(server, "stator_connections_accepted_total") > 100)
    wire = head("ListTables", X_Filler="x" * 1000)
    deadline = time.monotonic() + 60 * SLOWER
    step = 0
    while open_sockets(server) > before:
        assert time.monotonic() < deadline, "slow clients are still connected"
        for client in heads + bodies + chunks:
            try:
                client.sock.send(wire[step : step + 1])
            except OSError:
                pass  # cut off
        for client in readers:
            try:
                client.sock.recv(1)
            except OSError:
                pass
        assert_served(server)
        step += 1
        time.sleep(0.2)
    for client in heads + bodies + chunks + readers:
        client.close()


def test_endless_bodies_are_bounded_in_memory(start):
    server = start("--request-memory-mb", "64", "--transfer-timeout-ms", "5000")
    before = resident_bytes(server)
    largest = [0]
    stop = threading.Event()

    def send_without_end(chunked):
        piece = b"x" * 60_000
        try:
            with server.connect(timeout=60 * SLOWER) as client:
                if chunked:
                    client.send(head(Transfer_Encoding="chunked") + b"\r\n")
                    piece = b"%x\r\n" % len(piece) + piece + b"\r\n"
                else:
                    client.send(head(Content_Length=15 * MB) + b"\r\n")
                for _ in range(220):  # 13 MB, and then nothing
                    client.send(piece)
                stop.wait(30)
        except OSError:
            pass  # answered 413 or 503, and closed

    def watch():
        while not stop.is_set():
            largest[0] = max(largest[0], resident_bytes(server))
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    senders = [threading.Thread(target=send_without_end, args=(i % 2 == 0,)) for i in range(40)]
    for thread in [watcher, *senders]:
        thread.start()
    for _ in range(20):
        assert_served(server)
    wait_until(lambda: metric(server, "stator_requests_refused_total") > 0)
    stop.set()
    for thread in [watcher, *senders]:
        thread.join()
    # 40 bodies of 13 MB would be 520 MB. A growing body is copied, so it is there twice for a moment.
    if MEMORY_IS_ITS_OWN:
        assert largest[0] - before < 2 * 64 * MB + 64 * MB
    assert_served(server)


def test_clients_that_vanish_leave_nothing_behind(start):
    server = start()
    before = open_sockets(server)
    create_table(server, items=10, size=90_000)
    scan = request("Scan", '{"TableName":"Tab"}')
    wires = [scan, scan[:-5], head(Content_Length=1000) + b"\r\n{", b"POST / HT", request() * 3]
    for i in range(500):
        client = server.connect()
        client.send(wires[i % len(wires)])
        # A reset instead of an end, as when a machine disappears and its address is given to another.
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    wait_until(lambda: open_sockets(server) <= before)
    assert_served(server)


def test_a_burst_is_served_as_far_as_there_is_room_and_turned_away_at_once_beyond(start, tmp_path):
    """Ten times as many writes at one moment as may be under way: each waits for the disk while the others arrive."""
    server = start("--max-requests", "20", "--data-dir", str(tmp_path / "data"), in_memory=False)
    create_table(server)
    before = resident_bytes(server)
    clients = [server.connect(timeout=60 * SLOWER) for _ in range(200)]
    server.process.send_signal(signal.SIGSTOP)
    for i, client in enumerate(clients):
        client.send(put(str(i)))
    server.process.send_signal(signal.SIGCONT)
    answers = [client.answer() for client in clients]
    statuses = [answer.status for answer in answers]
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= 20
    for answer in answers:
        if answer.status == 503:
            error = json.loads(answer.body)
            assert error["__type"] == "com.amazon.coral.service#ServiceUnavailableException"
            assert answer["Content-Type"] == "application/x-amz-json-1.0"
            assert answer["Connection"] == "keep-alive"
    assert metric(server, "stator_requests_turned_away_total") == statuses.count(503)
    assert metric(server, "stator_requests_max") == 20
    # What was acknowledged is there, and nothing else.
    with server.connect(timeout=60 * SLOWER) as client:
        page = json.loads(client.send(request("Scan", '{"TableName":"Tab"}')).answer().body)
    assert {item["pk"]["S"] for item in page["Items"]} == {str(i) for i, s in enumerate(statuses) if s == 200}
    if MEMORY_IS_ITS_OWN:
        assert resident_bytes(server) - before < 64 * MB
    for client in clients:
        client.close()


def test_the_sdk_tries_again_what_was_turned_away(start, tmp_path):
    server = start("--max-requests", "1", "--data-dir", str(tmp_path / "data"), in_memory=False)
    create_table(server)
    dynamodb = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{server.port}",
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=botocore.config.Config(
            retries={"mode": "standard", "total_max_attempts": 12}, max_pool_connections=16, read_timeout=60 * SLOWER
        ),
    )

    def put_item(i):
        return dynamodb.put_item(TableName="Tab", Item={"pk": {"S": str(i)}})["ResponseMetadata"]["RetryAttempts"]

    server.process.send_signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        retries = [pool.submit(put_item, i) for i in range(32)]
        time.sleep(0.5)  # until all of the first have been sent; if not, there is less to turn away
        server.process.send_signal(signal.SIGCONT)
        retries = [retry.result() for retry in retries]
    assert sum(retries) == metric(server, "stator_requests_turned_away_total")
    assert dynamodb.scan(TableName="Tab", Select="COUNT")["Count"] == 32
