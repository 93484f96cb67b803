"""The screens over the chat: models, chats, parameters, plan, log, why, the full context."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from edgespec.tui.shelf import Models
from textual.widgets import DataTable, Input, TextArea

from edgespec.api.types import Options, PlaceMemory
from edgespec.chat.controller import ChatController, OpenModel
from edgespec.chat.shelf import ModelChange
from edgespec.errors import DoesNotFit, DownloadError
from edgespec.events import TokenText
from edgespec.explanation import Arm, Bound, Decision, Explanation, PassCost
from edgespec.history.keeper import Keeper
from edgespec.history.library import Library
from edgespec.models.catalogue import Catalogue
from edgespec.models.spec import HubSource, ModelSpec, SamplingAdvice
from edgespec.plan.types import Line, Placement, Plan, Room, Rung
from edgespec.store import PullProgress
from tests.scripted import DESCRIPTION, ScriptedLM
from tests.tui.stage import Stage, assert_golden, played, staged


def spec(name: str, size_bytes: int, **more: object) -> ModelSpec:
    given: dict[str, object] = {
        "title": name.title(),
        "file": f"{name}.gguf",
        "quant": "Q4_K_M",
        "sources": (HubSource("maker/" + name, f"{name}.gguf"),),
        "vocab": "v1",
        "licence": "apache-2.0",
        **more,
    }
    return ModelSpec(id=name, size_bytes=size_bytes, **given)  # type: ignore[arg-type]


CATALOGUE = Catalogue(
    {
        "big": spec("big", 40_000_000_000),
        "good": spec("good", 2_000_000_000, drafts=("small",)),
        "small": spec("small", 100_000_000),
        "other": spec("other", 90_000_000, vocab="v2"),
    },
    {},
)


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


class FakeShelf:
    """Opens a scripted model for every change."""

    def __init__(self) -> None:
        self.taken: list[ModelChange] = []

    def names(self) -> list[str]:
        return ["good"]

    def take(self, change: ModelChange) -> OpenModel:
        self.taken.append(change)
        about = replace(DESCRIPTION, target=change.target or "?", draft=None)
        return lambda tell: ScriptedLM(["Hello."], description=about)

    def larger_context(self, needed: int) -> int | None:
        return None

    def advised(self, options: Options) -> Options:
        return options


def dialog(stage: Stage) -> str:
    """The rows of the box, without what shines through around it."""
    rows = stage.rows()
    first = next(i for i, row in enumerate(rows) if row.startswith("╭"))
    last = next(i for i, row in enumerate(rows) if row.startswith("╰"))
    return "\n".join(rows[first : last + 1])


async def choose(stage: Stage) -> None:
    """Take the first model, and the first way to draft for it."""
    for table in ("targets", "drafts"):
        await stage.until(lambda: getattr(stage.app.focused, "id", "") == table)  # noqa: B023
        await stage.pilot.press("enter")


def models(pull: FakePull, *, must_choose: bool = False) -> Models:
    return Models(CATALOGUE, fetch=pull, free_bytes=lambda: 8_000_000_000, must_choose=must_choose)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGESPEC_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


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
            shown.append(dialog(stage))
            await choose(stage)
            await stage.until_shown("other Q4_K_M")
            await stage.say("hi")
            await stage.until_shown("Hello.")
            await stage.until_ended()

    played(scenario)

    assert pull.pulled == ["other"]
    assert shelf.taken == [ModelChange(target="other", draft="auto")]
    assert_golden("models-80x24", shown[0])


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

    from edgespec.tui.glyphs import UNICODE
    from edgespec.tui.lines import fetching

    words = fetching("good", fetch.progress, UNICODE).plain
    assert words.startswith("fetching good ▓▓▓▓░░░░░░░░░░░░ 25% · 500 MB of 2.00 GB · 50 MB/s")
    assert "0:30 left · from the hub" in words


def test_drafts_that_do_not_fit_say_why_and_are_not_taken() -> None:
    rows = models(FakePull()).drafts(CATALOGUE.models["good"])

    told = {row.name: (row.ok, row.told) for row in rows}
    assert told["small"] == (True, "fits this target")
    assert told["other"] == (False, "another vocabulary: v2, not v1")
    assert told["big"] == (False, "not smaller than the target")


def saved_chat(folder: Path, *prompts: str) -> ChatController:
    path = folder / "history.db"
    return ChatController(journal=Keeper(path), library=Library(path))


def test_chats_are_found_by_a_word_and_continued(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["Zebras have stripes.", "Cats purr."]))
        async with staged(chat=chat) as stage:
            await stage.say("Tell me about zebras")
            await stage.until_ended()
            await stage.pilot.press("ctrl+n")
            await stage.say("Tell me about cats")
            await stage.until_ended()
            await stage.pilot.press("f3")
            await stage.until(lambda: bool(stage.app.screen.query("#words")))
            stage.app.screen.query_one("#words", Input).value = "stripes"
            await stage.until_shown("the answer: Zebras have stripes.")
            await stage.pilot.press("enter")
            await stage.until_shown("you ▸ Tell me about zebras")

            assert "Zebras have stripes." in stage.text()
            assert "Cats purr." not in stage.text()

    played(scenario)


def test_chat_that_is_deleted_comes_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["An answer."]))
        async with staged(chat=chat) as stage:
            await stage.say("keep me")
            await stage.until_ended()
            await stage.pilot.press("ctrl+n", "f3")
            await stage.until_shown("1 turn")
            await stage.pilot.press("ctrl+d")
            await stage.until_shown("no chat is saved yet")
            await stage.pilot.press("ctrl+u")
            await stage.until_shown("1 turn")

    played(scenario)


def test_chosen_chat_is_exported_once_and_never_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["An answer."]))
        async with staged(chat=chat, size=(120, 34)) as stage:
            await stage.say("keep me")
            await stage.until_ended()
            await stage.pilot.press("ctrl+n", "f3")
            await stage.until_shown("1 turn")
            await stage.pilot.press("ctrl+e")
            await stage.until_shown("written:")
            await stage.pilot.press("ctrl+e")
            await stage.until_shown("is there already")

    played(scenario)

    (path,) = tmp_path.glob("edgespec-*.md")
    assert "keep me\n\n## Answer\n\nAn answer." in path.read_text(encoding="utf-8")


def test_system_prompt_of_the_parameters_is_saved_with_the_chat(tmp_path: Path) -> None:
    async def scenario() -> None:
        chat = saved_chat(tmp_path)
        chat.attach(ScriptedLM(["One."]))
        async with staged(chat=chat, size=(80, 30)) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f4")
            await stage.until(lambda: bool(stage.app.screen.query("#system")))
            stage.app.screen.query_one("#system", TextArea).text = "Be brief."
            await stage.pilot.press("ctrl+s")
            await stage.until_shown("system prompt changed")

    played(scenario)

    assert Library().last().chat.system == "Be brief."


def test_parameters_hold_for_the_next_answer() -> None:
    model = ScriptedLM(["One.", "Two."])

    async def scenario() -> None:
        async with staged(model, size=(80, 30)) as stage:
            await stage.pilot.press("f4")
            await stage.until(lambda: bool(stage.app.screen.query("#temperature")))
            stage.app.screen.query_one("#temperature", Input).value = "0.7"
            stage.app.screen.query_one("#system", TextArea).text = "Be brief."
            await stage.pilot.press("ctrl+s")
            await stage.until_shown("temperature = 0.7")
            await stage.say("go")
            await stage.until_ended()

    played(scenario)

    assert model.requests[0].options.sampling.temperature == 0.7
    assert model.requests[0].messages[0] == {"role": "system", "content": "Be brief."}


def test_parameter_without_a_meaning_is_refused_and_nothing_changes() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM(), size=(80, 30)) as stage:
            await stage.pilot.press("f4")
            await stage.until(lambda: bool(stage.app.screen.query("#top_p")))
            stage.app.screen.query_one("#top_p", Input).value = "7"
            await stage.pilot.press("ctrl+s")
            await stage.until_shown("top_p is 7.0, but must be above 0 and at most 1")
            await stage.pilot.press("escape")

            assert stage.chat.options.sampling.top_p == 1.0

    played(scenario)


def test_log_shows_records_as_plain_text() -> None:
    async def scenario() -> None:
        async with staged(ScriptedLM()) as stage:
            logging.getLogger("edgespec.engine").warning("a [red]strange[/] thing\x1b[2J")
            await stage.pilot.press("f8")

            await stage.until_shown("a [red]strange[/] thing[2J")

    played(scenario)


def explanation() -> Explanation:
    decision = Decision(
        context=10, drafter="suffix", k=7, reason="gain", bucket="match 6-8", expected_tokens=5.5,
        expected_s=0.1, expected_plain_s=0.04, rate=20.0, drafted=7, accepted=6, tokens=7,
        took_s=0.11, ledger_s=-0.4,
    )  # fmt: skip
    arm = Arm("suffix", 3, 21, 15, 18, 0.3, ())
    return Explanation(
        drafter="auto", draft_len=None, arms=(arm,), decisions=(decision,),
        costs=(PassCost(8, 0.1, 0.11),), draft_token_s=None, draft_read_s=None, steps=5, tokens=20,
        took_s=0.5, plain_s=1.0, bound=Bound(0.02, 0.1, -0.4), reasons={"gain": 3, "plain": 2},
    )  # fmt: skip


def test_why_page_accounts_for_the_last_answer() -> None:
    async def scenario() -> None:
        async with staged(
            ScriptedLM(["one two three four five."], explanation=explanation()), size=(100, 60)
        ) as stage:
            await stage.say("go")
            await stage.until_ended()
            await stage.pilot.press("f9")
            await stage.until_shown("What it bought")
            text = stage.text()

            assert "20 tokens in 5 steps, 0.50 s" in text
            assert "plainly about 1.00 s: 2.00×" in text
            assert "3  this draft promised more tokens for its time" in text
            assert "suffix        7     6  gain" in text
            assert "8 rows    100.0 ms at load, 110.0 now" in text
            assert "accepted   ▓" in text

    played(scenario)


def a_plan(target: str, draft: str, n_ctx: int | None) -> Plan:
    placement = Placement(
        devices=(), split=(), n_gpu_layers=0, split_mode="none", n_ctx=n_ctx or 4096, n_batch=512,
        max_logits=64, kv_type="f16",
    )  # fmt: skip
    lines = (Line("target weights", "CPU", 9_000_000_000), Line("target KV", "CPU", 1_000_000_000))
    return Plan(
        hardware="here", target_id=target, draft_id=None, target=placement, draft=None,
        drafters=("suffix",), reason="suffix gains where text repeats", lines=lines,
        rooms=(Room("CPU", 10_000_000_000, 12_000_000_000),),
        rungs=(Rung("n_ctx", "context 32,768 -> 8,192 to fit"),), n_ctx_most=8192,
    )  # fmt: skip


def test_plan_screen_shows_lines_places_and_what_gave_way() -> None:
    about = replace(DESCRIPTION, memory=(PlaceMemory("CPU", 10_000_000_000, 9_500_000_000),))

    async def scenario() -> None:
        stock = Models(CATALOGUE, make_plan=a_plan)
        async with staged(ScriptedLM(description=about), size=(80, 30), models=stock) as stage:
            await stage.app.screen.run_action("plan")
            await stage.until_shown("target weights")

            assert_golden("plan-80x30", dialog(stage))

    played(scenario)


def test_plan_that_does_not_fit_is_told_with_its_hint() -> None:
    def refuse(target: str, draft: str, n_ctx: int | None) -> Plan:
        raise DoesNotFit("9.0 GB are needed, 4.0 are free", hint="try --ctx 2048")

    async def scenario() -> None:
        stock = Models(CATALOGUE, make_plan=refuse)
        async with staged(ScriptedLM(), models=stock) as stage:
            await stage.app.screen.run_action("plan")
            await stage.until_shown("9.0 GB are needed, 4.0 are free")

            assert "try --ctx 2048" in stage.text()

    played(scenario)


def test_full_context_asks_and_does_what_was_chosen() -> None:
    small = replace(DESCRIPTION, n_ctx=60)
    model = ScriptedLM(["word " * 30, "Short."], description=small)

    async def scenario() -> None:
        async with staged(model) as stage:
            await stage.say("first " * 10)
            await stage.until_ended()
            await stage.say("second " * 10)
            await stage.until_shown("Context full")
            assert "leave out" in stage.text()

            await stage.pilot.press("enter")
            await stage.until_shown("Short.")
            await stage.until_ended()

            assert "[the model does not see this any more]" in stage.text()

    played(scenario)


def test_full_context_gives_the_message_back_on_escape() -> None:
    small = replace(DESCRIPTION, n_ctx=60)

    async def scenario() -> None:
        async with staged(ScriptedLM(["word " * 30], description=small)) as stage:
            await stage.say("first " * 10)
            await stage.until_ended()
            await stage.say("my second message " * 5)
            await stage.until_shown("Context full")
            await stage.pilot.press("escape")
            await stage.until(lambda: stage.prompt.text.startswith("my second message"))

    played(scenario)


def test_token_words_name_step_place_and_source() -> None:
    from edgespec.tui.provenance import about

    tokens = [
        TokenText(1, "a", "accepted"),
        TokenText(2, "b", "accepted"),
        TokenText(3, "c", "recovered"),
        TokenText(4, "d", "plain"),
    ]

    assert about(tokens, 1) == "step 1: draft token 2, accepted (id 2)"
    assert "after 2 accepted; the next was refused" in about(tokens, 2)
    assert about(tokens, 3).startswith("step 2: the target's own; nothing was drafted")
