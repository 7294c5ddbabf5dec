"""SANNE by the paper's own protocol: its grid, a search over it, and the figures that the search gives."""
