"""A client that costs the machine little, for many requests: one connection, prepared bytes out, the answer's body in."""

import datetime
import json
import socket

from wire_client import AUTHORIZATION, service_of

LOST = (OSError, EOFError)


def prepare(operation, body):
    """The bytes of a request: an object or the text of its body."""
    text = (body if isinstance(body, str) else json.dumps(body)).encode()
    now = datetime.datetime.utcnow()
    head = (
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"X-Amz-Target: {service_of(operation)}.{operation}\r\nX-Amz-Date: {now:%Y%m%dT%H%M%SZ}\r\n"
        f"Authorization: {AUTHORIZATION.format(day=now.strftime('%Y%m%d'))}\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


class RawClient:
    """Not for several threads at once. Raises one of LOST when the server is gone."""

    def __init__(self, port, timeout_s=120):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = b""

    def send(self, request):
        self._socket.sendall(request)

    def receive(self):
        """Status and body of the next answer."""
        data = self._left
        while True:
            end = data.find(b"\r\n\r\n")
            if end >= 0:
                break
            data += self._more()
        head = data[:end].lower()
        at = head.index(b"content-length:") + 15
        size = int(head[at:head.find(b"\r", at) if b"\r" in head[at:] else None])
        whole = end + 4 + size
        if len(data) < whole:
            parts, have = [data], len(data)
            while have < whole:
                parts.append(self._more())
                have += len(parts[-1])
            data = b"".join(parts)
        self._left = data[whole:]
        return int(head[9:12]), data[end + 4:whole]

    def _more(self):
        data = self._socket.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        return data

    def exchange(self, request):
        self.send(request)
        return self.receive()

    def expect(self, operation, body):
        """The answer of a request that must succeed."""
        status, answer = self.exchange(prepare(operation, body))
        assert status == 200, f"{operation}: {answer[:500]!r}"
        return json.loads(answer)

    def close(self):
        self._socket.close()


def pages(client, table, **more):
    """The items of a table or an index, a page at a time."""
    start = {}
    while True:
        answer = client.expect("Scan", {"TableName": table, **more, **start})
        yield answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
