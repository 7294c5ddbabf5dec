"""Makes random changes to a store until it is killed; prints a line when a change is acknowledged."""

import sys
from itertools import count
from pathlib import Path

from engine_parts import History, graph_of

from sanne.serve.engine.engine import Engine


def main(model: str, store: str, seed: int) -> None:
    graph = graph_of("plain")
    history = History(Engine.open(Path(model), graph, store), graph, seed)
    print("ready", flush=True)
    for number in count():
        history.step()
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
