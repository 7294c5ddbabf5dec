"""Debian's packages as a graph: fit, predict the sections of new packages, draw a map, serve it.

Nodes are packages with their descriptions, links are dependencies, labels are sections (games, python, science ...).
Some packages arrive after the fit: those of the next release if SANNE_DATA has two releases, else a tenth that is
hidden. Each step is a command that is printed, so that you can run it on your own graph.

    python examples/showcase.py                     # packages that apt knows; on Debian or Ubuntu
    python examples/showcase.py --available FILE    # elsewhere: what `apt-cache dumpavail` printed there
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RELATIONS = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances")
RINGED = 150  # new packages on the map
SENT = 40  # new packages that are added to the server
LEAST = 100  # packages


def main() -> None:
    options = read_options()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    truth = write_tables(folder, options.available)
    os.chdir(folder)
    later = ["--graph", "later_edges.parquet", "--node-table", "later_nodes.parquet"]
    fit = ["fit", "edges.parquet", "--node-table", "nodes.parquet", "--text", "text", "--label", "section"]
    run(*fit, "--out", "model", "--force")
    labels = ["--labels", "nodes.parquet", "--label", "section", "--save"]
    run("predict", "model", *labels, *later, "--nodes", "new.txt", "--out", "predictions.parquet")
    show_predictions(truth)
    run("embed", "model", *later, "--nodes", "ringed.txt", "--out", "ringed.parquet")
    run("plot", "model", "--new", "ringed.parquet", "--out", "map.png")
    run("bundle", "model")
    with server() as url:
        send(url, truth)
        print(f"\ndone in {time.monotonic() - began:.0f} s; the map is {folder / 'map.png'}, the page is {url}")
        if not options.once:
            if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32"):
                webbrowser.open(url)
            print("Ctrl-C ends the server", flush=True)
            wait()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("showcase"), help="where everything is written")
    parser.add_argument("--available", type=Path, help="a file with the output of apt-cache dumpavail")
    parser.add_argument("--once", action="store_true", help="end the server when it has answered")
    return parser.parse_args()


# The graph


def write_tables(folder: Path, available: Path | None) -> dict[str, str]:
    """Write the graph as it was and as it is later; returns the sections of the packages that are new."""
    suite = Path(os.environ.get("SANNE_DATA", "")) / "suite"
    releases, parts = ("bookworm", "trixie"), ("nodes", "edges")
    names = [suite / f"debian-{release}.{part}.parquet" for release in releases for part in parts]
    if available is None and "SANNE_DATA" in os.environ and all(name.is_file() for name in names):
        nodes, edges, later_nodes, later_edges = map(pq.read_table, names)
        new = pc.invert(pc.is_in(later_nodes["id"], value_set=nodes["id"]))
    else:
        later_nodes, later_edges = parse(dump(available))
        new = pa.array(np.random.default_rng(0).random(len(later_nodes)) < 0.1)
        nodes = later_nodes.filter(pc.invert(new))
        known = [pc.is_in(later_edges[end], value_set=nodes["id"]) for end in ("src", "dst")]
        edges = later_edges.filter(pc.and_(*known))
    arrived = later_nodes.filter(new)
    print(f"{len(nodes):,} packages, {len(edges):,} dependencies; {len(arrived):,} packages arrive later")
    later_nodes = later_nodes.select(["id", "text"])
    tables = {"nodes": nodes, "edges": edges, "later_nodes": later_nodes, "later_edges": later_edges}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    ids = arrived["id"].to_pylist()
    some = np.random.default_rng(1).permutation(len(ids))[:RINGED]
    (folder / "new.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")
    (folder / "ringed.txt").write_text("\n".join(ids[i] for i in some) + "\n", encoding="utf-8")
    return dict(zip(ids, arrived["section"].to_pylist(), strict=True))


def dump(available: Path | None) -> str:
    """What apt knows of all packages that could be installed."""
    if available is not None:
        if not available.is_file():
            end(f"{available}: no such file; write it with: apt-cache dumpavail > {available}")
        return available.read_text(encoding="utf-8", errors="replace")
    if shutil.which("apt-cache") is None:
        end("there is no apt here: on Debian or Ubuntu, run apt-cache dumpavail > FILE, and give --available FILE here")
    command = ["apt-cache", "dumpavail"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def parse(text: str) -> tuple[pa.Table, pa.Table]:
    """Nodes (id, section, text) and edges (src, dst, kind) of package descriptions, the first of each name."""
    packages: dict[str, dict[str, str]] = {}
    for paragraph in re.split(r"\n\s*\n", text):
        lines = re.sub(r"\n[ \t]+", " ", paragraph).splitlines()  # a field goes on where a line is indented
        fields = dict(line.split(": ", 1) for line in lines if ": " in line)
        if "Package" in fields and "Section" in fields:
            packages.setdefault(fields["Package"], fields)
    if len(packages) < LEAST:
        end(f"only {len(packages)} packages are known: run apt-get update first, and look at apt-cache dumpavail")
    described = [
        (name, fields["Section"].split("/")[-1], fields.get("Description-en") or fields.get("Description", ""))
        for name, fields in packages.items()
    ]
    links = [
        (name, target, kind)
        for name, fields in packages.items()
        for kind in RELATIONS
        for target in dict.fromkeys(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", fields.get(kind, "")))
        if target in packages and target != name
    ]
    return pa.table(list(zip(*described, strict=True)), ["id", "section", "text"]), pa.table(
        list(zip(*links, strict=True)), ["src", "dst", "kind"]
    )


# The commands


def run(*words: str) -> None:
    """Print a command and run it."""
    print(f"\n$ sanne {shlex.join(words)}", flush=True)
    began = time.monotonic()
    if (code := subprocess.run([sys.executable, "-m", "sanne", *words], check=False).returncode) != 0:
        sys.exit(code)
    print(f"{time.monotonic() - began:.0f} s", flush=True)


def show_predictions(truth: dict[str, str]) -> None:
    rows = pq.read_table("predictions.parquet").to_pylist()
    right = [str(row["label"]) == truth[row["id"]] for row in rows]
    sure = [ok for ok, row in zip(right, rows, strict=True) if row["probability"] >= 0.9]
    print(f"\nsection predicted correctly for {np.mean(right):.1%} of {len(rows):,} new packages")
    print(f"with a probability of 0.9 or more: {np.mean(sure or [False]):.1%} of {len(sure):,}")
    for row in rows[:: max(1, len(rows) // 8)][:8]:
        ok = "" if str(row["label"]) == truth[row["id"]] else f"  (is in {truth[row['id']]})"
        print(f"  {row['id']:32.32} {row['label']} {row['probability']:.2f}{ok}")


@contextmanager
def server() -> Iterator[str]:
    """A server of the model on a free port; gives its address."""
    print("\n$ sanne serve model", flush=True)
    shutil.rmtree("model.store", ignore_errors=True)  # of the last time
    command = [sys.executable, "-m", "sanne", "serve", "model", "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            sys.exit(process.wait())
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        process.wait(60)


def send(url: str, truth: dict[str, str]) -> None:
    """Add some new packages to the server, with links to those it knows, and print what it predicts."""
    nodes = pq.read_table("later_nodes.parquet")
    chosen = Path("ringed.txt").read_text(encoding="utf-8").split()[:SENT]
    texts = dict(zip(nodes["id"].to_pylist(), nodes["text"].to_pylist(), strict=True))
    known = set(pq.read_table("nodes.parquet", columns=["id"])["id"].to_pylist()) | set(chosen)
    links: dict[str, dict[str, None]] = {name: {} for name in chosen}
    edges = pq.read_table("later_edges.parquet", columns=["src", "dst"])
    for source, target in zip(edges["src"].to_pylist(), edges["dst"].to_pylist(), strict=True):
        for one, other in ((source, target), (target, source)):
            if one in links and other in known:
                links[one][other] = None
    body = {"nodes": [{"id": name, "text": texts[name], "links": list(links[name])[:1000]} for name in chosen]}
    headers = {"Content-Type": "application/json"}
    wanted = json.dumps(body | {"predict": True, "vectors": False}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/nodes", wanted, headers), timeout=300) as answer:
        found = json.load(answer)["nodes"]
    right = sum(node["prediction"]["labels"][0]["label"] == truth[node["id"]] for node in found)
    print(f"added {len(found)} new packages to the server, which predicts {right} of their sections correctly:")
    for node in found[:5]:
        first: dict[str, Any] = node["prediction"]["labels"][0]
        print(
            f"  {node['id']:32.32} {first['label']} {first['probability']:.2f}, uncertainty {node['uncertainty']:.2f}"
        )


def wait() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        print()


def end(message: str) -> None:
    sys.stderr.write(f"error: {message}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
