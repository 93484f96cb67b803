"""`edgespec bench`: every drafter beside plain decoding, in turns, on one loaded target."""
