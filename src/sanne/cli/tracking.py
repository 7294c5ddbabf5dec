"""`--log`: a fit followed in TensorBoard or MLflow."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sanne.config import Config
    from sanne.train.report import Callback

Log = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        metavar="WHERE",
        help="Log loss and speed to tensorboard:FOLDER, mlflow:FILE.db or mlflow:http://HOST:PORT.",
    ),
]
# Nobody but the place that was named is told anything, and a server that is not there is noticed in seconds.
_MLFLOW_DEFAULTS = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2"}


@contextlib.contextmanager
def trackers(
    places: list[str] | None, run_name: str, config: "Config", facts: dict[str, Any]
) -> Iterator[list["Callback"]]:
    """The callbacks that `--log` asks for, closed at the end; none in a process that is not the first."""
    from sanne.train.distributed import is_first_process
    from sanne.train.trackers import open_tracker

    if places:
        os.environ.update(_MLFLOW_DEFAULTS | os.environ)
    settings = facts | {name: value for section in config.to_dict().values() for name, value in section.items()}
    wanted = (places or []) if is_first_process() else []
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(open_tracker(place, run_name=run_name, settings=settings)) for place in wanted]
