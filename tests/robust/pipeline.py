"""Sends many requests on one connection without waiting for each answer."""

import json
import socket

from patience import SLOWER
from wire_client import AUTHORIZATION

ANSWER_S = 60 * SLOWER


class Pipeline:
    DEPTH = 16

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), ANSWER_S)
        self._buffer = b""

    def close(self):
        self._socket.close()

    @staticmethod
    def _head(service, operation, size):
        return (f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n"
                f"X-Amz-Target: {service}.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n"
                f"Authorization: {AUTHORIZATION.format(day='20260101')}\r\nContent-Length: {size}\r\n\r\n").encode()

    def _fill(self):
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server closed the connection")
        self._buffer += piece

    def _answer(self):
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        size = int(headers["content-length"])
        while len(self._buffer) < size:
            self._fill()
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return int(lines[0].split()[1]), body

    def send(self, service, operation, bodies):
        """The answers, in order: (status, parsed JSON)."""
        for start in range(0, len(bodies), self.DEPTH):
            some = [body.encode("utf-8", "surrogatepass") for body in bodies[start:start + self.DEPTH]]
            self._socket.sendall(b"".join(self._head(service, operation, len(body)) + body for body in some))
            for _ in some:
                status, body = self._answer()
                yield status, json.loads(body or b"{}")  # some answers of success are empty
