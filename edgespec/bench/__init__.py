"""`edgespec bench`: every drafter beside plain decoding and other engines, in turns."""
