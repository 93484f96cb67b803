import sqlite3

import pytest

from edgespec.history.search import contains, excerpt, indexed, query, signs


def finds(words: str, text: str) -> bool:
    """Whether SQLite finds `text` when a person searches for `words`."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute('CREATE VIRTUAL TABLE w USING fts5(t, tokenize="unicode61")')
        connection.execute("INSERT INTO w VALUES (?)", (indexed(text),))
        return bool(
            connection.execute("SELECT * FROM w WHERE w MATCH ?", (query(words),)).fetchall()
        )
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("東京", "私は東京に住んでいます"),
        ("京", "私は東京に住んでいます"),
        ("す", "私は東京に住んでいます"),
        ("住んで 東京", "私は東京に住んでいます"),
        ("中文", "这是中文文本。"),
        ("한국", "저는 한국어를 배웁니다"),
        ("ภาษา", "ฉันพูดภาษาไทย"),
        ("ハンカク", "ﾊﾝｶｸの文字"),
        ("gpt4モデル", "新しいGPT4モデルです"),
        ("decod", "Speculative decoding"),
        ("DECODING", "Speculative decoding"),
        ("uber", "Über Grüße"),
        ("read_file", "call read_file() twice"),
        ('"quoted', 'she said "quoted" words'),
        ("naïve", "a naive idea"),
        ("hello", "\U0001f916Hello"),  # a sign of Unicode 8, which SQLite takes for a letter
        ("x\u0303y", "an x\u0303y"),
    ],
)
def test_query_finds_a_text_with_its_words(words: str, text: str) -> None:
    assert finds(words, text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("京東", "私は東京に住んでいます"),
        ("都", "東京"),
        ("decode x", "decode y"),
        ("大京", "大。京"),
    ],
)
def test_query_finds_nothing_that_is_not_there(words: str, text: str) -> None:
    assert not finds(words, text)


@pytest.mark.parametrize("words", ["", "  ", "!?", '"', "* OR ( NEAR"[:1], "。"])
def test_query_of_no_words_is_empty(words: str) -> None:
    assert query(words) == ""


@pytest.mark.parametrize("words", ["a OR b", "NEAR(a", "a*", 'a"b', "-a", "^a", "{x}:y", "a:b"])
def test_query_takes_search_syntax_for_words(words: str) -> None:
    assert not finds(words, "nothing of the kind")


def test_excerpt_marks_every_word_around_the_first() -> None:
    text = "x " * 300 + "the Target checks\nthe draft of the target " + "y " * 300

    line, spans = excerpt(text, "target draft")

    assert [line[a:b] for a, b in spans] == ["Target", "draft", "target"]
    assert "the Target checks the draft" in line
    assert line.startswith("…")
    assert line.endswith("…")


def test_excerpt_marks_accents_and_chinese() -> None:
    line, spans = excerpt("Über 東京都 uber", "uber 東京")

    assert [line[a:b] for a, b in spans] == ["Über", "東京", "uber"]


def test_excerpt_marks_emoji() -> None:
    line, spans = excerpt("a \U0001f984 rides", "\U0001f984 ride")

    assert [line[a:b] for a, b in spans] == ["\U0001f984", "ride"]


@pytest.mark.parametrize(
    ("words", "found"), [("a \U0001f984\U0001f984 b", ("\U0001f984",)), ('"%_* +', ())]
)
def test_signs_are_the_emoji_each_once(words: str, found: tuple[str, ...]) -> None:
    assert signs(words) == found


def test_excerpt_of_a_text_without_the_words_is_its_beginning() -> None:
    assert excerpt("a text", "zebra") == ("a text", ())


def test_contains_wants_every_word() -> None:
    assert contains("Grüße aus Köln", "koln gru")
    assert not contains("Grüße aus Köln", "koln bonn")


def test_signs_are_no_more_than_a_condition_can_have() -> None:
    many = "".join(map(chr, range(0x1F300, 0x1F600)))

    assert len(signs(many)) == 100
