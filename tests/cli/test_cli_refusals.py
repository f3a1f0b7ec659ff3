"""Wrong input: what the service says, the CLI says, and its exit code shows it."""

import pytest

CREATE = (
    "aws dynamodb create-table --table-name Things --billing-mode PAY_PER_REQUEST "
    "--attribute-definitions AttributeName=PK,AttributeType=S --key-schema AttributeName=PK,KeyType=HASH"
)


@pytest.fixture
def things(create_table):
    create_table("Things", "PK")


def test_a_table_that_does_not_exist(refuses):
    refuses("aws dynamodb describe-table --table-name nothing", "DescribeTable", "ResourceNotFoundException",
            "Requested resource not found: Table: nothing not found")
    refuses("""aws dynamodb get-item --table-name nothing --key '{"PK":{"S":"1"}}'""", "GetItem",
            "ResourceNotFoundException", "Requested resource not found")
    refuses("aws dynamodb scan --table-name nothing", "Scan",
            "ResourceNotFoundException", "Requested resource not found")
    refuses("aws dynamodb delete-table --table-name nothing", "DeleteTable", "ResourceNotFoundException",
            "Requested resource not found: Table: nothing not found")


def test_a_table_that_exists_already(things, refuses):
    refuses(CREATE, "CreateTable", "ResourceInUseException", "Table already exists: Things")


def test_an_attribute_defined_but_not_used(refuses):
    refuses(CREATE.replace("AttributeType=S ", "AttributeType=S AttributeName=X,AttributeType=S "),
            "CreateTable", "ValidationException",
            "One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match "
            "number of attributes defined in AttributeDefinitions")


def test_an_item_without_its_key(things, refuses):
    refuses("""aws dynamodb put-item --table-name Things --item '{"a":{"S":"1"}}'""", "PutItem",
            "ValidationException",
            "One or more parameter values were invalid: Missing the key PK in the item")


def test_a_key_of_the_wrong_type(things, refuses):
    refuses("""aws dynamodb put-item --table-name Things --item '{"PK":{"N":"1"}}'""", "PutItem",
            "ValidationException",
            "One or more parameter values were invalid: Type mismatch for key PK expected: S actual: N")
    refuses("""aws dynamodb get-item --table-name Things --key '{"PK":{"N":"1"}}'""", "GetItem",
            "ValidationException", "The provided key element does not match the schema")


def test_a_number_that_is_none(things, refuses):
    refuses("""aws dynamodb put-item --table-name Things --item '{"PK":{"S":"1"},"n":{"N":"one"}}'""", "PutItem",
            "ValidationException",
            "1 validation error detected: The parameter cannot be converted to a numeric value: one")


def test_a_reserved_word_in_an_expression(things, refuses):
    refuses("""aws dynamodb scan --table-name Things --filter-expression 'status = :s' """
            """--expression-attribute-values '{":s":{"S":"x"}}'""", "Scan", "ValidationException",
            "Invalid FilterExpression: Attribute name is a reserved keyword; reserved keyword: status")


def test_a_value_that_the_expression_does_not_use(things, refuses):
    refuses("""aws dynamodb query --table-name Things --key-condition-expression 'PK = :pk' """
            """--expression-attribute-values '{":pk":{"S":"x"},":other":{"S":"y"}}'""", "Query",
            "ValidationException",
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:other}")


def test_the_beginning_of_a_partition_key(things, refuses):
    refuses("""aws dynamodb query --table-name Things --key-condition-expression 'begins_with(PK, :pk)' """
            """--expression-attribute-values '{":pk":{"S":"x"}}'""", "Query",
            "ValidationException", "Query key condition not supported")


def test_a_name_too_short_for_a_table(sh):
    # This CLI looks at lengths itself and does not ask the service.
    result = sh("aws dynamodb describe-table --table-name ab")
    assert "Invalid length for parameter TableName, value: 2, valid min length: 3" in result.error
    assert result.code == 252


def test_a_missing_option(sh):
    result = sh("""aws dynamodb get-item --table-name Things""")
    assert "the following arguments are required: --key" in result.error
    assert result.code == 252
