"""Backups and point-in-time recovery as an operator types them."""

import time

import pytest


@pytest.fixture
def things(create_table, client):
    create_table("Things", "PK")
    client.put_item(TableName="Things", Item={"PK": {"S": "1"}})


def wait_until_active(client, name):
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})


def test_recovery_is_enabled_and_a_table_comes_back(things, sh, client):
    enabled = sh("aws dynamodb update-continuous-backups --table-name Things "
                 "--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true").json
    assert enabled["ContinuousBackupsDescription"]["ContinuousBackupsStatus"] == "ENABLED"
    second = int(time.time()) + 1
    while time.time() < second:
        time.sleep(0.02)  # What was answered so far is then in the past.
    client.delete_item(TableName="Things", Key={"PK": {"S": "1"}})
    described = sh("aws dynamodb describe-continuous-backups --table-name Things").json
    recovery = described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"
    restored = sh("aws dynamodb restore-table-to-point-in-time --source-table-name Things "
                  f"--target-table-name Before --restore-date-time {second}").json
    assert restored["TableDescription"]["RestoreSummary"]["RestoreInProgress"] is True
    wait_until_active(client, "Before")
    assert client.scan(TableName="Before")["Count"] == 1
    sh("aws dynamodb restore-table-to-point-in-time --source-table-name Things "
       "--target-table-name Now --use-latest-restorable-time").json
    wait_until_active(client, "Now")
    assert client.scan(TableName="Now")["Count"] == 0


def test_a_backup_is_made_listed_restored_and_deleted(things, sh, client):
    made = sh("aws dynamodb create-backup --table-name Things --backup-name nightly").json["BackupDetails"]
    arn = made["BackupArn"]
    described = sh(f"aws dynamodb describe-backup --backup-arn {arn}").json["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert described["SourceTableDetails"]["ItemCount"] == 1
    listed = sh("aws dynamodb list-backups --table-name Things --backup-type USER").json["BackupSummaries"]
    assert [one["BackupArn"] for one in listed] == [arn]
    restored = sh(f"aws dynamodb restore-table-from-backup --target-table-name Back --backup-arn {arn} "
                  "--billing-mode-override PROVISIONED "
                  "--provisioned-throughput-override ReadCapacityUnits=3,WriteCapacityUnits=4").json
    assert restored["TableDescription"]["ProvisionedThroughput"]["WriteCapacityUnits"] == 4
    wait_until_active(client, "Back")
    assert client.scan(TableName="Back")["Count"] == 1
    deleted = sh(f"aws dynamodb delete-backup --backup-arn {arn}").json["BackupDescription"]
    assert deleted["BackupDetails"]["BackupStatus"] == "DELETED"


def test_what_cannot_be_is_refused(things, refuses):
    gone = "arn:aws:dynamodb:us-east-1:123456789012:table/Things/backup/01489173575360-b308cd7d"
    refuses(f"aws dynamodb describe-backup --backup-arn {gone}", "DescribeBackup", "BackupNotFoundException",
            f"Backup not found: {gone}")
    refuses("aws dynamodb create-backup --table-name nothing --backup-name nightly", "CreateBackup",
            "TableNotFoundException", "Table not found: nothing")
    refuses("aws dynamodb restore-table-to-point-in-time --source-table-name Things --target-table-name New "
            "--use-latest-restorable-time", "RestoreTableToPointInTime", "PointInTimeRecoveryUnavailableException",
            "Point in time recovery is not enabled for table 'Things'")
