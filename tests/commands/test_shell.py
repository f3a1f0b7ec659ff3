"""stator shell in a pipe and at a terminal."""

import json
import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest

from stator_process import binary

SETUP = """
create table Orders (PK S, SK N)
INSERT INTO Orders VALUE {'PK': 'a', 'SK': 1, 'name': 'first', 'tags': ['x', 2]};
INSERT INTO Orders
  VALUE {'PK': 'a', 'SK': 10, 'total': 2.50};
"""


@pytest.fixture
def shell(stator, endpoint):
    def run(text, *more, code=0):
        result = stator("shell", "--endpoint", endpoint, *more, text=text)
        assert result.returncode == code, result.stderr
        return result

    return run


def test_statements_in_a_pipe(shell):
    assert shell(SETUP).stdout == "created\ndone\ndone\n"
    assert shell("SELECT * FROM Orders WHERE PK = 'a'").stdout == (
        "PK  SK  name   tags     total\n"
        "--  --  -----  -------  -----\n"
        "a    1  first  [\"x\",2]\n"
        "a   10                    2.5\n")
    assert shell("SELECT * FROM Orders WHERE PK = 'nobody'").stdout == "no rows\n"


def test_items_as_json(shell):
    shell(SETUP)
    lines = shell("SELECT * FROM Orders", "--format", "json").stdout.splitlines()
    assert json.loads(lines[0]) == {"PK": "a", "SK": 1, "name": "first", "tags": ["x", 2]}
    lines = shell("format dynamo\nSELECT PK FROM Orders;").stdout.splitlines()
    assert json.loads(lines[0]) == {"PK": {"S": "a"}}


def test_tables_are_listed_described_counted_and_dropped(shell):
    shell(SETUP)
    text = shell("tables; describe Orders; count Orders").stdout
    assert re.search(r"^Orders  ACTIVE +2 +\d+  PK \(S, partition key\), SK \(N, sort key\)$", text, re.M)
    assert text.endswith("2\n")
    assert shell("create index by_name on Orders (name S)").stdout == "created\n"
    assert "global index by_name" in shell("describe Orders").stdout
    assert shell("drop table Orders").stdout == "dropped\n"
    assert shell("tables").stdout == "no tables\n"


def test_several_pages_are_shown_as_one(shell, create_table, client):
    create_table("Big", "PK", "SK")
    for number in range(12):
        client.put_item(TableName="Big", Item={"PK": {"S": "p"}, "SK": {"S": f"{number:02}"}, "t": {"S": "x" * 200_000}})
    lines = shell("SELECT SK FROM Big WHERE PK = 'p'", "--format", "json").stdout.splitlines()
    assert [json.loads(line)["SK"] for line in lines] == [f"{number:02}" for number in range(12)]


def test_a_transaction_happens_as_a_whole(shell):
    shell(SETUP)
    update = "UPDATE Orders SET n = 1 WHERE PK = 'a' AND SK = {};"
    assert shell("begin\n" + update.format(1) + update.format(10) + "\ncommit").stdout == "committed\n"
    result = shell("begin\n" + update.format(10) + "INSERT INTO Orders VALUE {'PK': 'a', 'SK': 1};\ncommit", code=1)
    assert "TransactionCanceledException" in result.stderr
    assert shell("begin\n" + update.format(99) + "\nrollback").stdout == ""


def test_errors_are_told_and_the_rest_goes_on(shell):
    result = shell("SELECT * FROM Nowhere;\nnonsense;\nformat xml\ntables", code=1)
    assert result.stdout == "no tables\n"
    assert "ResourceNotFoundException: Requested resource not found" in result.stderr
    assert "ValidationException: " in result.stderr
    assert "the formats are table, json and dynamo" in result.stderr


def test_statements_on_the_command_line(shell):
    assert shell(None, "-c", "create table One (PK S)", "-c", "count One").stdout == "created\n0\n"


