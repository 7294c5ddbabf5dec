"""The library logs to loggers under `sanne` and never prints; only the command line talks."""

import ast
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sanne
from planted import TRAINED, planted_graph
from sanne.cli import main
from sanne.estimator import SANNE
from sanne.graph.folder.store import save_graph

PACKAGE = Path(sanne.__file__).parent
ROOT_CALLS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def calls(path: Path) -> Iterator[str]:
    """Every call of a plain name, or of a name of a module, in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_the_library_does_not_print() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name == "cli":
            continue
        found = set(calls(path))
        assert not found & {"print", "pprint.pprint", "traceback.print_exc", "logging.basicConfig"}, path
        assert not found & {f"logging.{name}" for name in ROOT_CALLS}, f"{path} logs to the root logger"


def test_fit_and_transform_log_and_write_nothing(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    graph = planted_graph()
    with caplog.at_level(logging.INFO, "sanne"):
        SANNE(settings=TRAINED).fit(graph).transform(graph, nodes=["p3"])
    assert {record.name.split(".")[0] for record in caplog.records} == {"sanne"}
    texts = [record.getMessage() for record in caplog.records]
    assert any(text.startswith("epoch 3 of 3: loss") for text in texts)
    assert capfd.readouterr() == ("", "")


def test_a_program_that_sets_up_no_logging_sees_nothing() -> None:
    handlers = logging.getLogger("sanne").handlers
    assert [type(handler) for handler in handlers] == [logging.NullHandler]
    assert logging.getLogger("sanne").level == logging.NOTSET


@pytest.mark.parametrize("verbose", [True, False])
def test_verbose_shows_the_log(
    verbose: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    save_graph(planted_graph(), tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    sets = [part for name, value in (TRAINED).items() for part in ("--set", f"{name}={value}")]
    monkeypatch.setattr(sys, "argv", ["sanne", *["-v"][:verbose], "fit", "papers", "--out", "m", *sets])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert any("epoch 3 of 3" in record.getMessage() for record in caplog.records) == verbose
