"""The figures that the paper prints, to stand beside ours."""

Figures = dict[str, tuple[float, float]]  # mean and standard deviation, by dataset


def _row(cora: tuple[float, float], pubmed: tuple[float, float], citeseer: tuple[float, float]) -> Figures:
    """A row of a table, in the paper's order of columns."""
    return {"cora": cora, "pubmed": pubmed, "citeseer": citeseer}


# Table 1: nodes, edges, classes, size of the vocabulary, words a node.
TABLE1: dict[str, tuple[int, int, int, int, int]] = {
    "cora": (2708, 5429, 7, 1433, 18),
    "citeseer": (3327, 4732, 6, 3703, 31),
    "pubmed": (19717, 44338, 3, 500, 50),
}

# Table 2: test accuracy, by setting and system.
TABLE2: dict[str, dict[str, Figures]] = {
    "transductive": {
        "deepwalk": _row((71.11, 2.70), (73.49, 3.00), (47.60, 2.34)),
        "deepwalk-bow": _row((76.15, 2.06), (77.82, 2.19), (61.87, 2.30)),
        "doc2vec": _row((64.90, 3.07), (76.12, 1.62), (64.58, 1.84)),
        "ep-b": _row((78.05, 1.49), (79.56, 2.10), (71.01, 1.35)),
        "sanne": _row((80.83, 1.94), (79.67, 1.28), (70.18, 2.12)),
        "gcn": _row((79.59, 2.02), (77.32, 2.66), (69.21, 1.25)),
        "gat": _row((81.72, 2.93), (79.56, 1.99), (70.80, 0.92)),
        "planetoid": _row((71.90, 5.33), (74.49, 4.95), (58.58, 6.35)),
    },
    "inductive": {
        "deepwalk-bow": _row((68.35, 1.70), (74.87, 1.23), (59.47, 2.48)),
        "ep-b": _row((73.09, 1.75), (79.94, 2.30), (68.61, 1.69)),
        "sanne": _row((76.75, 2.45), (80.04, 1.67), (68.82, 3.21)),
        "gcn": _row((67.76, 2.11), (73.47, 2.48), (63.40, 0.98)),
        "gat": _row((69.37, 3.81), (71.29, 3.56), (59.55, 4.21)),
        "planetoid": _row((64.80, 3.70), (75.73, 4.21), (61.97, 3.82)),
    },
}

# Table 3: validation accuracy in the transductive setting, by ablation.
TABLE3: dict[str, Figures] = {
    "none": _row((81.32, 1.20), (78.28, 1.24), (70.77, 1.18)),
    "no-feed-forward": _row((80.77, 1.34), (77.90, 1.76), (70.36, 1.32)),
    "no-attention": _row((77.87, 1.09), (74.52, 2.66), (65.68, 1.31)),
}

# Figure 3: validation accuracy, by setting, symbol and value.
FIGURE3: dict[str, dict[str, dict[int, Figures]]] = {
    "transductive": {
        "K": {
            2: _row((81.16, 1.11), (77.62, 1.80), (70.13, 1.44)),
            4: _row((81.19, 1.29), (78.00, 2.05), (70.41, 1.18)),
            8: _row((80.96, 1.35), (78.11, 1.86), (70.78, 1.29)),
        },
        "H": {
            4: _row((80.97, 1.27), (78.05, 2.15), (70.58, 1.25)),
            8: _row((81.25, 1.20), (78.02, 1.76), (70.55, 1.43)),
            16: _row((81.1, 1.24), (78.05, 1.92), (70.60, 1.12)),
        },
        "T": {
            16: _row((80.76, 1.40), (77.84, 2.02), (70.67, 1.21)),
            32: _row((81.09, 1.39), (77.99, 1.78), (70.36, 1.16)),
            64: _row((80.92, 1.29), (77.99, 2.08), (70.49, 1.28)),
            128: _row((81.15, 1.14), (78.13, 2.03), (70.24, 1.21)),
        },
    },
    "inductive": {
        "K": {
            2: _row((72.32, 1.29), (76.32, 2.00), (61.37, 1.53)),
            4: _row((72.10, 1.32), (76.42, 1.91), (61.81, 1.52)),
            8: _row((72.08, 1.14), (76.53, 2.07), (62.20, 1.42)),
        },
        "H": {
            4: _row((72.21, 1.16), (76.54, 2.02), (61.81, 1.52)),
            8: _row((72.56, 1.23), (76.43, 1.89), (61.79, 1.55)),
            16: _row((72.33, 1.12), (76.29, 2.06), (62.10, 1.58)),
        },
    },
}


def table2_figure(system: str, dataset: str, setting: str) -> tuple[float, float] | None:
    """The paper's mean and deviation for a system, if it has one."""
    name = "sanne" if system.startswith("sanne") else system
    return TABLE2[setting].get(name, {}).get(dataset)
