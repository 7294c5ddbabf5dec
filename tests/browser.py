"""The browser of the tests: Chromium from the PATH, else the one that Playwright installed.

`python tests/browser.py`, which `make test` runs first, gets one where there is none: from Debian's packages where
they can be installed, else by Playwright's own download.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
REMEDY = "no browser for the tests of pages: run `make browser`, or put chromium on the PATH"


def find() -> str | None:
    """The path of a browser that Playwright can drive."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def install() -> None:
    """Try Debian's package, then Playwright's download; a way that fails is reported and the next one tried."""
    for commands in (_debian(), [[sys.executable, "-m", "playwright", "install", "chromium"]]):
        if commands and all(_run(command) for command in commands):
            return


def _debian() -> list[list[str]]:
    if not shutil.which("apt-get"):
        return []
    if os.geteuid() == 0:
        become: list[str] = []
    elif (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode == 0
    ):
        become = ["sudo", "-n"]
    else:
        return []
    quiet = [*become, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    return [[*quiet, "update"], [*quiet, "install", "--yes", "--no-install-recommends", "chromium"]]


def _run(command: list[str]) -> bool:
    print("+", *command, file=sys.stderr)
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    if find() is None:
        install()
        if find() is None:
            raise SystemExit(REMEDY)
