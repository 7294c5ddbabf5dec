"""The figures that the paper prints, to stand beside ours."""

# Table 2: mean and standard deviation of test accuracy, by system, setting and dataset.
TABLE2: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "sanne": {
        "transductive": {"cora": (80.83, 1.94), "pubmed": (79.67, 1.28), "citeseer": (70.18, 2.12)},
        "inductive": {"cora": (76.75, 2.45), "pubmed": (80.04, 1.67), "citeseer": (68.82, 3.21)},
    },
}


def table2_figure(system: str, dataset: str, setting: str) -> tuple[float, float] | None:
    """The paper's mean and deviation for a system, if it has one."""
    name = "sanne" if system.startswith("sanne") else system
    return TABLE2.get(name, {}).get(setting, {}).get(dataset)
