"""What `edgespec doctor` shows on a person's own models: that a pair is lossless and what it is
worth, and what token recycling, which is left out, would bring."""
