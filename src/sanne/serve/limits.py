"""Limits on what the server accepts and returns."""

import difflib
import typing
from dataclasses import dataclass
from typing import Any, Self

from sanne.checked import Checked, require
from sanne.errors import InputError


@dataclass(frozen=True)
class ServeLimits(Checked):
    """Limits of a server; not part of a model."""

    # one request
    max_nodes: int = 256  # per request that embeds or adds; also edges per request
    max_links: int = 10_000  # per node
    max_similar: int = 1000  # nearest nodes, and nodes in an explanation
    max_deleted_links: int = 100  # of a node that can be deleted without ?force
    max_body_bytes: int = 2 * 2**20  # parsing that much JSON takes some 40 ms, during which nobody else is served
    # all requests together
    max_batch_nodes: int = 64  # computed together
    max_queue_nodes: int = 256  # waiting; more are answered 429 ...
    max_queue_seconds: float = 2.0  # ... as are those who would wait longer than this, on a slow machine
    max_open_bytes: int = 64 * 2**20  # memory for bodies that have not fully arrived
    # connections
    max_connections: int = 2000
    max_header_bytes: int = 32 * 2**10
    receive_seconds: float = 10.0  # to receive a request
    keep_alive_seconds: float = 15.0  # until an idle connection is closed
    shutdown_seconds: float = 30.0  # to finish accepted requests

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in typing.get_type_hints(type(self)):
            require(getattr(self, name) > 0, f"{name} must be positive, not {getattr(self, name)}")

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """The defaults with some limits changed; values may be strings, as a command line gives them."""
        kinds = typing.get_type_hints(cls)
        if unknown := sorted(set(settings) - set(kinds)):
            close = difflib.get_close_matches(unknown[0], kinds, n=1)
            hint = f": did you mean {close[0]!r}?" if close else f"; the server's limits are {', '.join(kinds)}"
            raise InputError(f"unknown limit {unknown[0]!r}{hint}")
        return cls(**settings)
