"""DynamoDB Local's command line starts Stator, so that its image can be replaced by name."""

import signal
import subprocess
import urllib.request

import pytest

from stator_process import READY, binary


def start(*arguments, cwd=None):
    process = subprocess.Popen([binary(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    line = process.stdout.readline()
    return process, line


def stop(process):
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    return log


@pytest.mark.parametrize("arguments", [
    ["-jar", "DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-port", "0"],
    ["-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-inMemory", "-port", "0"],
    ["-Xmx1G", "-jar", "DynamoDBLocal.jar", "-inMemory", "-cors", "*", "-port", "0", "-disableTelemetry"],
    ["-inMemory", "-port", "0"],
])
def test_in_memory(arguments, tmp_path):
    process, line = start(*arguments, cwd=tmp_path)
    assert "data in memory" in line
    port = READY.search(line).group(1)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        assert answer.read().startswith(b"healthy: dynamodb.us-east-1.amazonaws.com")
    stop(process)
    assert list(tmp_path.iterdir()) == []


def test_data_in_a_directory(tmp_path):
    (tmp_path / "data").mkdir()
    for _ in range(2):
        process, line = start(
            "-jar", "DynamoDBLocal.jar", "-sharedDb", "-optimizeDbBeforeStartup", "-dbPath", "./data", "-port", "0",
            "-delayTransientStatuses", cwd=tmp_path)
        assert "data in ./data, durability sync" in line
        assert "-optimizeDbBeforeStartup has no effect" in stop(process)
    assert (tmp_path / "data" / "FORMAT").exists()


@pytest.mark.parametrize("arguments, message", [
    (["-jar", "DynamoDBLocal.jar", "-inMemory", "-dbPath", "x"], "-dbPath and -inMemory cannot be used together"),
    (["-jar", "DynamoDBLocal.jar", "-noSuchThing"], "DynamoDB Local has no option '-noSuchThing'"),
    (["-jar", "DynamoDBLocal.jar", "-port"], "-port needs a value"),
])
def test_what_is_wrong_there_is_wrong_here(arguments, message):
    result = subprocess.run([binary(), *arguments], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (2, f"stator: {message}\n")


def test_the_name_java(tmp_path):
    """In the image, java is another name of the binary: an entry point may say so."""
    (tmp_path / "java").symlink_to(binary())
    process = subprocess.Popen([tmp_path / "java", "-Djava.library.path=./DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar",
                                "-sharedDb", "-inMemory", "-port", "0"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert "data in memory" in process.stdout.readline()
    stop(process)


def test_help():
    result = subprocess.run([binary(), "-jar", "DynamoDBLocal.jar", "-help"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, "--data-dir" in result.stdout) == (0, True)
