"""The errors that sanne raises on purpose. The command line prints each on one line and exits with code 2."""

import importlib
from typing import Any


def first_line(error: BaseException) -> str:
    """The first line of any error's text, or its name."""
    return (str(error).splitlines() or [type(error).__name__])[0]


class SanneError(Exception):
    """Any error that a user can act on; its message says what arrived, what was expected and what to do."""


class InputError(SanneError, ValueError):
    """Bad data or a bad setting: a file, a table, an array, a graph or an argument."""


class UnknownNodeError(InputError):
    """A node id that the graph or the model does not have."""


class NodeExistsError(InputError):
    """A node id that is already taken."""


class FieldError(InputError):
    """A bad value in a request; `field` is its path, as in `nodes[2].links[0]`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class WriteError(SanneError, OSError):
    """A full disk, or a limit on what may be written; exit code 1, since no input was wrong."""


class InUseError(SanneError):
    """A place that another process is writing to."""


class StoreError(SanneError):
    """A store of added nodes that is in use, damaged, or made for another model or graph."""


class ModelFolderError(SanneError):
    """A model folder that is missing, damaged, incomplete or from a newer version."""


class DatasetError(SanneError):
    """A public dataset that cannot be found, fetched or verified."""


class MissingExtraError(SanneError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'sanne[{extra}]'")


def import_extra(module: str, extra: str, purpose: str, package: str | None = None) -> Any:
    """An optional module, or a MissingExtraError; `package` is what pip calls it, if that is another name."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(package or module, extra, purpose) from None
