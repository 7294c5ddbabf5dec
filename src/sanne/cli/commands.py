"""The program: all commands in one list. Results go to stdout, everything else to stderr."""

import logging
import os
import sys
from typing import Any

import typer
from typer.core import TyperCommand

from sanne.cli.build import build, bundle, data_app
from sanne.cli.evaluate import compare, evaluate
from sanne.cli.fit import fit
from sanne.cli.options import notes, program_options
from sanne.cli.predict import predict
from sanne.cli.serve import serve
from sanne.cli.show import demo, plot
from sanne.cli.vectors import embed, explain, export, similar
from sanne.errors import SanneError
from sanne.interrupts import remembered_interrupts, was_interrupted
from sanne.research import WHERE, research_module


class Command(TyperCommand):
    """A command whose wrong options are told what to do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The rest of the arguments, as of any command."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:  # of typer's own copy of click, or of click
            if isinstance(message := getattr(error, "message", None), str):
                error.message = message.replace("Value error, ", "")  # type: ignore[attr-defined]
            short = not getattr(error, "option_name", "--").startswith("--")
            if short and any(parameter.name in ("node_id", "node_ids") for parameter in self.params):
                error.message += ": put -- before a node id that begins with -"  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    help="Vectors for the nodes of a graph, and for nodes that arrive later, without fitting again.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback()(program_options)
for _command in (build, fit, embed, predict, similar, explain, evaluate, compare, plot, export, bundle, serve, demo):
    app.command(cls=Command)(_command)
app.add_typer(data_app, name="data")


def _add_research() -> None:
    """Add the commands of `sanne_lab`; without that package they are hidden and only say how to get it."""
    if (commands := research_module("cli")) is not None:
        for name, group in commands.APPS.items():
            app.add_typer(group, name=name)
        return
    anything: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
    for name in ("bench", "reproduce"):
        app.command(name, hidden=True, add_help_option=False, context_settings=anything)(_explain)


def _explain(context: typer.Context) -> None:
    raise SanneError(f"sanne {context.info_name} is {WHERE}")


_add_research()


def main() -> None:
    """Run a command; a user's mistake ends in one line on stderr and exit code 2."""
    # Must precede loading OpenMP: sleeping instead of spinning threads are up to 7 times faster on busy cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    if sys.stderr.isatty():  # show the stages of long commands; elsewhere only with --verbose
        logging.getLogger("sanne").setLevel(logging.INFO)
    with remembered_interrupts():
        try:
            app()
        except Exception as error:
            if was_interrupted():  # whatever a library turned it into
                sys.exit(130)
            if not isinstance(error, SanneError | OSError):
                raise
            notes.print(f"error: {error}", style="red")
            sys.exit(1 if isinstance(error, OSError) else 2)
