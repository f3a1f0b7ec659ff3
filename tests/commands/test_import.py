"""stator import: what people have becomes a table."""

import gzip
import json
import signal
import subprocess
import time

import boto3
import pytest

from stator_process import StatorProcess, binary

ITEMS = [{"id": {"S": f"{number:05}"}, "n": {"N": str(number)}, "m": {"M": {"x": {"L": [{"BOOL": True}]}}}}
         for number in range(1000)]


@pytest.fixture
def load(stator, endpoint):
    def run(source, *more, table="Things", code=0):
        given = ["--table", table] if table else []
        result = stator("import", "--endpoint", endpoint, *given, "--from", source, "--quiet", *more)
        assert result.returncode == code, result.stdout + result.stderr
        return result

    return run


def lines(items, wrap=True):
    return "".join(json.dumps({"Item": item} if wrap else item, separators=(",", ":")) + "\n" for item in items)


@pytest.mark.parametrize("name, text", [
    ("items.json", lines(ITEMS)),
    ("spaced.json", "\n\n".join(json.dumps({"Item": item}) for item in ITEMS)),
    ("typed.jsonl", lines(ITEMS, wrap=False)),
    ("items.json.gz", gzip.compress(lines(ITEMS).encode())),
], ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "")
def test_dynamodb_json(load, items_of, tmp_path, name, text):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    result = load(tmp_path / name, "--key", "id:S")
    assert "created the table Things\nimported 1,000 items into Things in " in result.stdout
    assert items_of("Things") == sorted(ITEMS, key=repr)
    assert not (tmp_path / "stator-import-Things.state").exists()


def test_plain_json_lines(load, items_of, tmp_path):
    (tmp_path / "plain.jsonl").write_text(
        '{"id": "a", "big": 12345678901234567890.5, "list": [null, {"k": "ž"}]}\n{"id":"b","ok":false}\n')
    load(tmp_path / "plain.jsonl", "--key", "id:S")
    assert items_of("Things") == [
        {"id": {"S": "a"}, "big": {"N": "12345678901234567890.5"},
         "list": {"L": [{"NULL": True}, {"M": {"k": {"S": "ž"}}}]}},
        {"id": {"S": "b"}, "ok": {"BOOL": False}}]


def test_csv(load, items_of, tmp_path, create_table):
    create_table("Things", "id", "n:N")
    (tmp_path / "rows.csv").write_text('id,n,text\na,1,"x, ""y""\nz"\nb,-2.5,\n')
    load(tmp_path / "rows.csv")
    assert items_of("Things") == [
        {"id": {"S": "a"}, "n": {"N": "1"}, "text": {"S": 'x, "y"\nz'}},
        {"id": {"S": "b"}, "n": {"N": "-2.5"}, "text": {"S": ""}}]


