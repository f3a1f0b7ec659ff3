"""Exports that plain Python reads, and imports of what plain Python wrote: gzip, json and hashlib, nothing of ours."""

import base64
import gzip
import hashlib
import json
import pathlib
import random
import re
import time
import zlib

import boto3
import pytest
from botocore.exceptions import ClientError

from s3_imitation import S3Imitation
from stator_process import StatorProcess

PATIENCE_S = 60
KEYS = {
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                             {"AttributeName": "sk", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def client_of(process):
    return boto3.client("dynamodb", endpoint_url=process.endpoint)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server with its buckets in a folder."""
    root = tmp_path_factory.mktemp("place")
    with StatorProcess("--data-dir", str(root / "data"), "--s3-root", str(root / "buckets"),
                       "--durability", "os") as process:
        yield process, client_of(process), root / "buckets"
        assert process.running(), process.log()


def wait_for(describe, name):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        description = describe()
        if description[name] != "IN_PROGRESS":
            return description
        time.sleep(0.01)
    raise AssertionError(f"still in progress: {description}")


def export(client, table_arn, **more):
    arn = client.export_table_to_point_in_time(TableArn=table_arn, **more)["ExportDescription"]["ExportArn"]
    return wait_for(lambda: client.describe_export(ExportArn=arn)["ExportDescription"], "ExportStatus")


def import_table(client, bucket, prefix, table, format="DYNAMODB_JSON", keys=KEYS, **more):
    arn = client.import_table(
        S3BucketSource={"S3Bucket": bucket, "S3KeyPrefix": prefix}, InputFormat=format,
        TableCreationParameters={"TableName": table, **keys}, **more)["ImportTableDescription"]["ImportArn"]
    return wait_for(lambda: client.describe_import(ImportArn=arn)["ImportTableDescription"], "ImportStatus")


def create(client, table, recovery=True):
    arn = client.create_table(TableName=table, **KEYS)["TableDescription"]["TableArn"]
    if recovery:
        client.update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    return arn


def scan(client, table, **more):
    return [item for page in client.get_paginator("scan").paginate(TableName=table, **more)
            for item in page["Items"]]


def plain(value):
    """A value of boto3's as the lines of an export have it: bytes in base64, sets in order."""
    [(kind, content)] = value.items()
    if kind == "B":
        return {"B": base64.b64encode(content).decode()}
    if kind == "BS":
        return {"BS": sorted(base64.b64encode(one).decode() for one in content)}
    if kind in ("SS", "NS"):
        return {kind: sorted(content)}
    if kind == "L":
        return {"L": [plain(one) for one in content]}
    if kind == "M":
        return {"M": {name: plain(one) for name, one in content.items()}}
    return value


def sets_in_order(value):
    [(kind, content)] = value.items()
    if kind in ("SS", "NS", "BS"):
        return {kind: sorted(content)}
    if kind == "L":
        return {"L": [sets_in_order(one) for one in content]}
    if kind == "M":
        return {"M": {name: sets_in_order(one) for name, one in content.items()}}
    return value


def as_set(items):
    return {json.dumps(item, sort_keys=True) for item in items}


def every_kind(i):
    return {"pk": {"S": f"key-{i % 20}"}, "sk": {"N": str(i)}, "text": {"S": 'quote" \\ \n ü 日本 🦑'},
            "binary": {"B": bytes([i % 256, 0, 255])}, "yes": {"BOOL": i % 2 == 0}, "nothing": {"NULL": True},
            "ss": {"SS": [f"a{i}", "b"]}, "ns": {"NS": ["1", "2.5", str(i + 3)]}, "bs": {"BS": [b"\x00", b"\x01"]},
            "list": {"L": [{"S": "x"}, {"N": "-1.5"}, {"M": {}}]},
            "map": {"M": {"a.b": {"N": "1E+10"}, "deep": {"M": {"l": {"L": []}}}}}, "empty": {"S": ""}}


def md5_base64(content):
    return base64.b64encode(hashlib.md5(content).digest()).decode()


class Exported:
    """An export as a program that knows only AWS's documents reads it. Checks what can be checked."""

    def __init__(self, read, keys, manifest_key):
        folder = manifest_key.rpartition("/")[0]
        summary = read(manifest_key)
        assert read(f"{folder}/manifest-summary.md5").decode() == md5_base64(summary)
        self.summary = json.loads(summary)
        files = read(self.summary["manifestFilesS3Key"])
        assert read(f"{folder}/manifest-files.md5").decode() == md5_base64(files)
        assert read(f"{folder}/_started") == b""
        self.lines, self.files = [], []
        for line in files.decode().splitlines():
            entry = json.loads(line)
            assert list(entry) == ["itemCount", "md5Checksum", "etag", "dataFileS3Key"]
            content = read(entry["dataFileS3Key"])
            assert entry["md5Checksum"] == md5_base64(content)
            assert entry["etag"]
            lines = gzip.decompress(content).decode().splitlines()
            assert entry["itemCount"] == len(lines)
            self.lines += [json.loads(one) for one in lines]
            self.files.append(entry["dataFileS3Key"])
        assert self.summary["itemCount"] == len(self.lines)
        data = {key for key in keys if key.startswith(f"{folder}/data/")}
        assert data == set(self.files), "no file that the manifest does not name"
        assert all(re.fullmatch(r"[a-z2-7]{26}\.json\.gz", key.rpartition("/")[2]) for key in data)


def read_folder(bucket, description):
    keys = [str(path.relative_to(bucket)) for path in bucket.rglob("*") if path.is_file()]
    return Exported(lambda key: (bucket / key).read_bytes(), keys, description["ExportManifest"])


def test_an_export_equals_a_scan(place):
    process, client, root = place
    arn = create(client, "Everything")
    for i in range(300):
        client.put_item(TableName="Everything", Item=every_kind(i))
    description = export(client, arn, S3Bucket="exports", S3Prefix="some/prefix")
    assert description["ExportStatus"] == "COMPLETED"
    assert description["ItemCount"] == 300
    exported = read_folder(root / "exports", description)
    assert as_set({name: sets_in_order(value) for name, value in line["Item"].items()}
                  for line in exported.lines) == \
        as_set({name: plain(value) for name, value in item.items()} for item in scan(client, "Everything"))
    summary = exported.summary
    assert summary["version"] == "2020-06-30"
    assert summary["exportArn"] == description["ExportArn"]
    assert summary["tableArn"] == arn
    assert summary["tableId"] == client.describe_table(TableName="Everything")["Table"]["TableId"]
    assert (summary["s3Bucket"], summary["s3Prefix"]) == ("exports", "some/prefix")
    assert summary["outputFormat"] == "DYNAMODB_JSON"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", summary["exportTime"])
    assert description["ExportArn"].startswith(arn + "/export/")
    assert description["ExportManifest"].startswith("some/prefix/AWSDynamoDB/")


def test_an_empty_table_is_exported_as_an_empty_file(place):
    _, client, root = place
    description = export(client, create(client, "Empty"), S3Bucket="empty-exports")
    assert description["ItemCount"] == 0
    exported = read_folder(root / "empty-exports", description)
    assert exported.lines == [] and len(exported.files) == 1


def test_a_round_trip(place):
    _, client, root = place
    arn = create(client, "There")
    for i in range(300):
        client.put_item(TableName="There", Item=every_kind(i))
    description = export(client, arn, S3Bucket="round")
    prefix = description["ExportManifest"].replace("manifest-summary.json", "data/")
    imported = import_table(client, "round", prefix, "Back", InputCompressionType="GZIP")
    assert imported["ImportStatus"] == "COMPLETED"
    assert imported["ImportedItemCount"] == imported["ProcessedItemCount"] == 300
    assert imported["ErrorCount"] == 0
    there = as_set({n: plain(v) for n, v in item.items()} for item in scan(client, "There"))
    assert there == as_set({n: plain(v) for n, v in item.items()} for item in scan(client, "Back"))


def test_an_export_that_was_made_elsewhere_is_imported(place):
    """The layout and the lines of the service, written by this test."""
    _, client, root = place
    folder = root / "elsewhere" / "2020-Nov" / "AWSDynamoDB" / "01604474914028-a1b2c3d4"
    (folder / "data").mkdir(parents=True)
    (folder / "_started").write_bytes(b"")
    items = [{name: plain(value) for name, value in every_kind(i).items()} for i in range(500)]
    manifest = ""
    for number, name in enumerate(["33334444example", "bafybeiczss3yxay3o4abnabbb", "empty"]):
        lines = "".join(json.dumps({"Item": item}) + "\n" for item in items[number::2]) if number < 2 else ""
        content = gzip.compress(lines.encode())
        (folder / "data" / f"{name}.json.gz").write_bytes(content)
        manifest += json.dumps({"itemCount": lines.count("\n"), "md5Checksum": md5_base64(content),
                                "etag": hashlib.md5(content).hexdigest() + "-1",
                                "dataFileS3Key": f"2020-Nov/AWSDynamoDB/{folder.name}/data/{name}.json.gz"}) + "\n"
    (folder / "manifest-files.json").write_text(manifest)
    imported = import_table(client, "elsewhere", f"2020-Nov/AWSDynamoDB/{folder.name}/data/", "Elsewhere",
                            InputCompressionType="GZIP")
    assert imported["ImportStatus"] == "COMPLETED"
    assert imported["ImportedItemCount"] == 500
    assert as_set({n: plain(v) for n, v in item.items()} for item in scan(client, "Elsewhere")) == \
        as_set({n: sets_in_order(v) for n, v in item.items()} | {"map": {"M": {
            "a.b": {"N": "10000000000"}, "deep": {"M": {"l": {"L": []}}}}}} for item in items)


def damaged(place, table, name, content, **more):
    process, client, root = place
    folder = root / "damaged" / table
    folder.mkdir(parents=True)
    good = "".join(json.dumps({"Item": {"pk": {"S": "good"}, "sk": {"N": str(i)}}}) + "\n" for i in range(10))
    (folder / "good").write_bytes(gzip.compress(good.encode()) if more else good.encode())
    (folder / name).write_bytes(content)
    description = import_table(client, "damaged", f"{table}/", table, **more)
    assert description["ImportStatus"] == "FAILED"
    assert description["FailureCode"] == "ItemValidationError"
    assert f"damaged/{table}/{name}" in process.log(), "the error names the file"
    return description, len(scan(client, table))


def test_a_torn_gzip_file_is_named(place):
    lines = "".join(json.dumps({"Item": {"pk": {"S": str(random.random())}, "sk": {"N": "1"}}}) + "\n"
                    for _ in range(5000))
    whole = gzip.compress(lines.encode())
    description, there = damaged(place, "Torn", "torn.gz", whole[:-20], InputCompressionType="GZIP")
    assert description["ErrorCount"] == 1
    assert description["ProcessedItemCount"] == description["ImportedItemCount"] + 1
    assert there == description["ImportedItemCount"] >= 10


def test_a_gzip_file_with_a_wrong_checksum_is_named(place):
    whole = bytearray(gzip.compress(b'{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n'))
    whole[-5] ^= 1
    description, there = damaged(place, "WrongSum", "sum.gz", bytes(whole), InputCompressionType="GZIP")
    assert description["ErrorCount"] == 1
    assert there == description["ImportedItemCount"]


def test_a_line_that_is_no_json_is_named(place):
    content = b'{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n{"Item": {"pk"\n{"Item":{"pk":{"S":"b"},"sk":{"N":"1"}}}\n'
    description, there = damaged(place, "NoJson", "lines", content)
    assert (description["ProcessedItemCount"], description["ImportedItemCount"], there) == (12, 11, 11)


def test_comma_separated_values(place):
    _, client, root = place
    folder = root / "csv"
    folder.mkdir()
    (folder / "one.csv").write_text('pk,sk,note\na,1,"x, ""y"""\nb,2.50,\n')
    (folder / "two.csv").write_text("sk,pk,note\n3,c,z\n")
    keys = {**KEYS, "GlobalSecondaryIndexes": [
        {"IndexName": "by-note", "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}],
         "Projection": {"ProjectionType": "ALL"}}]}
    description = import_table(client, "csv", "", "Csv", format="CSV", keys=keys)
    assert description["ImportStatus"] == "COMPLETED"
    assert sorted(scan(client, "Csv"), key=lambda item: item["pk"]["S"]) == [
        {"pk": {"S": "a"}, "sk": {"N": "1"}, "note": {"S": 'x, "y"'}},
        {"pk": {"S": "b"}, "sk": {"N": "2.5"}, "note": {"S": ""}},
        {"pk": {"S": "c"}, "sk": {"N": "3"}, "note": {"S": "z"}}]
    assert len(scan(client, "Csv", IndexName="by-note")) == 3
    assert "InputFormatOptions" not in description


def test_comma_separated_values_with_a_header_of_the_request(place):
    _, client, root = place
    (root / "csv2").mkdir()
    (root / "csv2" / "data").write_text("a;1\nb;2\nc\n")
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["pk", "sk"]}}
    description = import_table(client, "csv2", "data", "Csv2", format="CSV", InputFormatOptions=options)
    assert description["ImportStatus"] == "FAILED"
    assert (description["ImportedItemCount"], description["ErrorCount"]) == (2, 1)
    assert description["InputFormatOptions"] == options


