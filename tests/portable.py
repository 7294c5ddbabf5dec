"""The tests that compute, on what other processors would make of them.

`make portable` runs every variant and prints a table; `--quick`, for continuous integration, runs all processor
settings at once over the core of them. A variant is a set of environment variables that choose the kernels of torch
(ATEN), of numpy and scipy (OpenBLAS) and of numba, the number of threads, or the order of the tests.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA")}
TWO_THREADS = dict.fromkeys(ONE_THREAD, "2")
VARIANTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "torch without vector instructions": ({"ATEN_CPU_CAPABILITY": "default"}, []),
    "torch with AVX2": ({"ATEN_CPU_CAPABILITY": "avx2"}, []),
    "OpenBLAS as on Haswell": ({"OPENBLAS_CORETYPE": "Haswell"}, []),
    "OpenBLAS as on Zen": ({"OPENBLAS_CORETYPE": "Zen"}, []),
    "numba for any processor": ({"NUMBA_CPU_NAME": "generic"}, []),
    "one thread": (ONE_THREAD, []),
    "two threads": (TWO_THREADS, []),
    "random order, seed 1": ({}, ["--shuffle", "1"]),
    "random order, seed 2": ({}, ["--shuffle", "2"]),
    "random order, seed 3": ({}, ["--shuffle", "3"]),
}
QUICK = {
    "ATEN_CPU_CAPABILITY": "default",
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "generic",
    **ONE_THREAD,
}
# Servers, browsers, wheels and pages do not compute anything that the others do not.
LEFT_OUT = ["tests/serve", "tests/docs", "tests/faults", "tests/test_wheel.py", "tests/test_extras.py"]
CORE = ["tests/features", "tests/walks", "tests/model", "tests/train", "tests/infer", "tests/evaluate"]


def run(environment: dict[str, str], options: list[str]) -> tuple[bool, str, int]:
    """Run pytest with some variables set: whether it passed, its last line, and seconds."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", *options]
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-20_000:], done.stderr[-5_000:], sep="\n", file=sys.stderr, flush=True)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "no output"
    return done.returncode == 0, re.sub(r" in [\d.]+s.*", "", last), round(time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one run of the core with all processor settings")
    parser.add_argument("--only", default="", help="run the variants whose name contains this")
    arguments = parser.parse_args()
    if arguments.quick:
        variants = {"all processor settings, random order": (QUICK, ["--shuffle", "1", *CORE])}
    else:
        ignored = [f"--ignore={path}" for path in LEFT_OUT]
        variants = {name: (given, [*ignored, *more]) for name, (given, more) in VARIANTS.items()}
    print("| variant | result | seconds |\n|---|---|---:|", flush=True)
    failed = 0
    for name, (environment, options) in variants.items():
        if arguments.only in name:
            passed, summary, seconds = run(environment, options)
            failed += not passed
            print(f"| {name} | {summary} | {seconds} |", flush=True)
    if failed:
        raise SystemExit(f"{failed} variants failed")


if __name__ == "__main__":
    main()