def test_a_folder_of_files(load, items_of, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for part in range(5):
        (folder / f"{part}.json.gz").write_bytes(gzip.compress(lines(ITEMS[part::5]).encode()))
    load(folder, "--key", "id:S")
    assert items_of("Things") == sorted(ITEMS, key=repr)


def write_aws_export(root, items, output_format="DYNAMODB_JSON", prefix="backups/"):
    """The layout that AWS writes, with two data files."""
    export = root / prefix / "AWSDynamoDB" / "01693685827463-2d8752fd"
    (export / "data").mkdir(parents=True)
    manifest = ""
    for name, part in (("asdl123dasas7mndilrdyi3z2a", items[::2]), ("b7jkqzqbcq7z5ldhsyuqc5l2ta", items[1::2])):
        (export / "data" / f"{name}.json.gz").write_bytes(gzip.compress(lines(part).encode()))
        manifest += json.dumps({
            "itemCount": len(part), "md5Checksum": "sQMSpEILNgoQmarvDFonGQ==", "etag": "af83d6f217c19b8b0fff8023d8ca4716-1",
            "dataFileS3Key": f"{prefix}AWSDynamoDB/01693685827463-2d8752fd/data/{name}.json.gz"}) + "\n"
    (export / "manifest-files.json").write_text(manifest)
    (export / "manifest-summary.json").write_text(json.dumps({
        "version": "2020-06-30", "exportArn": "arn:aws:dynamodb:us-east-1:123456789012:table/Things/export/01693685827463-2d8752fd",
        "startTime": "2023-09-02T20:17:07.463Z", "endTime": "2023-09-02T20:22:07.463Z",
        "tableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/Things", "tableId": "12345a12-abcd-123a-ab12-1234abc12345",
        "exportTime": "2023-09-02T20:17:07.463Z", "s3Bucket": "bucket", "s3Prefix": prefix or None,
        "s3SseAlgorithm": "AES256", "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"{prefix}AWSDynamoDB/01693685827463-2d8752fd/manifest-files.json",
        "billedSizeBytes": 0, "itemCount": len(items), "outputFormat": output_format}))
    return export


@pytest.mark.parametrize("below", ["", "backups/AWSDynamoDB/01693685827463-2d8752fd"], ids=["bucket", "export"])
def test_an_export_of_aws(load, items_of, tmp_path, create_table, below):
    write_aws_export(tmp_path / "bucket", ITEMS)
    create_table("Things", "id")
    load(tmp_path / "bucket" / below)
    assert items_of("Things") == sorted(ITEMS, key=repr)


def test_an_export_whose_data_file_is_missing(load, tmp_path, create_table):
    export = write_aws_export(tmp_path / "bucket", ITEMS)
    (export / "data" / "asdl123dasas7mndilrdyi3z2a.json.gz").unlink()
    create_table("Things", "id")
    assert "lacks its data file" in load(tmp_path / "bucket", code=1).stderr


def test_ion_is_refused_clearly(load, tmp_path, create_table):
    write_aws_export(tmp_path / "bucket", ITEMS, output_format="ION")
    create_table("Things", "id")
    assert "Ion format, which cannot be read: export it as DYNAMODB_JSON" in load(tmp_path / "bucket", code=1).stderr


def test_an_incremental_export_puts_and_deletes(load, items_of, tmp_path, create_table, client):
    create_table("Things", "id")
    for name in ("gone", "changed"):
        client.put_item(TableName="Things", Item={"id": {"S": name}})
    (tmp_path / "changes.json").write_text(
        '{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"id":{"S":"changed"}},'
        '"NewImage":{"id":{"S":"changed"},"v":{"N":"2"}},"OldImage":{"id":{"S":"changed"}}}\n'
        '{"Metadata":{"WriteTimestampMicros":{"N":"2"}},"Keys":{"id":{"S":"gone"}},"OldImage":{"id":{"S":"gone"}}}\n')
    load(tmp_path / "changes.json")
    assert items_of("Things") == [{"id": {"S": "changed"}, "v": {"N": "2"}}]


MODEL = {
    "ModelName": "Shop", "ModelMetadata": {"Author": "a", "Version": "3.0"},
    "DataModel": [
        {"TableName": "Customers",
         "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
                           "SortKey": {"AttributeName": "SK", "AttributeType": "S"}},
         "NonKeyAttributes": [{"AttributeName": "GSI1PK", "AttributeType": "S"}],
         "GlobalSecondaryIndexes": [
             {"IndexName": "GSI1", "KeyAttributes": {"PartitionKey": {"AttributeName": "GSI1PK", "AttributeType": "S"}},
              "Projection": {"ProjectionType": "ALL"}}],
         "TableData": [{"PK": {"S": "C1"}, "SK": {"S": "P"}, "GSI1PK": {"S": "x"}}, {"PK": {"S": "C2"}, "SK": {"S": "P"}}]},
        {"TableName": "Counters",
         "KeyAttributes": {"PartitionKey": {"AttributeName": "number", "AttributeType": "N"}},
         "TableData": [{"number": {"N": "7"}}]},
    ],
}


def test_a_model_of_nosql_workbench(load, items_of, tmp_path, client):
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    result = load(tmp_path / "model.json", table=None)
    assert "created the table Customers" in result.stdout and "created the table Counters" in result.stdout
    assert len(items_of("Customers")) == 2 and items_of("Counters") == [{"number": {"N": "7"}}]
    found = client.query(TableName="Customers", IndexName="GSI1", KeyConditionExpression="GSI1PK = :p",
                         ExpressionAttributeValues={":p": {"S": "x"}})
    assert [item["PK"]["S"] for item in found["Items"]] == ["C1"]


def test_one_table_of_a_model(load, tmp_path, client):
    (tmp_path / "model.json").write_text(json.dumps(MODEL))
    load(tmp_path / "model.json", table="Counters")
    assert client.list_tables()["TableNames"] == ["Counters"]


