"""`sanne serve`: a fitted model behind HTTP."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli import options
from sanne.errors import InputError, MissingExtraError
from sanne.serve.limits import ServeLimits

TOKEN = "SANNE_TOKEN"

Limits = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a limit: max_nodes, max_body_bytes, max_queue_nodes, ..."),
]


def serve(
    context: typer.Context,
    model: options.ModelFolder,
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    text: options.KnownText = None,
    store: Annotated[Path | None, typer.Option(help="Folder for added nodes. Default: MODEL.store.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 chooses a free one and prints it.", min=0, max=65535)] = 8080,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another host name of this server, such as that of a proxy; may be repeated."
        ),
    ] = None,
    limits: Limits = None,
    as_json: options.Json = False,
) -> None:
    """Serve vectors of new nodes over HTTP, and store added nodes. SANNE_TOKEN sets a bearer token."""
    try:
        from sanne.serve.explorer.routes import Explorer, add_explorer
        from sanne.serve.http.app import make_app
        from sanne.serve.http.run import bind, is_loopback, loopback_names, run_app, url_of
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "serve", "sanne serve") from None
    from sanne.datasets.catalogue import named_classes
    from sanne.model.artifact import Artifact
    from sanne.serve.engine.engine import Engine
    from sanne.source import ModelSource

    config = ServeLimits.of(options.parse_settings(limits) or {})
    token = _token()
    listener = bind(host, port)
    context.call_on_close(listener.close)
    if token is None and not is_loopback(listener):
        options.notes.print(
            f"warning: anyone who can reach {host} can read and change this graph: set {TOKEN}", style="yellow"
        )
    artifact = Artifact.read(model)
    origin = ModelSource.of_model(artifact, graph, node_table, text)
    now = origin.load()
    folder = store or model.absolute().with_name(model.absolute().name + ".store")
    engine = Engine.open(model, now, folder, artifact)
    # Without a token, any web page in a browser on this machine could send requests, under its own host name.
    hosts = [*loopback_names(host), *(allow_host or [])] if token is None and is_loopback(listener) else None
    app = make_app(engine, config, token=token, hosts=hosts)
    named = named_classes(origin.dataset, now.labels) if origin.dataset and now.labels is not None else None
    explorer = Explorer(engine, now, folder, named, partial(origin.columns, now.node_ids))
    add_explorer(app, explorer)

    def announce() -> None:
        if as_json:
            options.print_json({"url": url_of(listener), "store": str(folder), "pid": os.getpid()})
            sys.stdout.flush()
        else:
            options.notes.print(f"serving {model} at {url_of(listener)}; added nodes are stored in {folder}")

    try:
        run_app(app, listener, config, announce)
    finally:
        explorer.close()


def _token() -> str | None:
    token = os.environ.get(TOKEN)
    if token is None:
        return None
    if not token.strip() or not token.isascii():
        raise InputError(f"{TOKEN} is empty or has non-ASCII characters: set it to a secret, or unset it")
    return token.strip()
