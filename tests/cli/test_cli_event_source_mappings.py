"""aws lambda …-event-source-mapping: the CLI binds a function to a stream, and sees what became of it."""

import boto3
import pytest

from cli_fixtures import run_shell
from lambda_functions import Functions
from stator_process import StatorProcess


@pytest.fixture
def bound(tmp_path):
    with Functions() as functions:
        functions["process-order-changes"] = lambda event, context: None
        config = tmp_path / "stator.toml"
        config.write_text(functions.config())
        with StatorProcess("--in-memory", "--config", str(config)) as process:
            client = boto3.client("dynamodb", endpoint_url=process.endpoint)
            yield functions, client, run_shell(process.endpoint, tmp_path)


def test_a_mapping_from_its_creation_to_its_end(bound):
    functions, client, sh = bound
    arn = client.create_table(
        TableName="Orders",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )["TableDescription"]["LatestStreamArn"]
    created = sh(f"""aws lambda create-event-source-mapping \
  --function-name process-order-changes \
  --event-source-arn {arn} \
  --starting-position LATEST \
  --batch-size 100 --maximum-retry-attempts 3 --bisect-batch-on-function-error \
  --filter-criteria '{{"Filters":[{{"Pattern":"{{\\"eventName\\":[\\"INSERT\\"]}}"}}]}}'""").json
    uuid = created["UUID"]
    assert created["State"] == "Creating"
    assert created["StartingPosition"] == "LATEST"
    assert created["FunctionArn"] == "arn:aws:lambda:us-east-1:123456789012:function:process-order-changes"
    assert created["FilterCriteria"] == {"Filters": [{"Pattern": '{"eventName":["INSERT"]}'}]}
    client.put_item(TableName="Orders", Item={"PK": {"S": "1"}})
    client.delete_item(TableName="Orders", Key={"PK": {"S": "1"}})
    client.put_item(TableName="Orders", Item={"PK": {"S": "2"}})
    functions.wait(lambda: len(functions.records("process-order-changes")) == 2)
    assert [r["eventName"] for r in functions.records("process-order-changes")] == ["INSERT", "INSERT"]

    shown = sh(f"aws lambda get-event-source-mapping --uuid {uuid}").json
    assert shown["State"] == "Enabled"
    assert shown["MaximumRetryAttempts"] == 3
    assert shown["LastModified"]
    listed = sh("aws lambda list-event-source-mappings --function-name process-order-changes").json
    assert [mapping["UUID"] for mapping in listed["EventSourceMappings"]] == [uuid]
    assert sh(f"aws lambda list-event-source-mappings --event-source-arn {arn}").json == listed
    updated = sh(f"aws lambda update-event-source-mapping --uuid {uuid} --no-enabled --batch-size 5").json
    assert (updated["State"], updated["BatchSize"]) == ("Disabling", 5)
    assert sh(f"aws lambda get-event-source-mapping --uuid {uuid}").json["State"] == "Disabled"
    assert sh(f"aws lambda delete-event-source-mapping --uuid {uuid}").json["State"] == "Deleting"
    gone = sh(f"aws lambda get-event-source-mapping --uuid {uuid}")
    assert gone.error == ("An error occurred (ResourceNotFoundException) when calling the GetEventSourceMapping "
                          "operation: The resource you requested does not exist.")
    assert sh("aws lambda list-event-source-mappings").json == {"EventSourceMappings": []}
