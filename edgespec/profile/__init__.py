"""`edgespec profile`: which drafter pays for which kind of a user's own text."""
