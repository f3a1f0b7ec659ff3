"""stator export: what it writes, AWS's tools and stator import can read."""

import base64
import csv
import gzip
import hashlib
import json

import pytest

ITEMS = [{"id": {"S": f"{number:05}"}, "n": {"N": str(number)}, "text": {"S": "x" * (number % 50)}}
         for number in range(2000)]


@pytest.fixture
def things(create_table, client):
    create_table("Things", "id")
    for begin in range(0, len(ITEMS), 25):
        client.batch_write_item(RequestItems={
            "Things": [{"PutRequest": {"Item": item}} for item in ITEMS[begin:begin + 25]]})


@pytest.fixture
def export(stator, endpoint, things, tmp_path):
    def run(*more):
        result = stator("export", "--endpoint", endpoint, "--table", "Things", "--to", "out", "--quiet", *more)
        assert result.returncode == 0, result.stderr
        assert "exported 2,000 items of Things" in result.stdout
        return tmp_path / "out"

    return run


def test_the_layout_is_that_of_aws(export):
    folder = export()
    [summary_file] = folder.glob("AWSDynamoDB/*/manifest-summary.json")
    root = summary_file.parent
    summary = json.loads(summary_file.read_text())
    assert summary["itemCount"] == 2000
    assert summary["outputFormat"] == "DYNAMODB_JSON"
    assert summary["tableArn"].endswith(":table/Things")
    assert summary["manifestFilesS3Key"] == f"AWSDynamoDB/{root.name}/manifest-files.json"
    for name in ("manifest-summary", "manifest-files"):
        digest = base64.b64encode(hashlib.md5((root / f"{name}.json").read_bytes()).digest()).decode()
        assert (root / f"{name}.md5").read_text() == digest
    seen = []
    for line in (root / "manifest-files.json").read_text().splitlines():
        entry = json.loads(line)
        data = (folder / entry["dataFileS3Key"]).read_bytes()
        assert base64.b64encode(hashlib.md5(data).digest()).decode() == entry["md5Checksum"]
        rows = [json.loads(row)["Item"] for row in gzip.decompress(data).decode().splitlines()]
        assert len(rows) == entry["itemCount"]
        seen += rows
    assert sorted(seen, key=repr) == sorted(ITEMS, key=repr)


def test_an_export_comes_back_as_it_was(export, stator, endpoint, client, items_of):
    folder = export("--segments", "3")
    client.delete_table(TableName="Things")
    result = stator("import", "--endpoint", endpoint, "--from", folder, "--quiet")
    assert result.returncode == 0, result.stderr
    assert "created the table Things" in result.stdout
    assert items_of("Things") == sorted(ITEMS, key=repr)


EVERY_TYPE = [
    {"id": {"S": "scalars"}, "s": {"S": 'ž "quoted" \\ \n\t\u0001 🙂'}, "empty": {"S": ""}, "b": {"B": b"\x00\xff\n"},
     "no_bytes": {"B": b""}, "n": {"N": "-1.2345678901234567890123456789012345678E+100"}, "t": {"BOOL": True}, "f": {"BOOL": False},
     "nothing": {"NULL": True}},
    {"id": {"S": "sets"}, "ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2.5"]}, "bs": {"BS": [b"\x01", b"\x02"]}},
    {"id": {"S": "nested"}, "m": {"M": {"l": {"L": [{"M": {}}, {"L": []}, {"N": "0"}]}, "a.b#c": {"S": "a name"}}}},
    {"id": {"S": "index"}, "g": {"S": "x"}},
]


def test_every_type_survives_a_server_and_a_data_directory(stator, endpoint, client, items_of, no_table_stays):
    client.create_table(
        TableName="Types", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "g")],
        GlobalSecondaryIndexes=[{"IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                 "Projection": {"ProjectionType": "ALL"}}])
    for item in EVERY_TYPE:
        client.put_item(TableName="Types", Item=item)
    before = items_of("Types")

    def run(*arguments):
        result = stator(*arguments, "--quiet")
        assert result.returncode == 0, result.stderr

    run("export", "--endpoint", endpoint, "--table", "Types", "--to", "first")
    client.delete_table(TableName="Types")
    run("import", "--data-dir", "data", "--from", "first")
    run("export", "--data-dir", "data", "--table", "Types", "--to", "second")
    run("import", "--endpoint", endpoint, "--from", "second")
    assert items_of("Types") == before
    found = client.query(TableName="Types", IndexName="by-g", KeyConditionExpression="g = :g",
                         ExpressionAttributeValues={":g": {"S": "x"}})
    assert [item["id"]["S"] for item in found["Items"]] == ["index"]


def test_csv_has_all_columns(export):
    folder = export("--format", "csv")
    with open(folder / "Things.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "n", "text"]
    assert sorted((row["id"], row["n"], row["text"]) for row in rows) == [
        (item["id"]["S"], item["n"]["N"], item["text"]["S"]) for item in ITEMS]
    assert [path.name for path in folder.iterdir()] == ["Things.csv"]


def test_a_table_that_is_not_there(stator, endpoint):
    result = stator("export", "--endpoint", endpoint, "--table", "Nowhere", "--to", "out")
    assert result.returncode == 1
    assert "ResourceNotFoundException" in result.stderr
