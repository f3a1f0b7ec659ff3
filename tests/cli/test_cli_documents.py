"""Every `aws dynamodb` command of the documents people copy from, as it stands there."""

import json

import pytest

CREATE_ORDERS = r"""
aws dynamodb create-table \
  --table-name Orders \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --billing-mode PAY_PER_REQUEST"""

CREATE_ORDERS_WITH_TAGS = CREATE_ORDERS + r""" \
  --tags Key=Env,Value=prod"""

CREATE_ORDERS_WITH_INDEX = r"""
aws dynamodb create-table \
  --table-name Orders \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
    AttributeName=GSI1PK,AttributeType=S \
    AttributeName=GSI1SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --global-secondary-indexes '[{
    "IndexName": "GSI1",
    "KeySchema": [
      {"AttributeName":"GSI1PK","KeyType":"HASH"},
      {"AttributeName":"GSI1SK","KeyType":"RANGE"}
    ],
    "Projection": {"ProjectionType":"ALL"},
    "ProvisionedThroughput": {"ReadCapacityUnits":5,"WriteCapacityUnits":5}
  }]' \
  --provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=5"""

CREATE_MY_TABLE = r"""
aws dynamodb create-table \
  --endpoint-url http://localhost:8000 \
  --table-name MyTable \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
    AttributeName=GSI1PK,AttributeType=S \
    AttributeName=GSI1SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --global-secondary-indexes \
    'IndexName=GSI1,KeySchema=[{AttributeName=GSI1PK,KeyType=HASH},{AttributeName=GSI1SK,KeyType=RANGE}],Projection={ProjectionType=ALL}' \
  --billing-mode PAY_PER_REQUEST"""

PUT_ORDER = r"""
aws dynamodb put-item \
  --table-name Orders \
  --item '{
    "PK": {"S": "CUSTOMER#C001"},
    "SK": {"S": "ORDER#2024-01-15#O001"},
    "total": {"N": "149.99"},
    "status": {"S": "pending"}
  }'"""

GET_ORDER = r"""
aws dynamodb get-item \
  --table-name Orders \
  --key '{"PK":{"S":"CUSTOMER#C001"},"SK":{"S":"ORDER#2024-01-15#O001"}}'"""

SHIP_ORDER = r"""
aws dynamodb update-item \
  --table-name Orders \
  --key '{"PK":{"S":"CUSTOMER#C001"},"SK":{"S":"ORDER#2024-01-15#O001"}}' \
  --update-expression "SET #s = :new_status, updated_at = :ts" \
  --condition-expression "#s = :old_status" \
  --expression-attribute-names '{"#s":"status"}' \
  --expression-attribute-values '{":new_status":{"S":"shipped"},":old_status":{"S":"pending"},":ts":{"S":"2024-01-16T10:00:00Z"}}'"""

DELETE_ORDER = r"""
aws dynamodb delete-item \
  --table-name Orders \
  --key '{"PK":{"S":"CUSTOMER#C001"},"SK":{"S":"ORDER#2024-01-15#O001"}}'"""


@pytest.fixture
def orders(create_table):
    create_table("Orders", "PK", "SK")


ORDER = {
    "PK": {"S": "CUSTOMER#C001"}, "SK": {"S": "ORDER#2024-01-15#O001"},
    "total": {"N": "149.99"}, "status": {"S": "pending"},
}


