"""`sanne serve` before it serves: what it refuses, and where it listens."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

from sanne.cli import main
from sanne.errors import InputError
from sanne.model import artifact
from sanne.serve.engine.reader import read_nodes
from sanne.serve.http.run import bind, is_loopback, url_of


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """What the command says before it ends with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["sanne", "serve", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_mistakes_are_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "nowhere"
    assert "nowhere" in refused(monkeypatch, capsys, model, "--port", 0)
    misspelt = refused(monkeypatch, capsys, model, "--set", "max_node=3")
    assert "unknown limit 'max_node': did you mean 'max_nodes'?" in " ".join(misspelt.split())
    assert "limits are max_nodes, max_links," in " ".join(refused(monkeypatch, capsys, model, "--set", "xyz=3").split())
    assert "cannot listen on no.such.host" in refused(monkeypatch, capsys, model, "--host", "no.such.host")
    monkeypatch.setenv("SANNE_TOKEN", " ")
    assert "SANNE_TOKEN is empty" in refused(monkeypatch, capsys, model)


def test_a_server_open_to_all_without_a_token_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (tmp_path / "nowhere", "--host", "0.0.0.0", "--port", 0)
    assert "set SANNE_TOKEN" in refused(monkeypatch, capsys, *options)
    monkeypatch.setenv("SANNE_TOKEN", "secret")
    assert "set SANNE_TOKEN" not in refused(monkeypatch, capsys, *options)


def test_the_model_is_read_once_and_warmed_up_once(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digested: list[str] = []
    readings: list[int] = []
    digest = artifact.digest_of

    def counted_digest(path: Path) -> str:
        digested.append(path.name)
        return digest(path)

    def counted_read(model: Any, state: Any, asked: Any) -> Any:
        readings.append(len(asked))
        return read_nodes(model, state, asked)

    def run_shortly(app: Any, listener: Any, config: Any, on_start: Any) -> None:
        async def start_and_end() -> None:
            async with app.router.lifespan_context(app):
                assert (await app.state.api.ready()).status_code == 200

        asyncio.run(start_and_end())

    monkeypatch.setattr(artifact, "digest_of", counted_digest)
    monkeypatch.setattr("sanne.serve.engine.engine.read_nodes", counted_read)
    monkeypatch.setattr("sanne.serve.http.run.run_app", run_shortly)
    command = ["sanne", "serve", str(model), "--store", str(tmp_path / "store"), "--port", "0"]
    monkeypatch.setattr(sys, "argv", command)
    with contextlib.suppress(SystemExit):
        main()
    files = ["classifier.json", "classifier.safetensors", "features.json", "model.safetensors", "vectors.parquet"]
    assert sorted(digested) == files
    assert readings == [1]


def test_a_free_port_is_found_and_a_taken_one_refused() -> None:
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        listener.listen()
        assert url_of(listener) == f"http://127.0.0.1:{port}"
        assert is_loopback(listener)
        with pytest.raises(InputError, match="choose another --host or --port"):
            bind("127.0.0.1", port)
    with bind("0.0.0.0", 0) as listener:
        assert not is_loopback(listener)
