"""The picker of models and drafts, and the plan of what is chosen."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from edgespec.tui.glyphs import UNICODE
from edgespec.tui.lines import fetching
from edgespec.tui.plan import PlanScreen
from edgespec.tui.shelf import Fetch, Models, free_bytes_at
from textual.widgets import DataTable

from edgespec.api.speeds import Speed
from edgespec.api.types import Options
from edgespec.chat.controller import ChatController
from edgespec.chat.shelf import ModelChange
from edgespec.errors import DownloadError
from edgespec.models.catalogue import Catalogue
from edgespec.models.folders import Found
from edgespec.models.spec import ModelSpec, SamplingAdvice
from edgespec.store import PullProgress
from tests.scripted import ScriptedLM
from tests.tinygguf import write_llama
from tests.tui.shelves import CATALOGUE, FakeShelf, spec
from tests.tui.stage import PATIENCE_S, Stage, assert_golden, played, staged

pytestmark = pytest.mark.usefixtures("own_home")


class FakePull:
    """Tells the states it was given, then delivers or fails."""

    def __init__(self, states: tuple[PullProgress, ...] = (), error: DownloadError | None = None):
        self.states, self.error = states, error
        self.pulled: list[str] = []

    def __call__(self, spec: ModelSpec, tell: Callable[[PullProgress], None]) -> object:
        for state in self.states:
            tell(state)
        if self.error is not None:
            raise self.error
        self.pulled.append(spec.id)
        return None


async def choose(stage: Stage) -> None:
    """Take the first model, and the first way to draft for it; what is fetched, once planned."""
    for table in ("targets", "drafts"):
        await stage.until(lambda: getattr(stage.app.focused, "id", "") == table)  # noqa: B023
        await stage.pilot.press("enter")
    if isinstance(stage.app.screen, PlanScreen):
        await stage.until_shown("Files")
        await stage.pilot.press("enter")


def models(pull: FakePull, *, must_choose: bool = False) -> Models:
    return Models(CATALOGUE, fetch=pull, free_bytes=lambda: 8_000_000_000, must_choose=must_choose)


def test_first_run_offers_models_that_fit_fetches_one_and_talks_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pull, shelf = FakePull(), FakeShelf()
    shown: list[str] = []
    monkeypatch.setattr(
        "edgespec.tui.models.missing",
        lambda rows, name: name == "other" and name not in pull.pulled,
    )

    async def scenario() -> None:
        chat = ChatController(shelf=shelf)
        async with staged(chat=chat, models=models(pull, must_choose=True)) as stage:
            await stage.until_shown("There is no model on this machine yet")
            await stage.until_shown("from maker/other on the Hugging Face hub")
            await stage.until_shown("size      here")  # a table widens a frame later
            shown.append(stage.dialog())
            await choose(stage)
            await stage.until_shown("other Q4_K_M")
            await stage.say("hi")
            await stage.until_shown("Hello.")
            await stage.until_ended()

    played(scenario)

    assert pull.pulled == ["other"]
    assert shelf.taken == [ModelChange(target="other", draft="auto")]
    assert_golden("models-80x24", shown[0])


def test_fetched_model_waits_for_the_page_that_lies_above(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, shelf = threading.Event(), FakeShelf()

    class HeldPull(FakePull):
        def __call__(self, spec: ModelSpec, tell: Callable[[PullProgress], None]) -> object:
            may_end.wait(30.0)
            return super().__call__(spec, tell)

    pull = HeldPull()
    monkeypatch.setattr(
        "edgespec.tui.models.missing",
        lambda rows, name: name == "other" and name not in pull.pulled,
    )

    async def scenario() -> None:
        chat = ChatController(shelf=shelf)
        stock = models(pull, must_choose=True)
        async with staged(chat=chat, models=stock) as stage:
            await stage.until_shown("There is no model on this machine yet")
            await choose(stage)
            await stage.until(lambda: stock.is_fetching and len(stage.app.screen_stack) == 2)
            await stage.pilot.press("p")
            await stage.until(lambda: isinstance(stage.app.screen, PlanScreen))
            may_end.set()
            await stage.until(lambda: pull.pulled == ["other"] and not stock.is_fetching)
            await stage.pilot.pause(0.5)  # the picker looks again and again
            assert isinstance(stage.app.screen, PlanScreen)
            assert shelf.taken == []

            await stage.pilot.press("escape")

            await stage.until(lambda: shelf.taken != [])
            await stage.until(lambda: len(stage.app.screen_stack) == 1)

    played(scenario)


def test_choice_of_a_model_leaves_the_sampling_to_the_shelf() -> None:
    advised = replace(CATALOGUE.models["good"], sampling=SamplingAdvice(temperature=0.6))
    stock = Models(Catalogue({"good": advised}, {}))
    chat = ChatController(shelf=FakeShelf())

    stock.switch(chat, ModelChange(target="good"))

    list(chat.follow())
    chat.close()
    assert chat.options == Options()


def test_failed_download_says_why_and_leaves_the_choice() -> None:
    pull = FakePull(error=DownloadError("no route to the hub", hint="check the connection"))

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf())
        async with staged(chat=chat, models=models(pull, must_choose=True)) as stage:
            await stage.until_shown("There is no model")
            await choose(stage)
            await stage.until_shown("error: no route to the hub")

            await stage.until_shown("check the connection")  # the box grows a frame later
            assert stage.app.screen.query_one("#targets", DataTable).row_count == 4

    played(scenario)


def test_failed_download_leaves_what_was_typed() -> None:
    pull = FakePull(error=DownloadError("no route to the hub"))

    async def scenario() -> None:
        chat = ChatController(shelf=FakeShelf())
        chat.attach(ScriptedLM(["Hello."]))
        async with staged(chat=chat, models=models(pull)) as stage:
            stage.prompt.text = "A long message,\nnot sent yet."
            await stage.pilot.press("f2")
            await choose(stage)
            await stage.until_shown("error: no route to the hub")
            await stage.pilot.press("escape")
            await stage.pilot.press("escape")

            await stage.until(lambda: stage.app.focused is stage.prompt)
            assert stage.prompt.text == "A long message,\nnot sent yet."

    played(scenario)


def test_download_shows_bytes_rate_and_rest() -> None:
    state = PullProgress("good.gguf", "download", "the hub", 500_000_000, 2_000_000_000, 50e6)
    pull = FakePull((state,), DownloadError("stop here"))
    stock = models(pull)

    fetch = stock.start(CATALOGUE.models["good"])
    while not fetch.is_done:
        time.sleep(0.001)

    words = fetching("good", fetch.progress, UNICODE).plain
    assert words.startswith("fetching good ▓▓▓▓░░░░░░░░░░░░ 25% · 500 MB of 2.00 GB · 50 MB/s")
    assert "0:30 left · from the hub" in words


def test_download_that_goes_on_says_from_where() -> None:
    fetch = Fetch(CATALOGUE.models["good"])
    states = [(0, None), (500, None), (700, 50.0), (700, None), (800, 50.0)]  # a stall before 800
    resumed = []

    for done_bytes, rate in [*states, (0, None), (10, 50.0)]:
        fetch.hear(PullProgress("good.gguf", "download", "the hub", done_bytes, 2000, rate))
        resumed.append(fetch.resumed_bytes)

    assert resumed == [0, 500, 500, 500, 500, 0, 0]
    words = fetching("good", fetch.progress, UNICODE, 500).plain
    assert "10 bytes of 2 kB · 50 bytes/s" in words
    assert "resumed at 500 bytes" in words


def test_first_model_is_taken_when_its_download_ends_behind_the_chat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_end, here = threading.Event(), set[str]()

    def pull(spec: ModelSpec, tell: Callable[[PullProgress], None]) -> None:
        tell(PullProgress(spec.file, "download", "the hub", 30_000_000, 90_000_000, 1e6))
        may_end.wait()
        here.add(spec.id)

    monkeypatch.setattr("edgespec.tui.shelf._here", lambda specs: dict.fromkeys(here, Path("x")))

    async def scenario() -> None:
        stock = Models(CATALOGUE, fetch=pull, free_bytes=lambda: 8_000_000_000, must_choose=True)
        async with staged(chat=ChatController(shelf=FakeShelf()), models=stock) as stage:
            await stage.until_shown("There is no model")
            await choose(stage)
            await stage.until(lambda: stock.is_fetching)
            await stage.pilot.press("escape")
            await stage.until_shown("fetching other ▓▓▓░░░░░ 33%")
            await stage.say("early bird")
            await stage.until_shown("[waits; Esc takes it back]")
            may_end.set()
            await stage.until_shown("Hello.")
            await stage.until_ended()

    played(scenario)


def test_quitting_asks_once_while_a_download_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgespec.tui.actions.QUIT_AGAIN_S", PATIENCE_S)
    may_end = threading.Event()

    def pull(spec: ModelSpec, tell: Callable[[PullProgress], None]) -> object:
        return may_end.wait()

    async def scenario() -> None:
        stock = Models(CATALOGUE, fetch=pull)
        async with staged(ScriptedLM(), models=stock) as stage:
            stock.start(CATALOGUE.models["other"])
            await stage.pilot.press("ctrl+q")
            await stage.until_shown("a download is running")
            before = stage.app.return_value
            await stage.pilot.press("ctrl+q")
            await stage.until(lambda: stage.app.return_value == 0)
            may_end.set()

            assert before is None

    played(scenario)


def test_drafts_that_do_not_fit_say_why_and_are_not_taken() -> None:
    stock = models(FakePull())
    rows = stock.drafts(next(row for row in stock.rows() if row.name == "good"))

    told = {row.name: (row.ok, row.told) for row in rows}
    assert told["small"] == (True, "fits this target")
    assert told["other"] == (False, "another vocabulary: v2, not v1")
    assert told["big"] == (False, "not smaller than the target")


def test_speed_is_measured_expected_or_unknown() -> None:
    known = {"small": Speed(60.04, is_measured=True), "good": Speed(12.3, is_measured=False)}
    stock = Models(CATALOGUE, free_bytes=lambda: 8_000_000_000, speeds=lambda specs: known)

    async def scenario() -> None:
        async with staged(ScriptedLM(), models=stock) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("of memory are free")
            rows = {row.split()[1]: row for row in stage.rows() if "Q4_K_M" in row}

            assert " 60.0 " in rows["small"]
            assert " ~12 " in rows["good"]
            assert " ? " in rows["other"]
            await stage.pilot.press("down")
            await stage.until_shown("plain decoding, measured on this machine")

    played(scenario)


def test_model_of_another_program_can_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "theirs-Q4_0.gguf"
    path.write_bytes(b"GGUF")
    found = Found("ollama/theirs", "Ollama", path)
    stock = Models(Catalogue({}, {}), others=lambda known: [found])
    shelf = FakeShelf()

    async def scenario() -> None:
        chat = ChatController(shelf=shelf)
        async with staged(ScriptedLM(), chat=chat, models=stock) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("ollama/theirs")
            await choose(stage)
            await stage.until(lambda: bool(shelf.taken))

            assert shelf.taken == [ModelChange(target="ollama/theirs", draft="auto")]

    played(scenario)


def test_drafts_are_judged_by_their_files(tmp_path: Path) -> None:
    models_dir = tmp_path / "models"
    for name in ("big", "little"):
        (models_dir / name).mkdir(parents=True)
        write_llama(models_dir / name / f"{name}.gguf")
    tiny = {
        name: spec(name, (models_dir / name / f"{name}.gguf").stat().st_size, vocab="")
        for name in ("big", "little")
    }
    stock = Models(Catalogue(tiny, {}))

    judged = stock.judged(next(row for row in stock.rows() if row.name == "big"))

    told = {row.name: row for row in judged}
    assert list(told)[:2] == ["auto", "off"]
    assert told["little"].is_here
    assert "a plain step" in told["little"].told


def test_running_download_says_how_much_disk_is_left() -> None:
    states = (PullProgress("good.gguf", "download", "the hub", 500, 2000, 50.0),)
    may_end = threading.Event()

    class Slow(FakePull):
        def __call__(self, spec: ModelSpec, tell: Callable[[PullProgress], None]) -> object:
            super().__call__(spec, tell)
            return may_end.wait()

    async def scenario() -> None:
        async with staged(ScriptedLM(), models=models(Slow(states))) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("of memory are free")
            await choose(stage)
            await stage.until_shown("of disk left")
            may_end.set()

    played(scenario)


def test_room_on_the_disk_is_that_of_the_nearest_folder_that_is_there(tmp_path: Path) -> None:
    assert free_bytes_at(tmp_path / "not" / "yet") == pytest.approx(
        free_bytes_at(tmp_path), rel=0.1
    )


def test_smaller_screen_shows_the_columns_that_matter() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), models=models(FakePull())) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("of memory are free")
            wide = stage.text()
            await stage.pilot.resize_terminal(60, 18)
            await stage.until(lambda: "quant" not in stage.text())

            assert "quant" in wide
            assert "\u2713 fits" in stage.text()
            assert "whatever gains, measured wh" in stage.text()

    played(scenario)


class Slow:
    """Speeds that are reckoned until somebody lets them be known."""

    def __init__(self) -> None:
        self.is_known = threading.Event()

    def __call__(self, specs: Iterable[ModelSpec]) -> dict[str, Speed]:
        self.is_known.wait()
        return {}


def test_picker_is_there_at_once_and_keeps_the_keys_until_it_is_filled() -> None:
    async def scenario() -> None:
        slow = Slow()
        shown = Models(CATALOGUE, free_bytes=lambda: 8_000_000_000, speeds=slow)
        async with staged(ScriptedLM(), models=shown) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("looking")
            await stage.pilot.press("down", "p", "escape")
            await stage.until(lambda: len(stage.app.screen_stack) == 1)
            await stage.pilot.press("f2", "down", "tab", "down")
            slow.is_known.set()
            await stage.until_shown("8.00 GB of memory are free")
            await stage.until(lambda: getattr(stage.app.focused, "id", "") == "drafts")
            targets, drafts = stage.app.screen.query(DataTable)
            await stage.until(lambda: drafts.cursor_row == 1)

            assert targets.cursor_row == 1

    played(scenario)


def test_smallest_terminal_shows_models_and_drafts() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), models=models(FakePull()), size=(40, 10)) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("other")
            await stage.until_shown("auto")
            await stage.until_shown("off")

    played(scenario)


def test_heads_stand_over_their_columns_when_they_are_drawn_before_the_widths_are_known() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), models=models(FakePull())) as stage:
            await stage.pilot.press("f2")
            await stage.until_shown("of memory are free")
            screen = stage.app.screen
            screen._lay_out()
            screen.query(DataTable).first().render_line(0)
            await stage.pilot.pause(0.1)

            rows = stage.rows()
            at = next(i for i, row in enumerate(rows) if "quant" in row)
            assert rows[at].index("fits") == rows[at + 1].index("✓ fits")

    played(scenario)
