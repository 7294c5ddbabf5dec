"""Encoders that are trained without classes, as systems of the suite, where a run takes at most half an hour."""

import time
from dataclasses import replace

import numpy as np

from sanne_lab.baselines.bgrl import BGRL
from sanne_lab.baselines.cca_ssg import CCASSG
from sanne_lab.baselines.dgi import DGI
from sanne_lab.baselines.grace import GRACE
from sanne_lab.baselines.graphmae import GraphMAE
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.unsupervised import EncoderSystem
from sanne_lab.suite.baselines import LeftOut
from sanne_lab.suite.parts import Floats
from sanne_lab.suite.product import graph_of
from sanne_lab.suite.view import View

MINUTES = 20  # processor time of one run
PAIRS = 12_000**2  # GRACE keeps about eight matrices of this many numbers: 5 GB

RIVALS: dict[str, EncoderSystem] = {system.name: system for system in (DGI(), CCASSG(), GraphMAE(), BGRL(), GRACE())}


def embed(view: View, name: str) -> Floats:
    """Vectors of all nodes after the last epoch: present ones from their part of the graph, newcomers from all."""
    system = replace(RIVALS[name], snapshots=1)
    present, new = np.flatnonzero(view.present), np.flatnonzero(~view.present)
    if name == "grace" and len(present) ** 2 > PAIRS:
        raise LeftOut(f"{32 * len(present) ** 2 / 1e9:.0f} GB of memory")
    graph = graph_of(view, view.known, present, texts=False)
    found: list[Snapshot] = []
    started = time.process_time()
    replace(system, epochs=2).fit(graph, 0, None, found.append)
    minutes = (time.process_time() - started) / 2 * system.epochs / 60
    if minutes > MINUTES:
        raise LeftOut(f"{minutes:.0f} minutes")
    system.fit(graph, 0, None, found.append)
    vectors = np.empty((len(view.present), found[-1].present().shape[1]), np.float32)
    vectors[present] = found[-1].present()
    if len(new):
        vectors[new] = found[-1].new(graph_of(view, view.whole, np.arange(len(view.present)), texts=False), new)
    return vectors
