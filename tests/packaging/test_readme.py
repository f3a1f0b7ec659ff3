"""README.md, followed word for word: what it says to type works, its options are those that there are, its links lead
somewhere."""

import os
import pathlib
import re
import subprocess

import pytest

from cli_fixtures import write_aws
from stator_process import binary

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8000"
SDK = ROOT / "tests" / "sdk"


def block(heading, language):
    """The code under a heading."""
    section = README.split(f"\n{heading}\n", 1)[1]
    return re.search(rf"```{language}\n(.*?)```", section, re.S).group(1)


@pytest.fixture
def run(endpoint, no_table_stays, tmp_path):
    def start(*command, text=None, cwd=tmp_path, env=None):
        environment = {**os.environ, "PATH": write_aws(tmp_path / "bin", endpoint), "HOME": str(tmp_path), **(env or {})}
        result = subprocess.run(command, cwd=cwd, env=environment, input=text, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return start


def test_three_minutes_with_the_cli_and_going_back(run, endpoint):
    commands = block("### AWS CLI", "sh") + block("### Going back", "sh")
    text = run("bash", "-eu", "-c", commands.replace(ADDRESS, endpoint), env={"AWS_DEFAULT_OUTPUT": "json"})
    assert '"TableName": "Music"' in text
    assert '"Plays": {\n            "N": "1"' in text
    assert '"Count": 1' in text
    assert '"ACTIVE"' in text
    assert '"TableName": "Before"' in text
    assert '"BackupStatus": "AVAILABLE"' in text or '"BackupStatus": "CREATING"' in text


def test_three_minutes_with_boto3(run, endpoint):
    program = block("### Python (boto3)", "python").replace(ADDRESS, endpoint)
    text = run("/usr/bin/python3", "-", text=program)
    assert text == "{'cast': ['Kaidanovsky', 'Freindlich'], 'title': 'Stalker', 'year': Decimal('1979')}\n"


@pytest.mark.skipif(not (SDK / "node_modules").exists(), reason="the packages of tests/sdk are not installed")
def test_three_minutes_with_javascript(run, endpoint):
    program = block("### JavaScript (AWS SDK v3)", "js").replace(ADDRESS, endpoint)
    text = run("node", "--input-type=module", "-", text=program, cwd=SDK)
    assert text == "{ isbn: '9780141439518', pages: 435 }\n"


def test_the_commands_of_the_binary_that_it_names_exist():
    for command in set(re.findall(r"^build/stator ([a-z]+)", README, re.M)):
        result = subprocess.run([binary(), command, "--help"], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, command


def test_its_options_are_those_that_there_are():
    shown = subprocess.run([binary(), "config"], capture_output=True, text=True, timeout=60, check=True).stdout
    table = README.split("\n## Options\n", 1)[1].split("\n## ", 1)[0]
    named = re.findall(r"^\| `--([a-z0-9-]+)", table, re.M)
    there = re.findall(r"^([a-z0-9-]+) = ", shown, re.M)
    assert set(named) - set(there) == {"config"}
    # What is secret is no flag.
    assert {name for name in there if name not in named} <= {"s3-secret-key", "s3-session-token"}


def test_its_table_of_suites_is_that_of_run_tests():
    suites = re.search(r"^all=\((.*)\)$", (ROOT / "tools" / "run-tests").read_text(), re.M).group(1).split()
    table = README.split("\n## Tests\n", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| ([a-z]+) \| `", table, re.M)) == set(suites)


def anchors(text):
    """What GitHub calls the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md"))])
def test_links_lead_somewhere(document):
    text = (ROOT / document).read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / document).parent / file if file else ROOT / document
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text()), target