def test_an_endpoint_that_is_not_there(stator):
    result = stator("shell", "--endpoint", "http://127.0.0.1:1", text="tables")
    assert result.returncode == 1
    assert "127.0.0.1" in result.stderr


class Terminal:
    """A shell at a pseudo-terminal."""

    def __init__(self, endpoint, home):
        self.master, slave = pty.openpty()
        environment = {**os.environ, "HOME": str(home), "TERM": "xterm"}
        self.process = subprocess.Popen([binary(), "shell", "--endpoint", endpoint], stdin=slave, stdout=slave,
                                        stderr=slave, env=environment, start_new_session=True)
        os.close(slave)
        self.seen = ""

    def expect(self, text, timeout_s=30):
        deadline = time.monotonic() + timeout_s
        while text not in self.plain():
            readable, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert readable, f"no {text!r} in {self.seen!r}"
            self.seen += os.read(self.master, 65536).decode()
        self.seen = self.plain().split(text, 1)[1]
        if text.endswith("> "):
            self.wait_for_keys(deadline)

    def wait_for_keys(self, deadline):
        """A prompt is shown before keys are taken one by one: until then the terminal keeps control keys for itself."""
        while termios.tcgetattr(self.master)[3] & termios.ICANON:
            assert time.monotonic() < deadline, "the shell does not take keys"
            time.sleep(0.005)

    def plain(self):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", self.seen)

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        self.expect("stator> ")
        self.type("\x04")
        # The terminal changes its mode only once somebody has read what was printed.
        deadline = time.monotonic() + 30
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "the end of the input does not end the shell"
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    os.read(self.master, 65536)
                except OSError:  # The other side is closed.
                    self.process.wait(30)
        assert self.process.returncode == 0
        os.close(self.master)


def test_at_a_terminal_names_are_completed_and_history_is_kept(shell, endpoint, tmp_path):
    shell(SETUP)
    terminal = Terminal(endpoint, tmp_path)
    terminal.expect("stator> ")
    terminal.type("count Ord\t\n")
    terminal.expect("\n2\n")
    terminal.expect("stator> ")
    terminal.type("SELECT SK FROM Orders\n")
    terminal.expect("...> ")
    terminal.type("WHERE PK = 'a' AND SK = 10;\n")
    terminal.expect("10\n")
    terminal.end()
    assert "count" in (tmp_path / ".stator_history").read_text()

    again = Terminal(endpoint, tmp_path)
    again.expect("stator> ")
    again.type("\x1b[A\x1b[A\n")  # up twice: the command before the last
    again.expect("\n2\n")
    again.end()


def test_at_a_terminal_attributes_are_completed_before_the_table_is_named(shell, endpoint, tmp_path):
    shell(SETUP)
    terminal = Terminal(endpoint, tmp_path)
    terminal.expect("stator> ")
    terminal.type("SELECT na\tFROM Ord\tWHERE PK = 'a' AND SK = 1;\n")
    terminal.expect("first\n")
    # What was written since is known too.
    terminal.expect("stator> ")
    terminal.type("INSERT INTO Orders VALUE {'PK': 'b', 'SK': 1, 'postcode': 'X'};\n")
    terminal.expect("done\n")
    terminal.expect("stator> ")
    terminal.type("SELECT postc\tFROM Orders WHERE PK = 'b';\n")
    terminal.expect("X\n")
    terminal.end()


def test_at_a_terminal_ctrl_c_gives_up_what_was_typed(shell, endpoint, tmp_path):
    shell(SETUP)
    terminal = Terminal(endpoint, tmp_path)
    terminal.expect("stator> ")
    terminal.type("DELETE FROM Orders\n")
    terminal.expect("...> ")
    terminal.type("WHERE PK = \x03")
    terminal.expect("stator> ")
    terminal.type("count Orders\n")
    terminal.expect("\n2\n")
    terminal.end()


def test_attributes_that_no_item_has(shell):
    shell(SETUP)
    assert shell("SELECT nope FROM Orders").stdout == "2 rows without these attributes\n"
