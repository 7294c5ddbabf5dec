"""What the server accepts and gives at most."""

import typing
from dataclasses import dataclass
from typing import Any, Self

from sanne.checked import Checked, require
from sanne.errors import InputError


@dataclass(frozen=True)
class ServeLimits(Checked):
    """Limits of a server; not part of a model."""

    # one request
    max_nodes: int = 256  # of an embedding or an addition; edges count as nodes do
    max_links: int = 10_000  # of one node
    max_similar: int = 1000  # nearest nodes, and nodes named as an explanation
    max_deleted_links: int = 100  # of a node that is deleted without ?force
    max_body_bytes: int = 2 * 2**20  # reading so much JSON takes some 40 ms, in which nobody else is answered
    # all requests together
    max_batch_nodes: int = 64  # computed together
    max_queue_nodes: int = 256  # waiting; more are answered 429 ...
    max_queue_seconds: float = 2.0  # ... as are those who would wait longer than this, on a slow machine
    max_open_bytes: int = 64 * 2**20  # held by bodies that are not yet whole
    # connections
    max_connections: int = 2000
    max_header_bytes: int = 32 * 2**10
    receive_seconds: float = 10.0  # until a request must be whole
    keep_alive_seconds: float = 15.0  # until an idle connection is closed
    shutdown_seconds: float = 30.0  # for finishing what was accepted

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in typing.get_type_hints(type(self)):
            require(getattr(self, name) > 0, f"{name} must be positive, not {getattr(self, name)}")

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """The defaults with some limits changed; values may be strings, as a command line gives them."""
        kinds = typing.get_type_hints(cls)
        if unknown := sorted(set(settings) - set(kinds)):
            raise InputError(f"unknown limit {unknown[0]!r}: the server's limits are {', '.join(kinds)}")
        return cls(**settings)