@pytest.mark.parametrize("command", [CREATE_ORDERS, CREATE_ORDERS_WITH_TAGS], ids=["plain", "with tags"])
def test_create_a_table(sh, command):
    created = sh(command).json["TableDescription"]
    assert created["TableName"] == "Orders"
    assert created["TableArn"].endswith(":table/Orders")
    assert created["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_the_tags_of_a_table_are_listed(sh):
    arn = sh(CREATE_ORDERS_WITH_TAGS).json["TableDescription"]["TableArn"]
    tags = sh(f"aws dynamodb list-tags-of-resource --resource-arn {arn}").json
    assert tags == {"Tags": [{"Key": "Env", "Value": "prod"}]}


def test_create_a_table_with_provisioned_capacity_and_an_index(sh):
    created = sh(CREATE_ORDERS_WITH_INDEX).json["TableDescription"]
    assert created["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    index = created["GlobalSecondaryIndexes"][0]
    assert index["IndexName"] == "GSI1"
    assert index["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
    assert "BillingModeSummary" not in created


def test_create_a_table_at_an_endpoint_with_an_index_in_short_syntax(sh):
    created = sh(CREATE_MY_TABLE).json["TableDescription"]
    assert created["GlobalSecondaryIndexes"][0]["KeySchema"] == [
        {"AttributeName": "GSI1PK", "KeyType": "HASH"}, {"AttributeName": "GSI1SK", "KeyType": "RANGE"}]
    sh("aws dynamodb wait table-exists --table-name MyTable")
    assert sh("aws dynamodb list-tables").json == {"TableNames": ["MyTable"]}


def test_create_describe_and_delete_a_table_from_a_file(sh, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({
        "TableName": "MyTable",
        "AttributeDefinitions": [
            {"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
    }))
    assert sh("aws dynamodb create-table --cli-input-json file://table.json").code == 0
    assert sh("aws dynamodb describe-table --table-name MyTable").json["Table"]["TableStatus"] == "ACTIVE"
    assert sh("aws dynamodb delete-table --table-name MyTable").json["TableDescription"]["TableStatus"] == "DELETING"
    assert sh("aws dynamodb wait table-not-exists --table-name MyTable").code == 0
    assert sh("aws dynamodb list-tables").json == {"TableNames": []}


def test_the_quick_reference(sh):
    sh(CREATE_MY_TABLE)
    put = sh("""aws dynamodb put-item --table-name MyTable --item '{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}'""")
    assert (put.code, put.text) == (0, "")
    item = {"PK": {"S": "USER#1"}, "SK": {"S": "PROFILE"}}
    get = """aws dynamodb get-item --table-name MyTable --key '{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}'"""
    assert sh(get).json == {"Item": item}
    queried = sh(r"""
aws dynamodb query --table-name MyTable \
  --key-condition-expression "PK = :pk" \
  --expression-attribute-values '{":pk":{"S":"USER#1"}}'""").json
    assert queried == {"Items": [item], "Count": 1, "ScannedCount": 1, "ConsumedCapacity": None}
    scanned = sh("aws dynamodb scan --table-name MyTable --limit 10").json
    assert scanned["Items"] == [item]
    delete = """aws dynamodb delete-item --table-name MyTable --key '{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}'"""
    assert sh(delete).code == 0
    gone = sh(get)
    assert (gone.code, gone.text) == (0, "")


def test_an_order_is_put_read_updated_on_condition_and_deleted(sh, refuses, orders):
    assert sh(PUT_ORDER).code == 0
    assert sh(GET_ORDER).json == {"Item": ORDER}
    assert sh(SHIP_ORDER).code == 0
    assert sh(GET_ORDER).json == {"Item": {
        **ORDER, "status": {"S": "shipped"}, "updated_at": {"S": "2024-01-16T10:00:00Z"}}}
    refuses(SHIP_ORDER, "UpdateItem", "ConditionalCheckFailedException", "The conditional request failed")
    assert sh(DELETE_ORDER).code == 0
    assert sh(GET_ORDER).text == ""


ORDERS_OF_2024 = r"""
aws dynamodb query \
  --table-name Orders \
  --key-condition-expression "PK = :pk AND begins_with(SK, :prefix)" \
  --expression-attribute-values '{":pk":{"S":"CUSTOMER#C001"},":prefix":{"S":"ORDER#2024"}}' \
  --scan-index-forward false \
  --limit 10"""


def test_orders_of_a_customer_by_the_beginning_of_their_date(sh, orders, client):
    for day in ("2023-12-31", "2024-01-15", "2024-02-01"):
        client.put_item(TableName="Orders", Item={**ORDER, "SK": {"S": f"ORDER#{day}#O001"}})
    answer = sh(ORDERS_OF_2024.replace("--scan-index-forward false", "--no-scan-index-forward")).json
    assert [item["SK"]["S"] for item in answer["Items"]] == ["ORDER#2024-02-01#O001", "ORDER#2024-01-15#O001"]


def test_the_document_gives_a_flag_a_value_which_the_cli_refuses(sh):
    result = sh(ORDERS_OF_2024)
    assert "Unknown options: false" in result.error
    assert result.code == 252


def test_an_order_by_its_number_in_an_index(sh, client):
    sh(CREATE_ORDERS_WITH_INDEX)
    client.put_item(TableName="Orders", Item=ORDER)
    item = {**ORDER, "GSI1PK": {"S": "ORDER#O001"}, "GSI1SK": {"S": "CUSTOMER#C001"}}
    client.put_item(TableName="Orders", Item={**item, "SK": {"S": "ORDER#2024-01-16#O001"}})
    answer = sh(r"""
aws dynamodb query \
  --table-name Orders \
  --index-name GSI1 \
  --key-condition-expression "GSI1PK = :pk" \
  --expression-attribute-values '{":pk":{"S":"ORDER#O001"}}'""").json
    assert answer["Items"] == [{**item, "SK": {"S": "ORDER#2024-01-16#O001"}}]


def test_add_an_index_to_a_table(sh, orders, client):
    item = {**ORDER, "GSI1PK": {"S": "STATUS#shipped"}, "GSI1SK": {"S": "2024-01-15"}}
    client.put_item(TableName="Orders", Item=item)
    updated = sh(r"""
aws dynamodb update-table \
  --table-name Orders \
  --attribute-definitions AttributeName=GSI1PK,AttributeType=S AttributeName=GSI1SK,AttributeType=S \
  --global-secondary-index-updates '[{
    "Create": {
      "IndexName": "GSI1",
      "KeySchema": [
        {"AttributeName": "GSI1PK", "KeyType": "HASH"},
        {"AttributeName": "GSI1SK", "KeyType": "RANGE"}
      ],
      "Projection": {"ProjectionType": "ALL"}
    }
  }]'""").json["TableDescription"]
    assert updated["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    for _ in range(50):
        index = sh("aws dynamodb describe-table --table-name Orders").json["Table"]["GlobalSecondaryIndexes"][0]
        if index["IndexStatus"] == "ACTIVE":
            break
    answer = sh(r"""
aws dynamodb query --table-name Orders --index-name GSI1 \
  --key-condition-expression "GSI1PK = :pk AND begins_with(GSI1SK, :month)" \
  --expression-attribute-values '{":pk":{"S":"STATUS#shipped"},":month":{"S":"2024-01"}}'""").json
    assert answer["Items"] == [item]


def test_enable_a_stream_on_a_table(sh, orders):
    updated = sh(r"""
aws dynamodb update-table \
  --table-name Orders \
  --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES""").json["TableDescription"]
    assert updated["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert updated["LatestStreamArn"] == f"{updated['TableArn']}/stream/{updated['LatestStreamLabel']}"


def test_enable_time_to_live_on_an_attribute(sh, create_table):
    create_table("Sessions", "PK", "SK")
    updated = sh(r"""
aws dynamodb update-time-to-live \
  --table-name Sessions \
  --time-to-live-specification Enabled=true,AttributeName=expires_at""").json
    assert updated == {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires_at"}}
    described = sh("aws dynamodb describe-time-to-live --table-name Sessions").json["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires_at"
    assert described["TimeToLiveStatus"] in ("ENABLING", "ENABLED")
