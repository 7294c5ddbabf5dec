"""Start the process that reads spoilt files, and say what a file that it died of was."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"  # files that once were not read as they should be: corpus/SAMPLE/FILE/NUMBER
PATIENCE = 600  # seconds beyond what a job may take, for starting up on a busy machine


def run(mode: str, samples: list[str], *, seed: int = 0, seconds: float = 3600, **more: Any) -> dict[str, Any]:
    """The report of one process; one that died gives what it had read last as a finding."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        job = {"mode": mode, "samples": samples, "seed": seed, "seconds": seconds, "folder": place, **more}
        (folder / "job.json").write_text(json.dumps(job))
        paths = [str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
        ended = subprocess.run(
            [sys.executable, str(HERE / "hostile_worker.py"), str(folder / "job.json")],
            capture_output=True,
            text=True,
            timeout=seconds + PATIENCE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path), "OMP_NUM_THREADS": "1"},
            check=False,
        )
        if ended.returncode == 0:
            report: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
            return report
        tried = folder / "tried"
        before = json.loads(tried.read_text()) if tried.is_file() else {"read": 0, "refused": 0, "findings": []}
        return before | {"outcomes": [], "findings": [*before["findings"], _death(folder, ended)]}


def fuzz(samples: list[str], *, seed: int, seconds: float) -> dict[str, Any]:
    """Spoil files at random for so long, in as many processes as it takes."""
    total: dict[str, Any] = {"read": 0, "refused": 0, "findings": []}
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        report = run("fuzz", samples, seed=seed, seconds=left)
        for name in total:
            total[name] += report[name]
        seed += 1
    return total


def kept_cases() -> list[dict[str, Any]]:
    """The corpus."""
    return [
        {"sample": path.parts[-3], "file": path.parts[-2], "path": str(path)}
        for path in sorted(CORPUS.rglob("*"))
        if path.is_file()
    ]


def keep(findings: list[dict[str, Any]], folder: Path) -> None:
    """Write what was found into a folder laid out like the corpus."""
    for number, finding in enumerate(findings):
        place = folder / finding["sample"] / finding["file"]
        place.mkdir(parents=True, exist_ok=True)
        (place / str(number)).write_bytes(bytes.fromhex(finding["content"]))


def told(findings: list[dict[str, Any]]) -> str:
    """Findings as text, for a failing test."""
    return "\n\n".join(f"{f['sample']}, {f['file']} ({len(f['content']) // 2} bytes): {f['problem']}" for f in findings)


def _death(folder: Path, ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What stood in the folder that was being read: the one file that differs from its valid form."""
    problem = f"the process ended with {ended.returncode}\n{ended.stderr[-3000:]}"
    for path in sorted(folder.glob("now/*/*")):
        sample = path.parent.name
        valid = folder / "valid" / sample / path.name
        if (
            valid.is_file()
            and valid.read_bytes() != path.read_bytes()
            and path.name not in ("config.json", "graph.json")
        ):
            return {"sample": sample, "file": path.name, "problem": problem, "content": path.read_bytes().hex()}
    return {"sample": "none", "file": "none", "problem": problem, "content": ""}
