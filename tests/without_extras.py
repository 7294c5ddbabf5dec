"""Runs commands of sanne in an interpreter that cannot find certain packages, for test_extras.py.

Called with a JSON file: a list of {"missing": [package, ...], "commands": [[argument, ...], ...]}. Each entry runs in
a process of its own, forked after the slow imports were done once, without anything optional. Prints a JSON list
with one list per entry: exit code, stdout and stderr of each command.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any


class Missing(MetaPathFinder):
    """Finds what Python's own finder finds, but for some packages: these look as if they were not installed."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages
        self.find_distributions = PathFinder.find_distributions

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        hidden = name.split(".")[0] in self.packages
        return None if hidden else PathFinder.find_spec(name, path, target)


def call(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one command."""
    from sanne.cli import main
    from sanne.cli.options import notes

    sys.argv = ["sanne", *arguments]
    out, errors = io.StringIO(), io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        notes.file = errors
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        except BaseException:
            traceback.print_exc()
            code = 70
    return int(code), out.getvalue(), errors.getvalue()


def in_a_fork(entry: dict[str, Any], missing: Missing) -> Any:
    """What the commands of an entry gave, in a child that does not find some packages."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        missing.packages = entry["missing"]
        with os.fdopen(writing, "w") as pipe:
            json.dump([call(command) for command in entry["commands"]], pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = json.load(pipe)
    os.wait()
    return found


def main() -> None:
    entries = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    missing = Missing([package for entry in entries for package in entry["missing"]])
    sys.meta_path[sys.meta_path.index(PathFinder)] = missing
    for name in ("sanne.cli", "sanne.estimator", "sanne.judge"):
        importlib.import_module(name)
    sys.stdout.write(json.dumps([in_a_fork(entry, missing) for entry in entries]))


if __name__ == "__main__":
    main()
