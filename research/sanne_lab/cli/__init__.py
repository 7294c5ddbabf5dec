"""The commands that the research package adds to the program `sanne`."""

import typer

from sanne_lab.cli.bench import bench_app
from sanne_lab.cli.reproduce import reproduce_app

APPS: dict[str, typer.Typer] = {"bench": bench_app, "reproduce": reproduce_app}
