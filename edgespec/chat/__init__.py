"""A conversation without a screen: what the TUI and the line mode share."""
