"""stator check on what a killed server left, and on directories that were damaged."""

import pathlib
import random
import re
import shutil
import subprocess

import pytest
from patience import SLOWER
from restarting_server import create_table
from stator_process import StatorProcess, binary
from wire_client import WireClient

TABLE = {
    "TableName": "Checked",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind}
                             for name, kind in (("pk", "S"), ("sk", "N"), ("g", "S"), ("l", "S"))],
    "GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]}}],
    "LocalSecondaryIndexes": [{"IndexName": "ByL", "Projection": {"ProjectionType": "ALL"}, "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]}],
    "BillingMode": "PAY_PER_REQUEST",
}
ITEMS = 200


def check(directory):
    done = subprocess.run([binary(), "check", str(directory)], capture_output=True, text=True, timeout=120 * SLOWER)
    return done.returncode, done.stdout + done.stderr


def files_of(data, *suffixes):
    """Without those that belong to nothing: the server may be killed before it made a new file a part of its data."""
    left_over = re.findall("Note: file (\\S+) is no part of the data", check(data)[1])
    return [path for path in (data / "rocksdb").iterdir() if path.suffix in suffixes and path.name not in left_over]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """What a killed server left: some of it in files, the rest in the log."""
    directory = tmp_path_factory.mktemp("check") / "data"
    for part in range(2):
        process = StatorProcess("--data-dir", str(directory), "--durability", "sync")
        try:
            client = WireClient(process.port)
            if part == 0:
                create_table(client, TABLE)
                client.expect("UpdateTimeToLive", {"TableName": "Checked", "TimeToLiveSpecification": {
                    "Enabled": True, "AttributeName": "ttl"}})
            for i in range(ITEMS):
                item = {"pk": {"S": f"p{i % 7}"}, "sk": {"N": str(i)}, "n": {"N": str(part)}, "v": {"S": "v" * (i * 40)},
                        "ttl": {"N": "4000000000"}}
                if i % 2:
                    item["g"] = {"S": f"g{i % 5}"}
                if i % 3:
                    item["l"] = {"S": f"l{i}"}
                client.expect("PutItem", {"TableName": "Checked", "Item": item})
            for i in range(0, ITEMS, 10):
                client.expect("DeleteItem", {"TableName": "Checked", "Key": {"pk": {"S": f"p{i % 7}"}, "sk": {"N": str(i)}}})
            client.close()
        finally:
            process.kill()
    return directory


def test_what_a_killed_server_left_is_whole(data):
    before = {path: path.read_bytes() for path in pathlib.Path(data).rglob("*") if path.is_file()}
    code, text = check(data)
    assert code == 0, text
    assert f"1 table, {ITEMS - ITEMS // 10} items" in text
    assert "no problem found" in text
    assert {path: path.read_bytes() for path in pathlib.Path(data).rglob("*") if path.is_file()} == before


def test_damaged_files_are_named(data, tmp_path):
    chance = random.Random(1)
    files = files_of(data, ".sst")
    assert files
    for number, path in enumerate(files):
        copy = tmp_path / str(number)
        shutil.copytree(data, copy)
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content) // 2)] ^= 4  # data, which comes first
        (copy / "rocksdb" / path.name).write_bytes(content)
        code, text = check(copy)
        assert code == 1, text
        assert path.name in text, text


def test_a_damaged_log_is_named(data, tmp_path):
    logs = [path for path in files_of(data, ".log") if path.stat().st_size > 0]
    assert logs
    for number, path in enumerate(logs):
        copy = tmp_path / str(number)
        shutil.copytree(data, copy)
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 4
        (copy / "rocksdb" / path.name).write_bytes(content)
        code, text = check(copy)
        assert code == 1, text
        assert f"file {path.name}: the record at byte" in text, text
        # What comes before the damage was looked at all the same.
        assert "1 table" in text, text


def test_a_log_that_was_cut_off_is_whole(data, tmp_path):
    """A process that ends in the middle of a write leaves a part of a record that nobody was told of."""
    log = max((path for path in (data / "rocksdb").iterdir() if path.suffix == ".log" and path.stat().st_size > 0),
              key=lambda path: path.name)
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    (copy / "rocksdb" / log.name).write_bytes(log.read_bytes()[:-10])
    code, text = check(copy)
    assert code == 0, text
    assert "ends in the middle of a commit that was never acknowledged" in text


def test_files_that_belong_to_nothing_are_noted(data, tmp_path):
    """A file that was being written when the server was killed, and one that it had not removed yet."""
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    sst, log = files_of(data, ".sst")[0], files_of(data, ".log")[0]
    (copy / "rocksdb" / "999999.sst").write_bytes(sst.read_bytes()[:-100])
    (copy / "rocksdb" / "000001.log").write_bytes(log.read_bytes())
    code, text = check(copy)
    assert code == 0, text
    assert "Note: file 999999.sst is no part of the data" in text, text
    assert "Note: file 000001.log is no part of the data" in text, text
    with StatorProcess("--data-dir", str(copy)):
        pass
    assert not (copy / "rocksdb" / "999999.sst").exists()
    assert not (copy / "rocksdb" / "000001.log").exists()
    code, text = check(copy)
    assert code == 0 and "no part of the data" not in text, text


def test_a_left_over_file_that_a_backup_needs_is_looked_at(data, tmp_path):
    """A backup shares its files with the store, which may have done with one of them but not removed it yet."""
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    content = bytearray(files_of(data, ".sst")[0].read_bytes())
    content[len(content) // 3] ^= 4
    (copy / "rocksdb" / "999999.sst").write_bytes(content)
    (copy / "backups" / "b").mkdir(parents=True)
    (copy / "backups" / "b" / "999999.sst").hardlink_to(copy / "rocksdb" / "999999.sst")
    code, text = check(copy)
    assert code == 1, text
    assert "file backups/b/999999.sst: " in text, text


def test_missing_files_are_named(data, tmp_path):
    names = [path.name for path in files_of(data, ".sst", ".log")]
    names += ["CURRENT", (data / "rocksdb" / "CURRENT").read_text().strip()]
    for number, name in enumerate(names):
        copy = tmp_path / str(number)
        shutil.copytree(data, copy)
        (copy / "rocksdb" / name).unlink()
        if name.endswith(".log") and (data / "rocksdb" / name).stat().st_size == 0:
            continue  # nothing is missing
        code, text = check(copy)
        assert code == 1, (name, text)
        assert "Problem: The data directory" in text, text


def test_directories_that_are_none(tmp_path):
    code, text = check(tmp_path / "nothing")
    assert code == 2 and "holds no data of Stator" in text
    code, text = check(tmp_path)
    assert code == 2 and "holds no data of Stator" in text
    assert not list(tmp_path.iterdir())
    done = subprocess.run([binary(), "check"], capture_output=True, text=True, timeout=20 * SLOWER)
    assert done.returncode == 2 and "needs one data directory" in done.stderr
    done = subprocess.run([binary(), "check", "--help"], capture_output=True, text=True, timeout=20 * SLOWER)
    assert done.returncode == 0 and done.stdout.startswith("stator check DIRECTORY")


def test_a_directory_in_use_is_left_alone(data, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    with StatorProcess("--data-dir", str(copy)):
        code, text = check(copy)
        assert code == 2 and "in use by another process" in text
    assert check(copy)[0] == 0