def test_another_endpoint_with_its_indexes(load, items_of, create_table, client):
    with StatorProcess("--in-memory") as other:
        there = boto3.client("dynamodb", endpoint_url=other.endpoint)
        there.create_table(
            TableName="Things", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("id", "g")],
            GlobalSecondaryIndexes=[{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                     "Projection": {"ProjectionType": "KEYS_ONLY"}}],
            BillingMode="PAY_PER_REQUEST")
        items = [{**item, "g": {"S": "x" * 3000}} for item in ITEMS]  # some pages
        for begin in range(0, len(items), 25):
            there.batch_write_item(RequestItems={"Things": [{"PutRequest": {"Item": i}} for i in items[begin:begin + 25]]})
        load(other.endpoint, "--segments", "3")
        assert items_of("Things") == sorted(items, key=repr)
        index = client.describe_table(TableName="Things")["Table"]["GlobalSecondaryIndexes"][0]
        assert (index["IndexName"], index["Projection"]) == ("by-g", {"ProjectionType": "KEYS_ONLY"})


def test_items_that_the_table_refuses_are_told_and_passed_over(load, items_of, tmp_path, create_table):
    create_table("Things", "id")
    wrong = [{"id": {"N": "1"}}, {"x": {"S": "no key"}}]
    (tmp_path / "items.json").write_text(lines(ITEMS[:30] + wrong + ITEMS[30:60]))
    result = load(tmp_path / "items.json", code=1)
    assert "60 items" in result.stdout and "2 refused" in result.stdout
    assert result.stderr.count("refused: ") == 2
    assert len(items_of("Things")) == 60


def test_of_items_with_one_key_the_last_one_stays(load, items_of, tmp_path, create_table):
    create_table("Things", "id")
    (tmp_path / "items.json").write_text(lines([{"id": {"S": "a"}, "v": {"N": str(v)}} for v in range(10)]))
    load(tmp_path / "items.json")
    assert items_of("Things") == [{"id": {"S": "a"}, "v": {"N": "9"}}]


def test_without_a_table_and_without_keys(load, tmp_path):
    (tmp_path / "items.json").write_text(lines(ITEMS[:1]))
    assert "name its keys with --key" in load(tmp_path / "items.json", code=1).stderr


def test_wrong_sources(load, tmp_path, create_table):
    create_table("Things", "id")
    assert "there is no file /no/such" in load("/no/such", code=1).stderr
    (tmp_path / "bad.json").write_text('{"Item":{"id":{"S":"a"}}}\nnot json\n')
    load(tmp_path / "bad.json", code=1)
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(lines(ITEMS).encode())[:-20])
    assert "cut.json.gz" in load(tmp_path / "cut.json.gz", code=1).stderr


def test_a_data_directory_without_a_server(stator, tmp_path):
    (tmp_path / "items.json").write_text(lines(ITEMS))
    directory = tmp_path / "data"
    result = stator("import", "--data-dir", directory, "--table", "Things", "--from", "items.json", "--key", "id:S", "--quiet")
    assert result.returncode == 0, result.stderr
    with StatorProcess("--data-dir", str(directory)) as server:
        client = boto3.client("dynamodb", endpoint_url=server.endpoint)
        assert client.scan(TableName="Things", Select="COUNT")["Count"] == 1000
        result = stator("import", "--data-dir", directory, "--table", "Things", "--from", "items.json", "--quiet")
        assert result.returncode == 1 and str(directory) in result.stderr


def test_an_interrupted_import_goes_on(tmp_path, items_of, create_table, endpoint, client):
    create_table("Things", "id")
    many = 60_000
    with open(tmp_path / "items.json", "w") as file:
        for number in range(many):
            file.write('{"Item":{"id":{"S":"%06d"},"t":{"S":"%s"}}}\n' % (number, "x" * 200))
    command = [binary(), "import", "--endpoint", endpoint, "--table", "Things", "--from", "items.json", "--concurrency", "1"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    state = tmp_path / "stator-import-Things.state"
    deadline = time.monotonic() + 60
    while not state.exists() and first.poll() is None and time.monotonic() < deadline:
        select_pause()
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert state.exists(), "it was over too soon, or never noted anything"
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert second.returncode == 0, second.stderr
    assert ", after " in second.stdout
    assert not state.exists()
    assert len(items_of("Things")) == many


def select_pause():
    time.sleep(0.01)  # waits for a file of another process
