"""Starts a Stator server for a test and ends it again.

The binary is build/stator, or what STATOR_BINARY names. A server picks a free port itself and says on one line of its
standard output where it listens; nothing here sleeps or guesses.
"""

import os
import pathlib
import re
import select
import signal
import subprocess
import tempfile
import time

from patience import SLOWER

ROOT = pathlib.Path(__file__).resolve().parent.parent
READY = re.compile(r"is ready: https?://[^\s/]+:(\d+)")
START_TIMEOUT_S = 30 * SLOWER
STOP_TIMEOUT_S = 30 * SLOWER


def binary():
    path = pathlib.Path(os.environ.get("STATOR_BINARY", ROOT / "build" / "stator"))
    if not path.exists():
        raise RuntimeError(f"{path} does not exist: run make first")
    return str(path)


class StatorProcess:
    """A running server. Use it as a context manager, or call stop() or kill() yourself."""

    def __init__(self, *args):
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [binary(), "--port", "0", *(args or ("--in-memory",))],
            stdout=subprocess.PIPE,
            stderr=self._log,
            stdin=subprocess.DEVNULL,
        )
        try:
            self.port = self._read_port()
        except BaseException:
            self.kill()
            raise
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def _read_port(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        output = b""
        stdout = self._process.stdout
        while time.monotonic() < deadline:
            readable, _, _ = select.select([stdout], [], [], deadline - time.monotonic())
            if not readable:
                break
            chunk = os.read(stdout.fileno(), 4096)
            if not chunk:
                break
            output += chunk
            found = READY.search(output.decode(errors="replace"))
            if found:
                return int(found.group(1))
        raise RuntimeError(
            f"no ready line from the server; it printed {output!r} and logged:\n{self.log()}"
        )

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process.poll() is None

    def log(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def stop(self):
        """Asks the server to end, as an operator would, and returns its exit code."""
        if self.running():
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self._process.stdout.close()
        return self._process.returncode

    def kill(self):
        """Ends the server at once, without a chance to write anything."""
        if self.running():
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
