"""How requests are cut out of a connection's bytes, and how answers are put into them."""

import email.utils
import re
import threading
import time
import zlib

import pytest

from conftest import head, request

EMPTY_LIST = b'{"TableNames":[]}'


def test_an_answer_has_the_headers_that_sdks_look_at(client):
    answer = client.send(request()).answer()
    assert answer.status == 200
    assert answer.body == EMPTY_LIST
    assert answer["Content-Type"] == "application/x-amz-json-1.0"
    assert re.fullmatch("[0-9A-Z]{52}", answer["x-amzn-RequestId"])
    assert int(answer["x-amz-crc32"]) == zlib.crc32(answer.body)
    assert answer["Server"] == "Server"
    assert answer["Connection"] == "keep-alive"
    sent = email.utils.parsedate_to_datetime(answer["Date"]).timestamp()
    assert abs(sent - time.time()) < 10


def test_a_connection_serves_many_requests(client):
    ids = {client.send(request()).answer()["x-amzn-RequestId"] for _ in range(50)}
    assert len(ids) == 50


def test_pipelined_requests_are_answered_in_order(client):
    pieces = [request(), request("NoSuchThing"), b"GET / HTTP/1.1\r\n\r\n", request(body="nonsense")]
    client.send(b"".join(pieces * 20))
    for _ in range(20):
        assert client.answer().body == EMPTY_LIST
        assert b"UnknownOperationException" in client.answer().body
        assert client.answer().body.startswith(b"healthy: ")
        assert b"SerializationException" in client.answer().body


def test_more_pipelined_bytes_than_the_buffer_holds(client):
    many = request(body='{"Limit":1}') * 2000
    sender = threading.Thread(target=client.send, args=(many,))
    sender.start()
    for _ in range(2000):
        assert client.answer().status == 200
    sender.join()


def test_a_request_in_single_bytes(client):
    for byte in request():
        client.send(bytes([byte]))
    assert client.answer().body == EMPTY_LIST


def test_chunked_bodies(client):
    start = head(Transfer_Encoding="chunked") + b"\r\n"
    client.send(start + b"1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: ignored\r\n\r\n")
    assert client.answer().body == EMPTY_LIST
    # In single bytes, with a request behind it.
    for byte in start + b'b\r\n{"Limit":1}\r\n0\r\n\r\n' + request():
        client.send(bytes([byte]))
    assert client.answer().status == 200
    assert client.answer().body == EMPTY_LIST


def test_an_empty_chunked_body_in_single_bytes(server, client):
    for byte in head(Transfer_Encoding="chunked") + b"\r\n0\r\n\r\n":
        client.send(bytes([byte]))
    assert b"SerializationException" in client.answer().body
    with server.connect() as other:
        assert other.send(request()).answer().status == 200


def test_a_large_chunked_body(client):
    body = b'{"Limit":1' + b" " * 1_000_000 + b"}"
    client.send(head(Transfer_Encoding="chunked") + b"\r\n")
    for at in range(0, len(body), 70_000):
        piece = body[at : at + 70_000]
        client.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
    client.send(b"0\r\n\r\n")
    assert client.answer().status == 200
    assert client.send(request()).answer().status == 200


def test_a_large_body(client):
    body = b'{"Limit":1' + b" " * 10_000_000 + b"}"
    client.send(request(body=body))
    assert client.answer().status == 200
    assert client.send(request()).answer().status == 200


def test_expect_100_continue(client):
    client.send(head(Content_Length=2, Expect="100-continue") + b"\r\n")
    assert client.answer().status == 100
    client.send(b"{}")
    assert client.answer().body == EMPTY_LIST


def test_no_100_continue_if_the_body_is_already_there(client):
    client.send(request(Expect="100-continue"))
    assert client.answer().status == 200


def test_http_1_0_closes_unless_asked_to_keep(server):
    with server.connect() as client:
        answer = client.send(request(line="POST / HTTP/1.0")).answer()
        assert answer.status == 200
        assert answer["Connection"] == "close"
        assert client.is_closed()
    with server.connect() as client:
        for _ in range(2):
            answer = client.send(request(line="POST / HTTP/1.0", Connection="keep-alive")).answer()
            assert answer["Connection"] == "keep-alive"


def test_connection_close(client):
    answer = client.send(request(Connection="close")).answer()
    assert answer.body == EMPTY_LIST
    assert answer["Connection"] == "close"
    assert client.is_closed()


def test_a_client_that_ends_its_side_still_gets_its_answer(client):
    client.send(request())
    client.sock.shutdown(1)
    assert client.answer().body == EMPTY_LIST
    assert client.is_closed()


def test_head_has_no_body(client):
    answer = client.send(b"HEAD / HTTP/1.1\r\n\r\n").answer(head_only=True)
    assert answer.status == 200
    assert answer["Content-Length"] == "42"
    assert client.send(request()).answer().body == EMPTY_LIST


def test_absolute_target(client):
    assert client.send(request(line="POST http://localhost:8000/ HTTP/1.1")).answer().status == 200


@pytest.mark.parametrize(
    "wire, status",
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 60_000, 400),
        (b"GET / HTTP/1.1\r\nLong: " + b"x" * 60_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * 60_000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
    ],
)
def test_what_cannot_be_understood_is_refused_and_closed(server, client, wire, status):
    assert client.send(wire).answer().status == status
    client.sock.shutdown(1)
    assert client.is_closed()
    with server.connect() as other:
        assert other.send(request()).answer().status == 200


def test_a_header_just_below_the_limit(client):
    answer = client.send(request(X_Filler="x" * 15_000)).answer()
    assert answer.status == 200


MB = 1024 * 1024


def test_a_body_of_16_mb_is_read(client):
    client.send(request(body=b"{" + b" " * (16 * MB - 2) + b"}"))
    assert client.answer().status == 200


def test_a_body_above_16_mb_is_413_while_it_is_still_being_sent(client):
    client.send(head(Content_Length=17 * MB) + b"\r\n" + b" " * 17 * MB)
    answer = client.answer()
    assert answer.status == 413
    assert answer["Transfer-Encoding"] == "chunked"
    assert answer["Connection"] == "close"
    assert client.is_closed()


def test_a_chunked_body_above_16_mb_is_413(client):
    client.send(head(Transfer_Encoding="chunked") + b"\r\n")
    piece = b"100000\r\n" + b" " * MB + b"\r\n"
    for _ in range(17):
        client.send(piece)
    assert client.answer().status == 413


def test_413_comes_instead_of_100_continue(client):
    client.send(head(Content_Length=17 * MB, Expect="100-continue") + b"\r\n")
    assert client.answer().status == 413
