"""The configuration file, the manual page and the dashboard say what the server has."""

import json
import pathlib
import re
import shutil
import subprocess
import urllib.request

import boto3
import pytest

from stator_process import binary

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "packaging" / "stator.toml"


def run(*arguments, **more):
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=60, **more)


def settings(*arguments, **more):
    """{name: (value, source)} as `stator config` prints them."""
    result = run("config", *arguments, **more)
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    return {name: (value, source) for name, value, source in (
        re.fullmatch(r"(\S+) = (.*?)\s+# (.*)", line).groups() for line in lines)}


def test_config_prints_what_is_in_force_and_from_where(tmp_path, monkeypatch):
    file = tmp_path / "stator.toml"
    file.write_text('region = "eu-north-1"\nport = 1\nthreads = 2\n')
    monkeypatch.setenv("STATOR_PORT", "2")
    monkeypatch.setenv("STATOR_THREADS", "3")
    found = settings("--config", str(file), "--threads", "4")
    assert found["region"] == ('"eu-north-1"', f"region in {file}")
    assert found["port"] == ("2", "STATOR_PORT")
    assert found["threads"] == ("4", "--threads")
    assert found["host"] == ('"127.0.0.1"', "default")
    assert found["in-memory"] == ("false", "default")


def test_what_config_prints_is_a_configuration_file(tmp_path):
    file = tmp_path / "stator.toml"
    file.write_text(run("config", "--account", "000000000042", "--in-memory", "--data-dir", 'a "quoted" \\ name').stdout)
    found = settings("--config", str(file))
    assert found["account"][0] == '"000000000042"'
    assert found["in-memory"][0] == "true"
    assert found["data-dir"][0] == r'"a \"quoted\" \\ name"'
    assert {source for _, source in found.values()} == {f"{name} in {file}" for name in found}


def test_the_packaged_configuration_names_every_key_with_its_default(tmp_path):
    defaults = settings()
    text = CONFIG.read_text().split("\n#[functions]")[0]  # what follows are tables of names that a user gives
    named = re.findall(r"^#?([a-z0-9-]+) = (.*)$", text, re.M)
    assert [name for name, _ in named if name not in defaults] == []
    assert {name for name in defaults} == {name for name, _ in named}
    assert {name: value for name, value in named if name != "data-dir"} == {
        name: value for name, (value, _) in defaults.items() if name != "data-dir"}
    # With every line uncommented it is still a configuration that the server takes.
    whole = tmp_path / "whole.toml"
    whole.write_text(re.sub(r"^#(?=[a-z0-9-]+ = )", "", text, flags=re.M))
    assert settings("--config", str(whole))["data-dir"] == ('"/var/lib/stator"', f"data-dir in {whole}")


def test_the_manual_page_names_every_option():
    page = (ROOT / "packaging" / "stator.1").read_text().replace("\\-", "-")
    page = page.split(".SH OPTIONS")[1].split(".SH ")[0]
    assert set(re.findall(r"^\.BI? --([a-z0-9-]+)", page, re.M)) == {*settings(), "config"}


def test_help_shows_switches_as_they_are_written():
    text = run("--help").stdout
    assert "--in-memory " in text
    assert "{" not in text


def test_unknown_names_are_errors_with_a_suggestion(tmp_path):
    file = tmp_path / "stator.toml"
    file.write_text("prot = 1\ndata_dir = 'x'\nzzz = 1\n")
    result = run("--config", str(file))
    assert result.returncode == 2
    assert result.stderr == (
        f"stator: unknown key in {file}: data_dir (did you mean data-dir?), prot (did you mean port?), zzz\n")
    result = run("--in-memroy")
    assert (result.returncode, "did you mean --in-memory?" in result.stderr) == (2, True)
    result = run("confg")
    assert (result.returncode, result.stderr) == (2, "stator: there is no command 'confg' (did you mean config?)\n")


@pytest.fixture
def metrics(server):
    boto3.client("dynamodb", endpoint_url=server.endpoint).list_tables()
    with urllib.request.urlopen(f"{server.endpoint}/_stator/metrics", timeout=30) as answer:
        return set(re.findall(r"^# TYPE (\S+)", answer.read().decode(), re.M))


def test_the_dashboard_shows_every_metric_and_no_other(metrics):
    dashboard = json.loads((ROOT / "packaging" / "grafana" / "stator.json").read_text())
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            for name in re.findall(r"stator_[a-z0-9_]+", target["expr"]):
                whole = re.sub(r"_(bucket|sum|count)$", "", name)
                asked.add(whole if whole in metrics else name)
    assert asked - metrics == set()
    assert metrics - asked == {"stator_build_info"}  # which its variables ask for


def test_every_metric_is_documented(metrics):
    text = (ROOT / "docs" / "operations.md").read_text().split("\n## Metrics\n")[1].split("\n## ")[0]
    patterns = [name.replace("*", ".*") for name in re.findall(r"`(stator_[a-z_*]+)", text)]
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, name) for name in metrics)] == []
    assert {name for name in metrics if not any(re.fullmatch(pattern, name) for pattern in patterns)} == set()


def test_the_image_has_the_libraries_that_the_binary_needs():
    if any(shutil.which(tool) is None for tool in ("dpkg-query", "ldd", "objdump")):
        pytest.skip("this is not Debian, or has no compiler")

    def output(*command):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    # ldd knows where they are, and also those that others need.
    places = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", binary())))
    needed = [places[name] for name in re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", binary())) if name in places]
    # A package may say /lib or /usr/lib, which are one directory.
    known = output("dpkg-query", "--search", *("*/" + "/".join(place.split("/")[-2:]) for place in needed))
    owners = {line.split(":", 1)[0] for line in known.splitlines()}
    assert "libc6" in owners
    dockerfile = (ROOT / "packaging" / "Dockerfile").read_text()
    installed = set(re.search(r"--no-install-recommends \\\n\s+(.*?) \\\n", dockerfile).group(1).split())
    assert "libssl3" in installed  # loaded when it is needed
    # These are in every Debian.
    assert owners - {"libc6", "libgcc-s1", "libstdc++6"} <= installed