def test_the_error_log_is_a_file(place):
    process, client, root = place
    (root / "logged").mkdir()
    (root / "logged" / "data").write_text('{"Item":{"pk":{"S":"a"}}}\n')
    description = import_table(client, "logged", "data", "Logged")
    log = root.parent / "data/logs/aws-dynamodb/imports" / description["ImportArn"].rpartition("/")[2] / "error"
    [line] = log.read_text().splitlines()
    assert json.loads(line) == {
        "itemS3Pointer": {"bucket": "logged", "key": "data", "itemIndex": 0},
        "importArn": description["ImportArn"],
        "errorMessages": ["One or more parameter values were invalid: Missing the key sk in the item"]}


def test_a_table_being_imported_cannot_be_used_yet(place):
    _, client, root = place
    (root / "slow").mkdir()
    lines = "".join(json.dumps({"Item": {"pk": {"S": str(i)}, "sk": {"N": "1"}, "x": {"S": "x" * 100}}}) + "\n"
                    for i in range(60_000))
    (root / "slow" / "data").write_text(lines)
    arn = client.import_table(
        S3BucketSource={"S3Bucket": "slow"}, InputFormat="DYNAMODB_JSON",
        TableCreationParameters={"TableName": "Slow", **KEYS})["ImportTableDescription"]["ImportArn"]
    seen = set()
    while True:
        status = client.describe_import(ImportArn=arn)["ImportTableDescription"]["ImportStatus"]
        if status != "IN_PROGRESS":
            break
        try:
            state = client.describe_table(TableName="Slow")["Table"]["TableStatus"]
            seen.add(state)
            if state == "CREATING":
                with pytest.raises(ClientError) as refused:
                    client.put_item(TableName="Slow", Item={"pk": {"S": "mine"}, "sk": {"N": "1"}})
                if refused.value.response["Error"]["Code"] != "ResourceNotFoundException":
                    assert client.describe_table(TableName="Slow")["Table"]["TableStatus"] == "ACTIVE"
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ResourceNotFoundException"
        except pytest.fail.Exception:
            assert client.describe_table(TableName="Slow")["Table"]["TableStatus"] == "ACTIVE"
    assert status == "COMPLETED"
    assert "CREATING" in seen
    assert client.describe_table(TableName="Slow")["Table"]["TableStatus"] == "ACTIVE"


