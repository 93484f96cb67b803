"""`edgespec doctor --pair`: that a pair is lossless on a person's own models."""
