"""Adds nodes to a store until it is killed; prints the id of each one when it is acknowledged."""

import sys
from pathlib import Path

from engine_parts import graph_of, newcomer

from sanne.serve.engine.engine import Engine


def main(model: str, store: str, first: int) -> None:
    engine = Engine.open(Path(model), graph_of("plain"), store)
    print("ready", flush=True)
    for number in range(first, first + 100_000, 3):
        groups = [[newcomer(number + i)] for i in range(3)]
        for result in engine.add(groups, explain=[0] * 3, similar=[0] * 3):
            assert isinstance(result, list)
            print(result[0].id, float(result[0].vector[0]).hex(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
