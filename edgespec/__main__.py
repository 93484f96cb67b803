"""The `edgespec` command, also as `python -m edgespec`."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly while its modules are imported, too."""
    try:
        from edgespec.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
