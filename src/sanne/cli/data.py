"""`sanne data`: public datasets."""

from typing import Annotated

import typer

from sanne.cli.options import Json, print_json, print_table, show

data_app = typer.Typer(help="List public datasets, or download one.", no_args_is_help=True)


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """List the datasets that can be used by name."""
    from sanne.datasets.catalogue import catalog

    found = [{"name": dataset.name, "description": dataset.description} for dataset in catalog().values()]
    if as_json:
        print_json({"datasets": found})
        return
    print_table(("name", "description"), [tuple(one.values()) for one in found])


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: Json = False) -> None:
    """Find or download a dataset, verify it, and print where it is."""
    from sanne.datasets.catalogue import find_dataset

    dataset = find_dataset(name)
    place = dataset.locate()
    graph = dataset.read(place)
    show({"name": name, "folder": str(place), "nodes": graph.num_nodes, "edges": graph.num_edges}, as_json)
