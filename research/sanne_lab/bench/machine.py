"""What a figure was measured on: processor, memory, load, versions."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from sanne.device import available_cores

PACKAGES = ("sanne", "numpy", "numba", "scipy", "torch", "networkx")


def describe_machine() -> dict[str, Any]:
    """The machine, ready for JSON; `load` is the load average of the last minute, 0.0 on an idle machine."""
    return {
        "cpu": _cpu_model(),
        "cores": available_cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }


def describe_versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of the packages that are installed."""
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
