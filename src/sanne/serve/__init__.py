"""A fitted model that answers for nodes as they arrive, and keeps what it was told."""
