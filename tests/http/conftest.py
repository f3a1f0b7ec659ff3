"""Starts the server for the tests of its HTTP layer. STATOR_BINARY names another binary than build/stator."""

import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest
from patience import SLOWER

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("STATOR_BINARY", str(ROOT / "build" / "stator"))


class Server:
    """A running server. Reads the ready line; end() sends SIGTERM and gives the exit code."""

    def __init__(self, *flags, env=None, in_memory=True):
        command = [BINARY, "--port", "0", *flags]
        if in_memory:
            command.append("--in-memory")
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.ready = self.process.stdout.readline()
        found = re.search(r"http://[^ ]*:(\d+) ", self.ready)
        assert found, f"no ready line: {self.ready!r} {self.process.stderr.read()}"
        self.port = int(found.group(1))

    def connect(self, timeout=10 * SLOWER):
        return Client(socket.create_connection(("127.0.0.1", self.port), timeout=timeout))

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self, timeout=20 * SLOWER):
        if self.process.poll() is None:
            self.terminate()
        self.process.communicate(timeout=timeout)
        return self.process.returncode


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def __getitem__(self, name):
        return self.headers[name.lower()]

    def __contains__(self, name):
        return name.lower() in self.headers


class Client:
    """A raw connection that reads one answer at a time."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())
        return self

    def _fill(self):
        piece = self.sock.recv(65536)
        if not piece:
            raise EOFError("the server closed the connection")
        self.buffer += piece

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        version, status, _ = lines[0].split(" ", 2)
        assert version == "HTTP/1.1"
        headers = {}
        for line in lines[1:]:
            name, value = line.split(": ", 1)
            assert name.lower() not in headers, f"{name} twice"
            headers[name.lower()] = value
        return int(status), headers

    def answer(self, head_only=False):
        status, headers = self.read_head()
        if status == 100 or head_only:
            return Answer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            while not self.buffer.startswith(b"0\r\n\r\n"):
                self._fill()
            self.buffer = self.buffer[5:]
            return Answer(status, headers, b"")
        size = int(headers["content-length"])
        while len(self.buffer) < size:
            self._fill()
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Answer(status, headers, body)

    def is_closed(self):
        """True once the server has closed; fails with a time-out if it does not."""
        assert self.buffer == b""
        try:
            return self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=0123"
)


def head(operation="ListTables", line="POST / HTTP/1.1", **headers):
    """The head of a signed request, without the empty line. headers: Content_Length=3; None leaves one out."""
    values = {
        "Host": "localhost",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": AUTHORIZATION,
    }
    values.update({name.replace("_", "-"): value for name, value in headers.items()})
    lines = [line] + [f"{name}: {value}" for name, value in values.items() if value is not None]
    return ("\r\n".join(lines) + "\r\n").encode()


def request(operation="ListTables", body="{}", line="POST / HTTP/1.1", **headers):
    """A whole signed request with its body's length."""
    body = body if isinstance(body, bytes) else body.encode()
    return head(operation, line, Content_Length=len(body), **headers) + b"\r\n" + body


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    assert running.end() == 0


@pytest.fixture
def client(server):
    with server.connect() as connection:
        yield connection


@pytest.fixture
def start():
    """Starts servers with flags of the test's own."""
    servers = []

    def make(*flags, **options):
        servers.append(Server(*flags, **options))
        return servers[-1]

    yield make
    for running in servers:
        running.end()
