"""The dataset that is part of the package, and what is said of others."""

import subprocess
import sys

import numpy as np
import pytest

from sanne.datasets.catalogue import CORA, load_dataset, named_classes, read_cora
from sanne.errors import DatasetError


def test_cora_is_part_of_the_package() -> None:
    graph = read_cora(CORA)
    assert (graph.num_nodes, graph.num_edges) == (2708, 5278)
    assert graph.features.shape == (2708, 1433)
    assert graph.node_ids[0] == 31336  # paper numbers
    assert graph.labels is not None
    assert np.bincount(graph.labels).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert named_classes("cora", graph.labels)[0] == "Neural Networks"


def test_without_the_research_package_there_is_cora_and_the_others_say_what_they_need() -> None:
    code = """
import sys
sys.modules["sanne_lab"] = None
from sanne import SanneError, load_graph
from sanne.datasets.catalogue import dataset_names, load_dataset
assert dataset_names() == ["cora"]
for read in (load_graph, load_dataset):
    try:
        read("citeseer")
    except SanneError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 2
    assert all("'citeseer' is in the research package sanne_lab" in line for line in lines)
    assert all("pip install -e research" in line for line in lines)


def test_an_unknown_name() -> None:
    with pytest.raises(DatasetError, match=r"unknown dataset 'coras': did you mean 'cora'\?"):
        load_dataset("coras")
