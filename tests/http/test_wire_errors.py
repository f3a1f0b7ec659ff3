"""Errors that come before any operation, to the letter and in the order of the service. Cross-origin requests."""

import zlib

import pytest

from conftest import request

JSON = "application/json"
AMZ_JSON = "application/x-amz-json-1.0"
NOT_FOUND = b"<UnknownOperationException/>\n"
UNKNOWN = b'{"__type":"com.amazon.coral.service#UnknownOperationException"}'
SERIALIZATION = b'{"__type":"com.amazon.coral.service#SerializationException"}'


def bare(client, method="POST", path="/", body=b"", **headers):
    """A request with these headers only."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    client.send("\r\n".join(lines) + "\r\n\r\n").send(body)
    answer = client.answer()
    assert int(answer["x-amz-crc32"]) == zlib.crc32(answer.body)
    assert len(answer["x-amzn-RequestId"]) == 52
    return answer


def test_get_is_a_health_check(client):
    answer = bare(client, "GET")
    assert answer.status == 200
    assert answer.body == b"healthy: dynamodb.us-east-1.amazonaws.com "


@pytest.mark.parametrize("path", ["/abc", "/-", "/index.htm", "/health"])
def test_get_of_another_path_is_404(client, path):
    assert bare(client, "GET", path).status == 404


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "BREW"])
def test_other_methods_are_404(client, method):
    answer = bare(client, method)
    assert answer.status == 404
    assert answer.body == NOT_FOUND


@pytest.mark.parametrize("content_type", [None, "whatever", "application/x-amz-json-1.1", "application/jsonasdf"])
def test_a_body_of_another_type_is_404(client, content_type):
    headers = {"Content_Type": content_type} if content_type else {}
    answer = bare(client, body=b"hi", **headers)
    assert answer.status == 404
    assert answer.body == NOT_FOUND


@pytest.mark.parametrize(
    "content_type, answered",
    [
        (JSON, JSON),
        (AMZ_JSON, AMZ_JSON),
        ("application/json;", JSON),
        ("  application/json  ;   asfd", JSON),
        ("application/x-amz-json-1.0;blahblah", AMZ_JSON),
    ],
)
def test_a_body_that_is_not_json_is_found_first(client, content_type, answered):
    answer = bare(client, body=b"hi", Content_Type=content_type)
    assert (answer.status, answer.body) == (400, SERIALIZATION)
    assert answer["Content-Type"] == answered


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X_Amz_Target": "whatever"},
        {"X_Amz_Target": "DynamoDB_20120810.ListTable"},
        {"X_Amz_Target": "DynamoDB_20120810."},
        {"X_Amz_Target": "DynamoDBStreams_20120810.PutItem"},
    ],
)
def test_an_unknown_target_is_found_before_the_signature(client, headers):
    answer = bare(client, **headers)
    assert (answer.status, answer.body) == (400, UNKNOWN)
    assert answer["Content-Type"] == JSON


LIST = {"X_Amz_Target": "DynamoDB_20120810.ListTables"}


def coral(name, message):
    return f'{{"__type":"com.amazon.coral.service#{name}","message":"{message}"}}'.encode()


@pytest.mark.parametrize(
    "path, headers",
    [
        ("/", {}),
        ("/", {"Authorization": "AWS4"}),
        ("/?X-Amz-Algorith", {"Authorization": "X"}),
        ("/?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d", {}),
    ],
)
def test_missing_authentication_token(client, path, headers):
    answer = bare(client, path=path, **LIST, **headers)
    assert answer.status == 400
    assert answer.body == coral("MissingAuthenticationTokenException", "Request is missing Authentication Token")


def test_signature_in_header_and_query(client):
    answer = bare(client, path="/?X-Amz-Algorithm", Authorization="X", **LIST)
    assert answer.body == coral(
        "InvalidSignatureException",
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    )


@pytest.mark.parametrize(
    "path, headers, message",
    [
        (
            "/",
            {"Authorization": "AWS4-"},
            "Authorization header requires 'Credential' parameter. "
            "Authorization header requires 'Signature' parameter. "
            "Authorization header requires 'SignedHeaders' parameter. "
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
            "Authorization=AWS4-",
        ),
        (
            "/",
            {"Authorization": "AWS4- Signature=b Credential=a", "Date": "a"},
            "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4- Signature=b Credential=a",
        ),
        (
            "/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d",
            {},
            "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
            "Re-examine the query-string parameters.",
        ),
    ],
)
def test_incomplete_signature(client, path, headers, message):
    answer = bare(client, path=path, **LIST, **headers)
    assert answer.status == 400
    assert answer.body == coral("IncompleteSignatureException", message)


def test_a_presigned_request_is_answered(client):
    path = (
        "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20260101%2Fus-east-1%2Fdynamodb%2Faws4_request"
        "&X-Amz-Date=20260101T000000Z&X-Amz-SignedHeaders=host&X-Amz-Signature=ab"
    )
    assert bare(client, path=path, body=b"{}", Content_Type=AMZ_JSON, **LIST).status == 200


def test_an_empty_body_is_found_last(client):
    answer = client.send(request(body="")).answer()
    assert (answer.status, answer.body) == (400, SERIALIZATION)


def test_no_cors_headers_without_an_origin(client):
    for method in ("GET", "POST", "OPTIONS"):
        answer = bare(client, method)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_an_origin_is_allowed_on_every_answer(client):
    for method in ("GET", "POST", "OPTIONS"):
        answer = bare(client, method, Origin="http://example.com/", Access_Control_Request_Method="dog")
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert (
            answer["Access-Control-Expose-Headers"] == "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"
        )
        is_preflight = method == "OPTIONS"
        assert ("Access-Control-Max-Age" in answer) == is_preflight
        assert ("Access-Control-Allow-Methods" in answer) == is_preflight


def test_a_preflight_allows_what_it_is_asked_for(client):
    answer = bare(
        client,
        "OPTIONS",
        Origin="whatever",
        Access_Control_Request_Headers="a, b, c",
        Access_Control_Request_Method="d",
    )
    assert (answer.status, answer.body) == (200, b"")
    assert answer["Access-Control-Allow-Headers"] == "a, b, c"
    assert answer["Access-Control-Allow-Methods"] == "d"
    assert answer["Access-Control-Max-Age"] == "172800"


def test_the_operators_health_page(client):
    answer = bare(client, "GET", "/_stator/health")
    assert answer.status == 200
    assert answer.body.startswith(b'{"status":"ok"')
    assert bare(client, "GET", "/_stator/other").status == 404
