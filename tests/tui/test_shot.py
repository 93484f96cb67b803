from tests.tui.shot import PICTURE, drawn, text_of


def test_picture_of_the_readme_is_what_the_chat_looks_like() -> None:
    kept = text_of(PICTURE.read_text(encoding="utf-8"))

    # stale: python -m tests.tui.shot
    assert text_of(drawn()) == kept


def test_picture_fetches_nothing() -> None:
    assert "url(http" not in PICTURE.read_text(encoding="utf-8")
    assert "@import" not in PICTURE.read_text(encoding="utf-8")
