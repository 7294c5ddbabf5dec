"""The steps of the Dockerfile without a container engine, and what the image is for: `make image-check`.

Every instruction is run as it stands in the Dockerfile, with the paths of the image below an empty folder, nothing of
the environment but PATH and pip's variables, and the server as the image's user where this script may change users.
"""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
TOKEN = "only for this check"
PORT = "8080"  # in the Dockerfile; replaced by a free one
_PATHS = re.compile(r"(?<![\w.:/])/(src|opt|store|model|tmp)\b")
_AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
_PYTHON = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
_FOR_ALL = all(place.stat().st_mode & 0o001 for place in (_PYTHON, *_PYTHON.parents))  # who may run it


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile: name and the rest of the line."""
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines if line and line[0] != "#"]


@dataclass
class Image:
    """What a Dockerfile makes, below the folder `root`; earlier stages are in folders beside it."""

    root: Path
    environment: dict[str, str]
    workdir: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    stage: str = ""

    def place(self, text: str) -> str:
        """A text with the image's paths as they are here."""
        return _PATHS.sub(lambda found: f"{self.root}{found[0]}", text)

    def build(self, dockerfile: str) -> None:
        for name, rest in instructions(dockerfile):
            began = time.monotonic()
            getattr(self, f"do_{name.lower()}")(rest)
            if name in ("RUN", "COPY"):
                print(f"{time.monotonic() - began:6.1f} s  {name} {rest}", flush=True)

    def do_from(self, rest: str) -> None:
        if self.stage:
            self.root.rename(self.root.with_name(self.stage))
        self.root.mkdir(mode=0o755)
        (self.root / "tmp").mkdir(mode=0o1777)
        (self.root / "tmp").chmod(0o1777)
        self.stage = rest.split(" AS ")[-1] if " AS " in rest else "last"
        self.workdir, self.user = "/", "0:0"
        wanted = rest.split()[0].removeprefix("python:").removesuffix("-slim")
        here = ".".join(map(str, sys.version_info[:2]))
        if wanted != here:
            print(f"note: the image has Python {wanted}; this check runs with {here}")

    def do_workdir(self, rest: str) -> None:
        self.workdir = rest
        Path(self.place(rest)).mkdir(parents=True, exist_ok=True)

    def do_copy(self, rest: str) -> None:
        words = rest.split()
        source = PROJECT
        if words[0].startswith("--from="):
            source = self.root.with_name(words.pop(0).removeprefix("--from="))
        *names, last = words
        target = Path(self.place(last)) if last.startswith("/") else Path(self.place(self.workdir)) / last
        for name in names:
            path = source / name.lstrip("/")
            ends = target / path.name if last.endswith("/") else target
            ends.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, ends, symlinks=True, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
            else:
                shutil.copy(path, ends)

    def do_run(self, rest: str) -> None:
        if not _AS_ROOT:
            rest = re.sub(r" -[og] \d+", "", rest)
        self.call(["bash", "-euc", self.place(rest)])

    def do_env(self, rest: str) -> None:
        for pair in shlex.split(rest):
            name, value = pair.split("=", 1)
            self.environment[name] = self.place(value).replace("$PATH", self.environment["PATH"])

    def do_user(self, rest: str) -> None:
        self.user = rest

    def do_volume(self, rest: str) -> None:
        assert Path(self.place(rest)).is_dir(), f"VOLUME {rest}: there is no such folder"

    def do_expose(self, rest: str) -> None:
        assert rest == PORT

    def do_healthcheck(self, rest: str) -> None:
        self.health = json.loads(rest[rest.index("[") :])

    def do_entrypoint(self, rest: str) -> None:
        self.entrypoint = json.loads(rest)

    def do_cmd(self, rest: str) -> None:
        self.command = json.loads(rest)

    def how(self) -> dict[str, Any]:
        """How a process of the image is started: folder, environment, user."""
        found: dict[str, Any] = {"cwd": self.place(self.workdir), "env": self.environment}
        if _AS_ROOT and _FOR_ALL and self.user != "0:0":
            user, group = map(int, self.user.split(":"))
            found |= {"user": user, "group": group, "extra_groups": []}
        return found

    def call(self, command: list[str]) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self.how())
        assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
        return done.stdout


def plain_environment(home: Path) -> dict[str, str]:
    """PATH and pip's variables; `python` is the one of this script, as in the image it is the image's."""
    (home / "python").write_text(f'#!/bin/sh\nexec {sys._base_executable} "$@"\n', encoding="utf-8")  # type: ignore[attr-defined]
    (home / "python").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return kept | {"PATH": f"{home}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def serve(image: Image, port: str) -> subprocess.Popen[bytes]:
    """Start the image's command and wait until its health check passes."""
    command = [image.place(word) for word in (*image.entrypoint, *image.command)]
    health = [word.replace(f":{PORT}/", f":{port}/") for word in image.health]
    image.environment["SANNE_TOKEN"] = TOKEN
    program = shutil.which(command[0], path=image.environment["PATH"])
    assert program, f"{command[0]} is not on the PATH"
    assert Path(program).is_relative_to(image.root), f"{command[0]} is {program}, not the image's"
    server = subprocess.Popen([program, *command[1:], "--port", port], **image.how())
    until = time.monotonic() + 300
    while True:
        python = shutil.which(health[0], path=image.environment["PATH"])
        if subprocess.run([python, *health[1:]], capture_output=True, check=False, **image.how()).returncode == 0:
            return server
        assert server.poll() is None, "the server exited"
        assert time.monotonic() < until, "the health check did not pass in five minutes"
        time.sleep(0.5)


def ask(port: str, path: str, body: Any = None, token: str | None = TOKEN) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers), timeout=60
        ) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sanne-image-") as folder:
        place = Path(folder).resolve()
        place.chmod(0o755)
        image = Image(place / "image", plain_environment(place))
        if not _FOR_ALL:
            print(f"note: others may not run {_PYTHON}; the server runs as this user. PYTHON=/usr/bin/python3 may do")
        image.build((PROJECT / "Dockerfile").read_text(encoding="utf-8"))
        # A bundle, made by the image's own program as another user, and mounted where nothing can be written.
        maker = Image(image.root, image.environment | {"NUMBA_CACHE_DIR": str(place / "numba")}, workdir="/tmp")
        sanne = shutil.which("sanne", path=image.environment["PATH"])
        assert sanne
        maker.call([sanne, "fit", "cora", "--out", "model", "--recipe", "fast"])
        maker.call([sanne, "bundle", "model", "--out", str(image.root / "model")])
        shutil.rmtree(image.root / "tmp" / "model")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        began = time.monotonic()
        server = serve(image, port)
        user = image.user if _FOR_ALL else "of this check"
        print(f"{time.monotonic() - began:6.1f} s  until the health check passed, as user {user}")
        try:
            node = {"id": 9001, "links": [31349, 31353]}
            assert ask(port, "/v1/embed", {"nodes": [node]}, token=None)[0] == 401
            status, found = ask(port, "/v1/embed", {"nodes": [{"links": [31349, 31353]}], "similar": 3})
            assert status == 200, found
            assert len(found["nodes"][0]["similar"]) == 3
            assert ask(port, "/v1/nodes", {"nodes": [node]})[0] == 200
        finally:
            server.terminate()
            assert server.wait(60) == 0, "the server did not end well"
        server = serve(image, port)
        assert ask(port, "/v1/nodes/9001")[1]["added"] is True
        server.terminate()
        assert server.wait(60) == 0
    print("the image's steps work: built, served a bundle, embedded a node, kept another through a restart")


if __name__ == "__main__":
    main()
