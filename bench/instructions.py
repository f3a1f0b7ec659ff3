#!/usr/bin/env python3
"""Instructions that each micro-benchmark takes, counted by callgrind: the same on a busy machine as on an idle one.

    bench/instructions.py [--binary build/bench_micro] [--out build/bench/instructions.json]

A case is run a number of times and again twice as often; the difference is what the runs themselves took.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

TIMES = 200


def instructions(binary, name, times):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", binary, "--run", name, str(times)],
            capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(root / "build" / "bench_micro"))
    parser.add_argument("--out", default=str(root / "build" / "bench" / "instructions.json"))
    asked = parser.parse_args()
    names = subprocess.run([asked.binary, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    for name in names:
        once = instructions(asked.binary, name, TIMES)
        found[name] = (instructions(asked.binary, name, 2 * TIMES) - once) / TIMES
        print(f"{name:40}{found[name]:12,.0f}", flush=True)
    out = pathlib.Path(asked.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
