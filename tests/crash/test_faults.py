"""Disks that are full and files that are damaged or gone, under the whole server: it says what is wrong, acknowledges
nothing that it did not keep, serves nothing that is damaged, and starts again when the cause is gone."""

import http.client
import pathlib
import random
import resource
import shutil
import subprocess

import pytest
from patience import SLOWER
from restarting_server import create_table, scan
from stator_process import StatorProcess, binary
from wire_client import WireClient

TABLE = {
    "TableName": "Faults",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "group")],
    "GlobalSecondaryIndexes": [{"IndexName": "ByGroup", "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                                "Projection": {"ProjectionType": "KEYS_ONLY"}}],
    "BillingMode": "PAY_PER_REQUEST",
}
ITEMS = 300


def key(i):
    return {"pk": {"S": f"item-{i}"}}


def item(i):
    # Nothing that compresses, so that every item has its place in the file.
    return {**key(i), "group": {"S": f"group-{i % 10}"}, "v": {"S": random.Random(i).randbytes(400).hex()}}


def put(client, i):
    return client.call("PutItem", {"TableName": "Faults", "Item": item(i)})


def ready(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20 * SLOWER)
    connection.request("GET", "/_stator/ready")
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def check(directory):
    done = subprocess.run([binary(), "check", str(directory)], capture_output=True, text=True, timeout=120 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr


def refusal(directory, *more):
    """What a server says that does not start."""
    done = subprocess.run([binary(), "--port", "0", "--data-dir", str(directory), *more], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60 * SLOWER)
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    return done.stderr.splitlines()[-1]


def assert_internal_error(status, answer):
    assert (status, answer["__type"]) == (500, "com.amazonaws.dynamodb.v20120810#InternalServerError"), answer
    assert answer["message"] == "Internal server error"


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_a_disk_that_is_full(tmp_path, durability):
    """A limit on the size of files is a disk that takes no more: the log cannot grow."""
    directory = tmp_path / "data"
    arguments = ("--data-dir", str(directory), "--durability", durability)
    server = StatorProcess(*arguments)
    try:
        client = WireClient(server.port)
        create_table(client, TABLE)
        for i in range(50):
            assert put(client, i)[0] == 200
        assert ready(server.port)[0] == 200
        log_bytes = max(path.stat().st_size for path in (directory / "rocksdb").glob("*.log"))
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (log_bytes + 50_000, resource.RLIM_INFINITY))
        acknowledged = 50
        while True:
            status, answer = put(client, acknowledged)
            if status != 200:
                break
            acknowledged += 1
            assert acknowledged < 5000, "the disk was never full"
        assert_internal_error(status, answer)

        # Nothing more is written, of whatever kind; what is there can be read.
        assert_internal_error(*put(client, 0))
        assert_internal_error(*client.call("DeleteItem", {"TableName": "Faults", "Key": key(0)}))
        assert_internal_error(*client.call("TransactWriteItems", {"TransactItems": [
            {"Delete": {"TableName": "Faults", "Key": key(1)}}, {"Delete": {"TableName": "Faults", "Key": key(2)}}]}))
        assert_internal_error(*client.call("CreateTable", {**TABLE, "TableName": "Another"}))
        found = {one["pk"]["S"]: one for one in scan(client, "Faults", ConsistentRead=True)}
        assert found == {f"item-{i}": item(i) for i in range(acknowledged)}
        assert len(scan(client, "Faults", IndexName="ByGroup")) == acknowledged
        status, reason = ready(server.port)
        assert status == 503 and "cannot be written" in reason, reason
        assert "Writes stop" in server.log()
        client.close()
    finally:
        server.kill()

    # There is space again. The write that failed was not acknowledged and may be there all the same.
    check(directory)
    with StatorProcess(*arguments) as server:
        client = WireClient(server.port)
        found = {one["pk"]["S"]: one for one in scan(client, "Faults", ConsistentRead=True)}
        wanted = {f"item-{i}": item(i) for i in range(acknowledged)}
        assert found in (wanted, {**wanted, f"item-{acknowledged}": item(acknowledged)})
        for i in range(acknowledged, acknowledged + 20):
            assert put(client, i)[0] == 200
        assert len(scan(client, "Faults")) == acknowledged + 20
        client.close()
    check(directory)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MB, where the system lets one be made."""
    path = tmp_path / "disk"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(path)], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted: {made.stderr.strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_file_system_that_is_full(small_disk):
    directory = small_disk / "data"
    arguments = ("--data-dir", str(directory), "--durability", "sync")
    server = StatorProcess(*arguments)
    try:
        client = WireClient(server.port)
        create_table(client, TABLE)
        acknowledged = 0
        while put(client, acknowledged)[0] == 200:
            acknowledged += 1
            assert acknowledged < 10_000, "the disk was never full"
        assert acknowledged > 100
        for _ in range(20):
            assert_internal_error(*put(client, 0))
        assert len(scan(client, "Faults", ConsistentRead=True)) == acknowledged
        assert "No space left on device" in server.log()
        assert len(server.log().splitlines()) < 200, "a full disk does not fill the log"
        client.close()
    finally:
        server.kill()
    # It needs some space to start.
    assert "No space left on device" in refusal(directory)
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    check(directory)
    with StatorProcess(*arguments) as server:
        client = WireClient(server.port)
        found = {one["pk"]["S"]: one for one in scan(client, "Faults", ConsistentRead=True)}
        wanted = {f"item-{i}": item(i) for i in range(acknowledged)}
        assert found in (wanted, {**wanted, f"item-{acknowledged}": item(acknowledged)})
        assert put(client, 0)[0] == 200
        client.close()
    check(directory)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """What a killed server left: half of it in files, the rest in the log."""
    directory = tmp_path_factory.mktemp("faults") / "data"
    for part in range(2):
        process = StatorProcess("--data-dir", str(directory))
        try:
            client = WireClient(process.port)
            if part == 0:
                create_table(client, TABLE)
            for i in range(part * ITEMS // 2, (part + 1) * ITEMS // 2):
                assert put(client, i)[0] == 200
            client.close()
        finally:
            process.kill()
    return directory


@pytest.fixture
def copy(data, tmp_path):
    shutil.copytree(data, tmp_path / "copy")
    return tmp_path / "copy"


def files(directory, suffix):
    found = [path for path in (directory / "rocksdb").iterdir() if path.name.endswith(suffix) and path.stat().st_size]
    assert found, suffix
    return sorted(found)


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 16
    path.write_bytes(content)


def test_a_damaged_data_file_is_never_served(copy):
    largest = max(files(copy, ".sst"), key=lambda path: path.stat().st_size)
    whole = largest.read_bytes()
    flip(largest, len(whole) // 3)
    with StatorProcess("--data-dir", str(copy)) as server:
        client = WireClient(server.port)
        failed = 0
        for i in range(ITEMS):
            status, answer = client.call("GetItem", {"TableName": "Faults", "Key": key(i)})
            if status == 200:
                assert answer["Item"] == item(i)
            else:
                assert_internal_error(status, answer)
                failed += 1
        assert 0 < failed < ITEMS / 2, "one block is damaged, the others are not"
        assert_internal_error(*client.call("Scan", {"TableName": "Faults"}))
        assert "Corruption" in server.log()
        client.close()
    # With the file as it was, everything is there.
    damaged = {path.name for path in (copy / "rocksdb").glob("*.sst")}
    assert largest.name in damaged
    largest.write_bytes(whole)
    check(copy)
    with StatorProcess("--data-dir", str(copy)) as server:
        client = WireClient(server.port)
        assert {one["pk"]["S"]: one for one in scan(client, "Faults")} == {f"item-{i}": item(i) for i in range(ITEMS)}
        client.close()


@pytest.mark.parametrize("suffix, at", [(".log", 0.3), (".log", 0.9), ("CURRENT", 0), ("", 0.5)])
def test_damage_that_keeps_it_from_starting(data, copy, suffix, at):
    if suffix:
        path = files(copy, suffix)[-1]
    else:
        path = next(path for path in (copy / "rocksdb").iterdir() if path.name.startswith("MANIFEST"))
    whole = path.read_bytes()
    flip(path, int(len(whole) * at))
    said = refusal(copy)
    assert said.startswith(f"stator: The data directory '{copy}' "), said
    assert "is damaged: " in said
    assert path.name.split("-")[0] in said, "it says which file"
    # It did not touch anything: with the file as it was, everything is there.
    path.write_bytes(whole)
    check(copy)
    with StatorProcess("--data-dir", str(copy)) as server:
        client = WireClient(server.port)
        assert len(scan(client, "Faults")) == ITEMS
        client.close()


@pytest.mark.parametrize("suffix", [".sst", ".log", "CURRENT", "MANIFEST"])
def test_a_file_that_is_gone(copy, suffix):
    if suffix == "MANIFEST":
        path = next(path for path in (copy / "rocksdb").iterdir() if path.name.startswith(suffix))
    else:
        path = files(copy, suffix)[-1]
    content = path.read_bytes()
    path.unlink()
    said = refusal(copy)
    assert said.startswith(f"stator: The data directory '{copy}' "), said
    assert "is damaged: " in said
    assert path.name in said, "it says which file"
    path.write_bytes(content)
    with StatorProcess("--data-dir", str(copy)) as server:
        client = WireClient(server.port)
        assert len(scan(client, "Faults")) == ITEMS
        client.close()


def test_what_is_before_a_damage_of_the_log_opens_if_less_is_promised(copy):
    path = files(copy, ".log")[-1]
    flip(path, int(path.stat().st_size * 0.6))
    refusal(copy)
    with StatorProcess("--data-dir", str(copy), "--durability", "os") as server:
        client = WireClient(server.port)
        found = {one["pk"]["S"]: one for one in scan(client, "Faults")}
        # A prefix of what was written.
        assert ITEMS / 2 < len(found) < ITEMS
        assert found == {f"item-{i}": item(i) for i in range(len(found))}
        assert "is damaged, and what was written after that is lost" in server.log()
        client.close()
    check(copy)


def test_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be used" in refusal(tmp_path / "file" / "data")
    assert "cannot be used" in refusal(tmp_path / "file")
    assert pathlib.Path(tmp_path / "file").read_text() == ""
