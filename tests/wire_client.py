"""The wire protocol without an SDK: one connection, JSON as it is, a signature that is well formed but of nobody."""

import datetime
import http.client
import json
import zlib

from patience import SLOWER

STREAMS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}
SCALING = {
    "RegisterScalableTarget", "DescribeScalableTargets", "DeregisterScalableTarget", "PutScalingPolicy",
    "DescribeScalingPolicies", "DeleteScalingPolicy", "DescribeScalingActivities",
}


def service_of(operation):
    if operation in SCALING:
        return "AnyScaleFrontendService"
    return "DynamoDBStreams_20120810" if operation in STREAMS else "DynamoDB_20120810"


AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/{day}/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=" + "0123456789abcdef" * 4
)


class WireClient:
    """Keeps its connection open from one call to the next. Not for several threads at once."""

    def __init__(self, port, timeout_s=60 * SLOWER):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)

    def call(self, operation, request):
        """Sends a request, an object or the text of a body; returns status and answer."""
        body = request if isinstance(request, str) else json.dumps(request)
        now = datetime.datetime.utcnow()
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"{service_of(operation)}.{operation}",
            "X-Amz-Date": now.strftime("%Y%m%dT%H%M%SZ"),
            "Authorization": AUTHORIZATION.format(day=now.strftime("%Y%m%d")),
        }
        self._connection.request("POST", "/", body.encode(), headers)
        response = self._connection.getresponse()
        answer = response.read()
        checksum = response.getheader("x-amz-crc32")
        assert checksum is None or int(checksum) == zlib.crc32(answer)
        return response.status, json.loads(answer)

    def expect(self, operation, request):
        """The answer of a request that must succeed."""
        status, answer = self.call(operation, request)
        assert status == 200, f"{operation}: {answer}"
        return answer

    def close(self):
        self._connection.close()
