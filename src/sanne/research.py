"""The research package `sanne_lab`: part of the source repository, not of the wheel."""

import importlib
import importlib.util
from types import ModuleType

_PACKAGE = "sanne_lab"
WHERE = (
    f"in the research package {_PACKAGE}, which only the source repository has: "
    "run make in a checkout of it, or pip install -e research"
)


def research_module(name: str) -> ModuleType | None:
    """A module of the research package; None if the package is not installed."""
    if importlib.util.find_spec(_PACKAGE) is None:
        return None
    return importlib.import_module(f"{_PACKAGE}.{name}")
