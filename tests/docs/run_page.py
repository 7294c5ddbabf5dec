"""Runs the blocks of a page in order, in one folder: Python in one namespace, commands in this process or in bash."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from blocks import Block, blocks_of

from sanne.cli.commands import app

PORT = "8080"  # as in the pages; replaced by a free one
SHELL = set("|&;<>$`(){}*")
PRELUDE = 'set -euo pipefail\ncurl() { command curl --silent --show-error --fail-with-body "$@"; }\n'


class PageRun:
    """A page being run; use it in a `with`, so that servers are stopped."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.port = ""
        self._servers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "PageRun":
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.terminate()
            server.wait(timeout=60)

    def run(self) -> int:
        """Run every block that runs, and return how many did. The current folder must be the page's."""
        done = 0
        for block in blocks_of(self.page):
            if block.runs:
                try:
                    self._run_block(block)
                except BaseException as error:
                    error.add_note(f"in the block at {self.page.name}:{block.line}:\n{block.text}")
                    raise
                done += 1
        return done

    def _run_block(self, block: Block) -> None:
        text = block.text.replace(f":{PORT}", f":{self.port}") if self.port else block.text
        if block.mark == "background":
            self._start(text)
        elif block.language == "python":
            exec(compile(text, f"{self.page.name}:{block.line}", "exec"), self.names)
        elif "<<" in text or any(line.count("'") % 2 for line in text.splitlines()):  # what goes over several lines
            self._bash(text)
        else:
            for line in text.replace("\\\n", " ").splitlines():
                self._command(line)

    def _command(self, line: str) -> None:
        """Call a plain `sanne` command in this process, which saves loading torch each time; the rest goes to bash."""
        words = shlex.split(line, comments=True)
        if words[:1] == ["sanne"] and not SHELL & set("".join(words)):
            assert app(words[1:], standalone_mode=False) in (None, 0)
        elif words:
            self._bash(line)

    def _bash(self, text: str) -> None:
        done = subprocess.run(
            ["bash", "-c", PRELUDE + text], cwd=self.folder, env=self._environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _start(self, text: str) -> None:
        """Start a server, and wait until it accepts requests."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        words = shlex.split(text, comments=True)
        assert words[:2] == ["sanne", "serve"], "only servers run in the background"
        command = [sys.executable, "-m", "sanne", *words[1:], "--port", self.port]
        server = subprocess.Popen(command, cwd=self.folder, env=self._environment())
        self._servers.append(server)
        until = time.monotonic() + 300
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10) as answer:
                    json.load(answer)
                return
            except OSError:
                assert server.poll() is None, "the server exited"
                assert time.monotonic() < until, "the server is not ready after five minutes"
                time.sleep(0.5)

    def _environment(self) -> dict[str, str]:
        """The same program in bash as here, whatever else is installed."""
        shims = self.folder.parent / "programs"
        shims.mkdir(exist_ok=True)
        for name, call in (("sanne", "-m sanne "), ("python", "")):
            (shims / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {call}"$@"\n')
            (shims / name).chmod(0o755)
        return {**os.environ, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}"}
