"""Nodes with text: the modules of Python's standard library, with their docstrings as text and imports as edges.

    python examples/text_nodes.py

Then two modules of your own are added, each with a sentence and the names of its imports: which standard modules are
similar to them?
"""

import ast
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from sanne import SANNE, load_graph

SHORTEST = 300  # characters; modules with less documentation are left out
MINE = {
    "my_downloads": (
        "Fetch many pages at once over HTTP, with retries, a timeout for each connection and certificates checked.",
        ["urllib", "socket", "ssl", "asyncio"],
    ),
    "my_ledger": (
        "Amounts of money as exact decimal numbers, rounded as banks do, with dates, read from tables.",
        ["decimal", "csv", "datetime"],
    ),
}


def main() -> None:
    modules = read_library()
    graph = graph_of(modules)
    print(f"the standard library: {graph}")
    model = SANNE("fast", random_state=0, progress=False).fit(graph)
    for name in ("zipfile", "imaplib", "unittest"):
        print(f"like {name:13}: {', '.join(other for other, _ in model.similar(name, k=5))}")

    # The new modules: their text goes through the feature map fitted on the library, their walks through its imports.
    found = model.embed(graph_of(modules | MINE), nodes=list(MINE), explain=4)
    assert found.explanation is not None
    for name, drew_on in zip(MINE, found.explanation, strict=True):
        print(f"like {name:13}: {', '.join(other for other, _ in model.similar(name, k=5))}")
        print(f"    made of: {', '.join(f'{other} {share:.0%}' for other, share in drew_on)}")


def read_library() -> dict[str, tuple[str, list[str]]]:
    """Docstrings and imports of every public module of the standard library that is written in Python."""
    found = {}
    for name in sorted(sys.stdlib_module_names):
        spec = None if name.startswith("_") else importlib.util.find_spec(name)
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            continue
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        text = docstrings(tree)
        if len(text) > SHORTEST:
            found[name] = (text, sorted(imports(tree)))
    return found


def docstrings(tree: ast.Module) -> str:
    """The text of a module, its classes and its functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
    return "\n".join(text for text in texts if text)


def imports(tree: ast.Module) -> set[str]:
    """The top-level names that a module imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def graph_of(modules: dict[str, tuple[str, list[str]]]) -> Any:
    """The modules as a graph: one table of links, one of texts."""
    links = [(name, other) for name, (_, imported) in modules.items() for other in imported if other in modules]
    edges = pa.table({"src": [a for a, _ in links], "dst": [b for _, b in links]})
    nodes = pa.table({"id": list(modules), "text": [text for text, _ in modules.values()]})
    return load_graph(edges, node_table=nodes, text="text")


if __name__ == "__main__":
    main()
