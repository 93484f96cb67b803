"""The `edgespec` command: click at the edge, nothing heavy imported before it is needed."""
