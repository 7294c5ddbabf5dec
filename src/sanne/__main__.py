"""`python -m sanne` is the same program as `sanne`."""

from sanne.cli import main

main()
