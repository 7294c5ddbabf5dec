"""Research around sanne: baselines, the experiments of the tables and figures, benchmarks. Not in sanne's wheel."""
