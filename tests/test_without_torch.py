"""All but the recipe `paper` works where torch is not installed."""

import subprocess
import sys
from pathlib import Path

LIBRARY = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
import numpy as np
from sanne import SANNE, SanneError, load_graph
from sanne.config import recipe_config
from sanne.estimate import estimate_embedding, estimate_fit
from sanne.serve.engine.engine import Engine
from sanne.serve.live.features import NewNode

lines = [f"n{i},n{(i + step) % 40}" for i in range(40) for step in (1, 2, 5)]
open("edges.csv", "w").write("\\n".join(["src,dst", *lines]))
graph = load_graph("edges.csv")
for recipe in ("best", "fast"):
    model = SANNE(recipe, progress=False).fit(graph)
    model.save("model")
    again = SANNE.load("model")
    assert np.array_equal(again.transform(graph), model.transform(graph))
    again.embed(graph, ["n3"], explain=3), again.explain(graph, ["n3"])
    assert len(again.similar("n7", k=3)) == 3
    estimate_fit(graph, recipe_config(recipe)), estimate_embedding(model.artifact_, graph, 40)
engine = Engine.open("model", graph, "store")
(answer,) = engine.add([[NewNode("new", links=(("n1", 1.0), ("n2", 1.0)))]], explain=[2], similar=[3])
assert not isinstance(answer, Exception), answer
engine.close()
assert not [name for name in sys.modules if name.split(".")[0] == "torch"]
try:
    SANNE("paper").fit(graph)
except SanneError as error:
    assert "pip install 'sanne[paper]'" in str(error), error
else:
    raise AssertionError("the recipe paper needs torch")
"""


def test_the_library_and_the_engine_need_no_torch(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIBRARY], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
