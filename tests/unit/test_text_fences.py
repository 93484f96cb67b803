import pytest

from edgespec.text.fences import code_blocks


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("no code", []),
        ("```\na\n```", ["a\n"]),
        ("```py\na\n\n    b\n```\ntext\n~~~~\nc\n~~~\nd\n~~~~", ["a\n\n    b\n", "c\n~~~\nd\n"]),
        ("````md\n```\ninner\n```\n````", ["```\ninner\n```\n"]),
        ("  ```\n  a\n    b\n  ```", ["a\n  b\n"]),
        ("```\nstill open", ["still open"]),
        ("```", [""]),
        ("an `inline` ``` one", []),
        ("    ```\n    indented code", []),
        ("```a`b\nno fence", []),
    ],
)
def test_code_blocks_are_what_stands_between_fences(text: str, blocks: list[str]) -> None:
    assert code_blocks(text) == blocks