def test_killed_in_the_middle(tmp_path):
    """Nothing twice, nothing lost, however often the server is killed."""
    root = tmp_path / "buckets"
    (root / "in").mkdir(parents=True)
    for number in range(4):
        lines = "".join(json.dumps({"Item": {"pk": {"S": f"{number}-{i}"}, "sk": {"N": "1"},
                                             "x": {"S": "x" * 200}}}) + "\n" for i in range(15_000))
        compressor = zlib.compressobj(1, wbits=31)
        (root / "in" / f"{number}.gz").write_bytes(compressor.compress(lines.encode()) + compressor.flush())
    arguments = ("--data-dir", str(tmp_path / "data"), "--s3-root", str(root), "--durability", "os")
    process = StatorProcess(*arguments)
    client = client_of(process)
    arn = client.import_table(
        S3BucketSource={"S3Bucket": "in"}, InputFormat="DYNAMODB_JSON", InputCompressionType="GZIP",
        TableCreationParameters={"TableName": "Killed", **KEYS})["ImportTableDescription"]["ImportArn"]
    kills = 0
    last = 0
    while True:
        description = client.describe_import(ImportArn=arn)["ImportTableDescription"]
        if description["ImportStatus"] != "IN_PROGRESS":
            break
        if description["ProcessedItemCount"] > last and kills < 4:
            last = description["ProcessedItemCount"]
            kills += 1
            process.kill()
            process = StatorProcess(*arguments)
            client = client_of(process)
    assert kills > 0
    assert description["ImportStatus"] == "COMPLETED"
    assert description["ImportedItemCount"] == 60_000
    assert len(scan(client, "Killed")) == 60_000
    assert client.describe_table(TableName="Killed")["Table"]["ItemCount"] == 60_000

    table_arn = description["TableArn"]
    client.update_continuous_backups(
        TableName="Killed", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    export_arn = client.export_table_to_point_in_time(TableArn=table_arn, S3Bucket="out")["ExportDescription"]["ExportArn"]
    for _ in range(3):
        process.kill()
        process = StatorProcess(*arguments)
        client = client_of(process)
    description = wait_for(lambda: client.describe_export(ExportArn=export_arn)["ExportDescription"], "ExportStatus")
    assert description["ItemCount"] == 60_000
    exported = read_folder(root / "out", description)
    assert len({line["Item"]["pk"]["S"] for line in exported.lines}) == 60_000
    assert process.stop() == 0


@pytest.fixture
def s3(tmp_path):
    """A server whose buckets are on an imitation of S3, named by the configuration file."""
    with S3Imitation("bucket", page=2) as imitation:
        config = tmp_path / "stator.toml"
        config.write_text(f"""
[s3]
endpoint = "{imitation.endpoint}"
region = "eu-west-1"
access_key = "key"
secret_key = "secret"
path_style = true
""")
        with StatorProcess("--in-memory", "--config", str(config)) as process:
            yield imitation, client_of(process)
            assert process.running(), process.log()


def test_buckets_of_s3(s3):
    imitation, client = s3
    arn = create(client, "Remote")
    noise = random.Random(1)
    for i in range(40):  # hardly compressible, more than one part
        client.put_item(TableName="Remote", Item={"pk": {"S": str(i)}, "sk": {"N": "1"},
                                                  "noise": {"B": noise.randbytes(300_000)}})
    imitation.faults = 3
    description = export(client, arn, S3Bucket="bucket", S3Prefix="a b/ü")
    assert description["ExportStatus"] == "COMPLETED", description
    keys = [key for _, key in imitation.objects]
    exported = Exported(lambda key: imitation.objects["bucket", key], keys, description["ExportManifest"])
    assert len(exported.lines) == 40
    assert imitation.requests["PUT partNumber uploadId"] >= 2
    assert imitation.uploads == {}
    prefix = description["ExportManifest"].replace("manifest-summary.json", "data/")
    for i in range(5):
        imitation.objects["bucket", f"{prefix}zzz{i}"] = gzip.compress(
            json.dumps({"Item": {"pk": {"S": f"more{i}"}, "sk": {"N": "1"}}}).encode())
    imitation.faults = 3
    imported = import_table(client, "bucket", prefix, "RemoteCopy", InputCompressionType="GZIP")
    assert imported["ImportStatus"] == "COMPLETED", imported
    assert imported["ImportedItemCount"] == 45
    assert len(scan(client, "RemoteCopy", ProjectionExpression="pk")) == 45


def test_a_bucket_of_s3_that_does_not_exist(s3):
    _, client = s3
    arn = create(client, "Nowhere")
    description = export(client, arn, S3Bucket="nobody")
    assert description["ExportStatus"] == "FAILED"
    assert description["FailureCode"] == "S3NoSuchBucket"
    imported = import_table(client, "nobody", "", "NowhereCopy")
    assert imported["FailureCode"] == "S3NoSuchBucket"
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(TableName="NowhereCopy")
