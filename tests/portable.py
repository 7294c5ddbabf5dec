"""The tests that compute, on what other processors would make of them.

`make portable` runs every variant and prints a table; `--quick`, for continuous integration, runs one over the core
of the tests. A variant chooses the kernels of torch (ATEN), of numpy and scipy (OpenBLAS) and of numba, the number of
threads, and the order of the tests.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
PLAIN = {"ATEN_CPU_CAPABILITY": "default", "OPENBLAS_CORETYPE": "Haswell", **dict.fromkeys(THREADS, "1")}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "OPENBLAS_CORETYPE": "Zen", **dict.fromkeys(THREADS, "2")}
GENERIC = {"NUMBA_CPU_NAME": "generic"}
VARIANTS = {
    "torch without vector instructions, OpenBLAS as on Haswell, one thread": (PLAIN, 1),
    "torch with AVX2, OpenBLAS as on Zen, two threads": (AVX2, 2),
    "numba for any x86-64": (GENERIC, 3),
}
# Servers, browsers, wheels and the site do not compute anything that the others do not.
LEFT_OUT = ["tests/serve", "tests/docs/test_site.py", "tests/faults", "tests/test_wheel.py", "tests/test_extras.py"]
CORE = ["tests/features", "tests/walks", "tests/model", "tests/paper", "tests/infer", "tests/evaluate"]


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
    parser.add_argument("--quick", action="store_true", help="one variant, over the core of the tests")
    parser.add_argument("--only", default="", help="run the variants whose name contains this")
    arguments = parser.parse_args()
    if arguments.quick:
        variants, paths = {"torch without vector instructions, numba for any x86-64": (PLAIN | GENERIC, 1)}, CORE
    else:
        variants, paths = VARIANTS, [f"--ignore={path}" for path in LEFT_OUT]
    print("| kernels and threads | order of the tests | result | seconds |\n|---|---|---|---:|", flush=True)
    failed = 0
    for name, (environment, order) in variants.items():
        if arguments.only in name:
            passed, summary, seconds = run(environment, ["--shuffle", str(order), *paths])
            failed += not passed
            print(f"| {name} | random, seed {order} | {summary} | {seconds} |", flush=True)
    if failed:
        raise SystemExit(f"{failed} variants failed")


if __name__ == "__main__":
    main()
