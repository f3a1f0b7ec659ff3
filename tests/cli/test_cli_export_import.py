"""Exports and imports from the command line."""

import json
import time

PARAMETERS = json.dumps({
    "TableName": "Imported", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}]})
PATIENCE_S = 60


def ended(describe):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        description = describe()
        if description.get("ExportStatus", description.get("ImportStatus")) != "IN_PROGRESS":
            return description
    raise AssertionError(f"still in progress: {description}")


def test_a_table_goes_out_and_comes_back(sh, refuses, client, create_table):
    create_table("Exported", "PK")
    arn = client.describe_table(TableName="Exported")["Table"]["TableArn"]
    export = f"aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket bucket --s3-prefix out"
    refuses(export, "ExportTableToPointInTime", "PointInTimeRecoveryUnavailableException",
            "Point in time recovery is not enabled for table 'Exported'")
    client.update_continuous_backups(
        TableName="Exported", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    for i in range(20):
        client.put_item(TableName="Exported", Item={"PK": {"S": str(i)}})
    refuses(export + " --export-time 2001-01-01T00:00:00Z", "ExportTableToPointInTime", "InvalidExportTimeException",
            "Export Time is invalid")

    begun = sh(export + " --export-format DYNAMODB_JSON").json["ExportDescription"]
    exported = ended(lambda: sh(f"aws dynamodb describe-export --export-arn {begun['ExportArn']}").json["ExportDescription"])
    assert (exported["ExportStatus"], exported["ItemCount"]) == ("COMPLETED", 20)
    listed = sh(f"aws dynamodb list-exports --table-arn {arn}").json["ExportSummaries"]
    assert [one["ExportArn"] for one in listed] == [begun["ExportArn"]]

    prefix = exported["ExportManifest"].replace("manifest-summary.json", "data/")
    begun = sh(f"aws dynamodb import-table --s3-bucket-source S3Bucket=bucket,S3KeyPrefix={prefix} "
               f"--input-format DYNAMODB_JSON --input-compression-type GZIP "
               f"--table-creation-parameters '{PARAMETERS}'").json["ImportTableDescription"]
    imported = ended(lambda: sh(f"aws dynamodb describe-import --import-arn {begun['ImportArn']}").json["ImportTableDescription"])
    assert (imported["ImportStatus"], imported["ImportedItemCount"]) == ("COMPLETED", 20)
    listed = sh(f"aws dynamodb list-imports --table-arn {imported['TableArn']}").json["ImportSummaryList"]
    assert [one["ImportStatus"] for one in listed] == ["COMPLETED"]
    assert client.scan(TableName="Imported")["Count"] == 20
    refuses(f"aws dynamodb import-table --s3-bucket-source S3Bucket=bucket --input-format CSV "
            f"--table-creation-parameters '{PARAMETERS}'",
            "ImportTable", "ResourceInUseException", "Table already exists: Imported")


def test_what_is_not_there(refuses):
    arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Nothing"
    refuses(f"aws dynamodb export-table-to-point-in-time --table-arn {arn} --s3-bucket bucket",
            "ExportTableToPointInTime", "TableNotFoundException", f"Table not found: {arn}")
    refuses(f"aws dynamodb describe-export --export-arn {arn}", "DescribeExport", "ValidationException",
            "Invalid Export ARN")
    refuses(f"aws dynamodb describe-import --import-arn {arn}/import/01658528578619-c4d4e311", "DescribeImport",
            "ImportNotFoundException", f"Import not found: Import not found: {arn}/import/01658528578619-c4d4e311")
