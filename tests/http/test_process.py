"""The process: options, the ready line, time-outs, and how it ends."""

import signal
import socket
import subprocess
import time

import pytest

from conftest import BINARY, head, request
from patience import SLOWER


def run(*flags, env=None):
    """Runs a server that must not start; gives exit code and stderr."""
    done = subprocess.run([BINARY, *flags], capture_output=True, text=True, timeout=20 * SLOWER, env=env)
    assert done.stdout == ""
    return done.returncode, done.stderr


def one_line(text):
    return text.startswith("stator: ") and text.count("\n") == 1 and text.endswith("\n")


def test_the_ready_line_names_port_and_data(start, tmp_path):
    server = start("--data-dir", str(tmp_path / "data"), in_memory=False)
    assert server.ready.startswith("Stator ")
    assert f"is ready: http://127.0.0.1:{server.port} (data in {tmp_path}/data, durability sync)\n" in server.ready
    server = start()
    assert server.ready.endswith("(data in memory, nothing is kept)\n")


def test_environment_and_file(start, tmp_path):
    config = tmp_path / "stator.toml"
    config.write_text('region = "eu-north-1"\nthreads = 1\n')
    server = start("--config", str(config), env={"STATOR_IN_MEMORY": "1"}, in_memory=False)
    with server.connect() as client:
        answer = client.send(b"GET / HTTP/1.1\r\n\r\n").answer()
        assert answer.body == b"healthy: dynamodb.eu-north-1.amazonaws.com "


@pytest.mark.parametrize(
    "flags",
    [
        ["--port", "99999"],
        ["--durability", "maybe"],
        ["--no-such-flag"],
        ["--config", "/no/such/file"],
        ["--account", "1"],
    ],
)
def test_wrong_options_are_one_line_and_exit_code_2(flags):
    code, text = run(*flags)
    assert code == 2
    assert one_line(text)


def test_help_and_version():
    for flag, word in (("--help", "--data-dir"), ("--version", "Stator ")):
        done = subprocess.run([BINARY, flag], capture_output=True, text=True, timeout=20 * SLOWER)
        assert done.returncode == 0
        assert word in done.stdout


def test_a_port_in_use_is_one_line_and_exit_code_1(server, tmp_path):
    code, text = run("--port", str(server.port), "--data-dir", str(tmp_path / "data"))
    assert code == 1
    assert one_line(text)
    assert f"127.0.0.1:{server.port}" in text
    assert not (tmp_path / "data").exists()


def test_a_directory_that_cannot_be_made_is_one_line_and_exit_code_1(tmp_path):
    (tmp_path / "file").write_text("")
    code, text = run("--port", "0", "--data-dir", str(tmp_path / "file" / "data"))
    assert code == 1
    assert one_line(text)


def test_a_directory_in_use_is_one_line_and_exit_code_1(start, tmp_path):
    start("--data-dir", str(tmp_path / "data"), in_memory=False)
    code, text = run("--port", "0", "--data-dir", str(tmp_path / "data"))
    assert code == 1
    assert one_line(text)


def test_it_starts_in_milliseconds(start):
    begin = time.monotonic()
    start()
    assert time.monotonic() - begin < 2 * SLOWER  # a loaded machine; a few ms otherwise


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0(start, number):
    server = start()
    with server.connect() as client:
        assert client.send(request()).answer().status == 200
        server.process.send_signal(number)
        assert client.is_closed()
    assert server.process.wait(20 * SLOWER) == 0


def test_a_request_under_way_is_answered_before_the_end(start):
    server = start()
    with server.connect() as busy, server.connect() as idle:
        assert idle.send(request()).answer().status == 200
        assert busy.send(request()).answer().status == 200
        busy.send(head(Content_Length=2, Expect="100-continue") + b"\r\n")
        assert busy.answer().status == 100
        server.terminate()
        assert idle.is_closed()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=5)
        answer = busy.send(b"{}").answer()
        assert answer.status == 200
        assert answer["Connection"] == "close"
        assert busy.is_closed()
    assert server.process.wait(20 * SLOWER) == 0


def test_a_request_that_never_ends_does_not_keep_the_server(start):
    server = start("--drain-timeout-ms", "200")
    with server.connect() as client:
        client.send(head(Content_Length=2, Expect="100-continue") + b"\r\n")
        assert client.answer().status == 100
        server.terminate()
        assert client.is_closed()
    assert server.process.wait(20 * SLOWER) == 1


def test_a_header_that_does_not_end_is_cut_off(start):
    server = start("--header-timeout-ms", "200")
    with server.connect() as silent, server.connect() as slow:
        begin = time.monotonic()
        slow.send(b"POST / HTTP/1.1\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(200):  # a byte now and then does not buy more time
                slow.send(b"x")
                time.sleep(0.05)
        assert silent.is_closed()
        assert time.monotonic() - begin < 8 * SLOWER


def test_a_body_that_does_not_come_is_cut_off(start):
    server = start("--transfer-timeout-ms", "200")
    with server.connect() as client:
        client.send(head(Content_Length=10) + b"\r\n{")
        assert client.is_closed()
    with server.connect() as client:
        client.send(head(Transfer_Encoding="chunked") + b"\r\n5\r\n{")
        assert client.is_closed()


def test_an_answer_that_is_not_taken_is_cut_off(start):
    server = start("--transfer-timeout-ms", "300", "--threads", "1")
    echoed = request(Authorization="AWS4-" + "x" * 12_000)  # the error repeats the header
    with server.connect() as client:
        client.sock.settimeout(0.2)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:  # until the server no longer reads, then until it has closed
                try:
                    client.send(echoed * 100)
                except socket.timeout:
                    pass
    with server.connect() as other:
        assert other.send(request()).answer().status == 200


def test_an_idle_connection_is_closed(start):
    server = start("--idle-timeout-ms", "200")
    with server.connect() as client:
        assert client.send(request()).answer().status == 200
        assert client.is_closed()


def test_connections_are_bounded(start):
    server = start("--max-connections", "2", "--threads", "2")
    first, second = (server.connect().send(head(Content_Length=2) + b"\r\n") for _ in range(2))
    with first, second, server.connect() as third:
        third.send(request()).sock.settimeout(0.3)
        with pytest.raises(socket.timeout):
            third.answer()
        assert first.send(b"{}").answer().status == 200
        first.close()
        third.sock.settimeout(20)
        assert third.answer().status == 200


def test_idle_connections_give_way_to_those_that_wait(start):
    server = start("--max-connections", "20", "--threads", "2")
    busy = server.connect(timeout=60).send(head(Content_Length=2) + b"\r\n")
    silent = [server.connect() for _ in range(9)]
    used = [server.connect(timeout=60) for _ in range(10)]
    for client in used:
        assert client.send(request()).answer().status == 200
    with server.connect(timeout=60) as another:
        assert another.send(request()).answer().status == 200
    assert busy.send(b"{}").answer().status == 200
    for client in [busy, *silent, *used]:
        client.close()


def test_many_connections_at_once(server):
    clients = [server.connect() for _ in range(300)]
    for client in clients:
        client.send(request())
    for client in clients:
        assert client.answer().status == 200
        client.close()
