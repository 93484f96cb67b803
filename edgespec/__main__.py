"""`python -m edgespec` is the `edgespec` command."""

from edgespec.cli.main import main

main()
