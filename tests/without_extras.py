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
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


class Missing:
    """A finder of modules that does not find some packages: these look as if they were not installed."""

    def __init__(self, finder: Any, packages: list[str]) -> None:
        self.finder = finder
        self.packages = packages  # shared by all finders

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        found: ModuleSpec | None = None
        if name.split(".")[0] not in self.packages:
            found = self.finder.find_spec(name, path, target)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


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


def in_a_fork(entry: dict[str, Any], missing: list[str]) -> Any:
    """What the commands of an entry gave, in a child that does not find some packages."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        missing[:] = entry["missing"]
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
    missing = [package for entry in entries for package in entry["missing"]]
    sys.meta_path[:] = [Missing(finder, missing) for finder in sys.meta_path]
    for name in ("sanne.cli", "sanne.estimator", "sanne.judge"):
        importlib.import_module(name)
    sys.stdout.write(json.dumps([in_a_fork(entry, missing) for entry in entries]))


if __name__ == "__main__":
    main()
