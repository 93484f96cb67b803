"""Answers as they stand on a screen."""


def words(text: str) -> str:
    """`text` without the spaces that wrapping moves about."""
    return "".join(text.split())
