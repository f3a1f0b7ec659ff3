"""Content codings, both ways."""

import gzip
import json
import uuid
import zlib

import pytest

from conftest import Server, request

MB = 1024 * 1024


@pytest.fixture(scope="module")
def server():
    """A server of these tests' own: the others count on one without tables."""
    running = Server()
    yield running
    assert running.end() == 0


@pytest.fixture(scope="module")
def table(server):
    """The name of a table with an item "big" of 10,000 bytes and an item "small"."""
    name = "t" + uuid.uuid4().hex
    with server.connect() as client:
        create = {
            "TableName": name,
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        assert client.send(request("CreateTable", json.dumps(create))).answer().status == 200
        for key, size in (("small", 10), ("big", 10_000)):
            item = {"p": {"S": key}, "x": {"S": "x" * size}}
            put = {"TableName": name, "Item": item}
            assert client.send(request("PutItem", json.dumps(put))).answer().status == 200
    return name


def get(client, table, key, accept):
    body = json.dumps({"TableName": table, "Key": {"p": {"S": key}}})
    return client.send(request("GetItem", body, Accept_Encoding=accept)).answer()


@pytest.mark.parametrize("accept", [None, "identity", "br", "gzip;q=0"])
def test_a_client_that_does_not_ask_gets_plain_bytes(client, table, accept):
    answer = get(client, table, "big", accept)
    assert "Content-Encoding" not in answer
    assert json.loads(answer.body)["Item"]["x"]["S"] == "x" * 10_000


@pytest.mark.parametrize("accept, coding", [("gzip, deflate", "gzip"), ("deflate", "deflate")])
def test_a_large_answer_is_compressed_and_its_checksum_is_of_the_bytes_sent(client, table, accept, coding):
    answer = get(client, table, "big", accept)
    assert answer["Content-Encoding"] == coding
    assert len(answer.body) < 1000
    assert int(answer["x-amz-crc32"]) == zlib.crc32(answer.body)
    plain = gzip.decompress(answer.body) if coding == "gzip" else zlib.decompress(answer.body)
    assert json.loads(plain)["Item"]["x"]["S"] == "x" * 10_000


def test_a_small_answer_is_not_compressed(client, table):
    assert "Content-Encoding" not in get(client, table, "small", "gzip")


def test_a_gzipped_request(client):
    answer = client.send(request(body=gzip.compress(b'{"Limit":1}'), Content_Encoding="gzip")).answer()
    assert answer.status == 200


def test_a_gzipped_request_of_two_members(client):
    body = gzip.compress(b'{"Limit"') + gzip.compress(b":1}")
    assert client.send(request(body=body, Content_Encoding="gzip")).answer().status == 200


@pytest.mark.parametrize("body", [b"{}", b"", gzip.compress(b"{}")[:-1]])
def test_damaged_gzip_is_an_internal_error(client, body):
    answer = client.send(request(body=body, Content_Encoding="gzip")).answer()
    assert answer.status == 500
    assert b"#InternalServerError" in answer.body


def test_an_unknown_coding_is_an_internal_error(client):
    assert client.send(request(Content_Encoding="garbage")).answer().status == 500


def test_a_bomb_is_413(client):
    bomb = gzip.compress(b"{" + b" " * 64 * MB + b"}")
    assert len(bomb) < MB
    assert client.send(request(body=bomb, Content_Encoding="gzip")).answer().status == 413
    assert client.send(request()).answer().status == 200
