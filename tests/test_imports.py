"""Imports only go down the tree, so that each part can be read, tested and replaced without those above it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sanne

PACKAGE = Path(sanne.__file__).parent
RESEARCH = "sanne_lab"  # a package of its own that imports sanne; sanne never imports it

# A module may import from its own layer and from lower numbers; the longest matching name counts.
LAYERS = {
    "sanne.errors": 0,
    "sanne.config": 0,
    "sanne.seeds": 0,
    "sanne.atomic": 0,
    "sanne.locks": 0,
    "sanne.device": 0,
    "sanne.npy": 0,
    "sanne.interrupts": 0,
    "sanne.graph.formats.ids": 1,
    "sanne.graph.csr": 1,
    "sanne.graph.strings": 1,
    "sanne.graph.sparse": 1,
    "sanne.graph.formats": 2,
    "sanne.graph.split": 2,
    "sanne.graph.store": 2,
    "sanne.graph.arcs": 2,
    "sanne.graph.numbering": 2,
    "sanne.graph.scan": 3,
    "sanne.graph.node_files": 3,
    "sanne.graph.build": 3,
    "sanne.datasets": 3,
    "sanne.graph.load": 4,
    "sanne.features": 5,
    "sanne.walks": 6,
    "sanne.model": 7,
    "sanne.train": 8,
    "sanne.infer": 8,
    "sanne.estimator": 9,
    "sanne.estimate": 9,
    "sanne.export": 9,
    "sanne.source": 9,
    "sanne.evaluate": 10,
    "sanne.plot": 10,
    "sanne.judge": 10,
    "sanne.demo": 10,
    "sanne.serve": 10,
    "sanne.cli": 11,
    "sanne.__main__": 12,
    "sanne": 12,  # the package itself re-exports from anywhere, and nothing inside imports it
}
FORBIDDEN = [
    ("sanne.train", "sanne.infer"),
    ("sanne.infer", "sanne.train"),
    ("sanne.evaluate", "sanne.model"),
    ("sanne.evaluate", "sanne.train"),
    ("sanne.evaluate", "sanne.infer"),
    ("sanne.evaluate", "sanne.estimator"),
]


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def inside(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def layer_of(module: str) -> int:
    owners = [name for name in LAYERS if name != "sanne" and inside(module, name)]
    if owners:
        return LAYERS[max(owners, key=len)]
    assert module in ("sanne", "sanne.graph"), f"{module} has no place in the tree: give it a layer in LAYERS"
    return LAYERS["sanne"] if module == "sanne" else 0


def imports_of(source: str, module: str) -> set[str]:
    """Every sanne module that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} uses a relative import"
            assert node.module is not None
            # "from sanne.walks import kernels" imports a module, "from sanne.config import Config" a name of one.
            found |= {
                f"{node.module}.{alias.name}" if is_module(f"{node.module}.{alias.name}") else node.module
                for alias in node.names
            }
    return {name for name in found if inside(name, "sanne") or inside(name, RESEARCH)}


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_only_go_down(path: Path) -> None:
    module = name_of(path)
    for imported in imports_of(path.read_text(encoding="utf-8"), module):
        assert not inside(imported, RESEARCH), f"{module} imports {imported}: research is not in the wheel"
        assert layer_of(imported) <= layer_of(module), f"{module} imports {imported}, which stands above it"
        for importer, target in FORBIDDEN:
            assert not (inside(module, importer) and inside(imported, target)), f"{module} imports {imported}"


def test_the_check_itself_sees_every_way_to_import() -> None:
    source = (
        "import sanne.cli\nimport sanne_lab.bench\n"
        "def f():\n    from sanne.walks import kernels\n    from sanne.config import Config\n"
    )
    assert imports_of(source, "sanne.x") == {"sanne.cli", "sanne_lab.bench", "sanne.walks.kernels", "sanne.config"}


def test_there_are_no_cycles_between_files() -> None:
    graph = {name_of(path): imports_of(path.read_text(encoding="utf-8"), name_of(path)) for path in FILES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for imported in graph.get(module, set()):
                visit(imported, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_the_program_starts_without_the_research_package() -> None:
    code = (
        "import sys; sys.modules['sanne_lab'] = None; import sanne.cli.commands; "
        "assert not [name for name in sys.modules if name.startswith('sanne_lab.')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_commands_of_the_research_package_import_no_numpy_at_the_start() -> None:
    code = "import sys, sanne.cli; assert 'sanne_lab.cli' in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
