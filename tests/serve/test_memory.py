"""A server gives memory back that it needed for a while."""

import subprocess
import sys

PROGRAM = """
from pathlib import Path
from sanne.serve.http.app import release_memory

def held():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024

blocks = [bytes(2000) for _ in range(50_000)]  # 100 MB in small pieces, with something behind them that stays
stays = [bytes(2000) for _ in range(100)]
peak = held()
blocks.clear()
release_memory()
print(peak - held())
"""


def test_what_was_freed_goes_back_to_the_system() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(found.stdout) > 80_000_000
