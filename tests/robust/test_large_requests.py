"""Requests of some megabytes with as many parts as fit: whatever is wrong with them or not, they take processor time in
proportion to their size. With 150,000 parts what takes the square of that takes minutes, and everything else less than a
second."""

import os

import pytest
from patience import SLOWER
from stator_process import StatorProcess
from wire_client import WireClient

PARTS = 150_000
ALLOWED_S = 10 * SLOWER  # of processor time, which a busy machine does not use up
TABLE = '"TableName":"Tab"'
PK = '"pk":{"S":"a"}'


def parts(write, count=PARTS):
    """Joined, and in an order that is neither rising nor falling."""
    return ",".join(write(i * 7919 % count) for i in range(count))


CASES = {
    "attributes": ("PutItem", f'{{{TABLE},"Item":{{{PK},%s}}}}', lambda i: f'"a{i}":{{"S":"x"}}'),
    "one attribute": ("PutItem", f'{{{TABLE},"Item":{{{PK},%s}}}}', lambda i: '"a":{"S":"x"}'),
    "list": ("PutItem", f'{{{TABLE},"Item":{{{PK},"l":{{"L":[%s]}}}}}}', lambda i: '{"M":{"a":{"N":"1"}}}'),
    "strings": ("PutItem", f'{{{TABLE},"Item":{{{PK},"s":{{"SS":[%s]}}}}}}', lambda i: f'"{i}"'),
    "doubled strings": ("PutItem", f'{{{TABLE},"Item":{{{PK},"s":{{"SS":["0",%s]}}}}}}', lambda i: f'"{i}"'),
    "numbers": ("PutItem", f'{{{TABLE},"Item":{{{PK},"s":{{"NS":[%s]}}}}}}', lambda i: f'"{i}"'),
    "doubled binaries": ("PutItem", f'{{{TABLE},"Item":{{{PK},"s":{{"BS":["0000",%s]}}}}}}', lambda i: f'"{i:08}"'),
    "expected": ("PutItem", f'{{{TABLE},"Item":{{{PK}}},"Expected":{{%s}}}}', lambda i: f'"a{i}":{{"Exists":false}}'),
    "names": ("GetItem", f'{{{TABLE},"Key":{{{PK}}},"ProjectionExpression":"pk","ExpressionAttributeNames":{{%s}}}}',
              lambda i: f'"#a{i}":"x"'),
    "values": ("Scan", f'{{{TABLE},"FilterExpression":"pk = :v","ExpressionAttributeValues":{{%s}}}}',
               lambda i: f'":v{i}":{{"S":"x"}}'),
    "attributes to get": ("GetItem", f'{{{TABLE},"Key":{{{PK}}},"AttributesToGet":[%s]}}', lambda i: f'"a{i}"'),
    "filters": ("Scan", f'{{{TABLE},"ScanFilter":{{%s}}}}', lambda i: f'"a{i}":{{"ComparisonOperator":"NULL"}}'),
    "updates": ("UpdateItem", f'{{{TABLE},"Key":{{{PK}}},"AttributeUpdates":{{%s}}}}',
                lambda i: f'"a{i}":{{"Action":"PUT","Value":{{"N":"1"}}}}'),
    "removals": ("UpdateItem", f'{{{TABLE},"Key":{{{PK}}},"AttributeUpdates":{{%s}}}}',
                 lambda i: f'"a{i}":{{"Action":"DELETE"}}'),
    "start key": ("Scan", f'{{{TABLE},"ExclusiveStartKey":{{%s}}}}', lambda i: f'"a{i}":{{"S":"x"}}'),
    "unknown members": ("ListTables", "{%s}", lambda i: f'"a{i}":1'),
    "keys": ("BatchGetItem", '{"RequestItems":{"Tab":{"Keys":[%s]}}}', lambda i: f'{{"pk":{{"S":"{i}"}}}}'),
    "tables": ("BatchGetItem", '{"RequestItems":{%s}}', lambda i: f'"Tab{i}":{{"Keys":[{{{PK}}}]}}'),
    "writes": ("BatchWriteItem", '{"RequestItems":{"Tab":[%s]}}',
               lambda i: f'{{"DeleteRequest":{{"Key":{{"pk":{{"S":"{i}"}}}}}}}}'),
    "transaction": ("TransactWriteItems", '{"TransactItems":[%s]}',
                    lambda i: f'{{"Delete":{{{TABLE},"Key":{{"pk":{{"S":"{i}"}}}}}}}}'),
    "definitions": ("CreateTable", '{"TableName":"Tac","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],'
                    '"AttributeDefinitions":[%s]}', lambda i: f'{{"AttributeName":"a{i}","AttributeType":"S"}}'),
    "tags": ("TagResource", '{"ResourceArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Tab","Tags":[%s]}',
             lambda i: f'{{"Key":"k{i}","Value":"v"}}'),
    "parameters": ("ExecuteStatement", '{"Statement":"SELECT * FROM Tab WHERE pk=?","Parameters":[%s]}',
                   lambda i: '{"S":"a"}'),
    "statements": ("BatchExecuteStatement", '{"Statements":[%s]}',
                   lambda i: '{"Statement":"SELECT * FROM Tab WHERE pk=\'a\'"}'),
}


@pytest.fixture(scope="module")
def running():
    with StatorProcess() as process:
        WireClient(process.port).expect("CreateTable", {
            "TableName": "Tab", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST"})
        yield process


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("name", CASES)
def test_many_parts(running, name):
    operation, frame, part = CASES[name]
    client = WireClient(running.port, timeout_s=600)
    body = frame % parts(part)
    assert len(body) < 16 << 20
    before = processor_seconds(running)
    status, answer = client.call(operation, body)
    assert status in (200, 400), answer
    assert processor_seconds(running) - before < ALLOWED_S
    client.close()
