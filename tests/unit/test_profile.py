"""A user's own texts: how they are read, sorted and walked, and what is advised."""

import json
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from edgespec.api.types import Options
from edgespec.control import Fixed
from edgespec.core import Branch, Draft, Drafter, Sampler, Sampling, Tokens
from edgespec.costs import PassCosts
from edgespec.errors import UsageError
from edgespec.events import Round
from edgespec.history.exchange import as_json
from edgespec.history.records import ChatRecord, SavedChat, TurnRecord
from edgespec.profile.host import host_s
from edgespec.profile.kinds import kind_of
from edgespec.profile.main import Arm, KindProfile, Profile, Text, profiled
from edgespec.profile.passages import of_file, of_folder, of_history
from edgespec.profile.report import lines
from edgespec.profile.walk import Walk, walk
from edgespec.sampling import RequestSampler
from tests.fakes import FixedDrafter, OracleDrafter, WrongDrafter
from tests.scripted import ScriptedLM
from tests.unit.test_bench_ours import TickingClock

N_VOCAB = 50
TEXT: Tokens = np.arange(1, 42, dtype=np.int32)  # one token of context, then 40
COSTS = PassCosts((1, 4, 8), (0.1, 0.2, 0.4))
HOST_S = 0.001
MODEL = {"target": "m", "target_quant": "Q4", "draft": None, "backend": "CPU, 2 threads"}


def still() -> float:
    return 0.0


def walked(drafter: Drafter, k: int = 3) -> Walk:
    sampler = RequestSampler(Sampling(), N_VOCAB)
    drafters = {"played": drafter}
    return walk(Fixed("played", k), drafters, TEXT, 1, COSTS, sampler, HOST_S, clock=still)


def profile_of(
    texts: list[Text], **drafters: Drafter
) -> tuple[tuple[KindProfile, ...], KindProfile]:
    """A profile of drafters that all go as far as their arm says, at most 7."""
    return profiled(
        texts,
        list(drafters),
        lambda arm: Fixed(arm.drafter, arm.draft_len or 7),
        drafters,
        COSTS,
        N_VOCAB,
        HOST_S,
    )


def test_oracle_goes_a_whole_draft_further_at_every_step() -> None:
    found = walked(OracleDrafter(TEXT.tolist()))

    assert (found.n_tokens, found.steps, found.accepted) == (40, 10, 30)
    assert found.acceptance == 1
    assert found.mean_length == 4
    assert found.seconds == pytest.approx(10 * (0.2 + HOST_S))
    assert found.speedup == pytest.approx(40 * (0.1 + HOST_S) / (10 * (0.2 + HOST_S)))


def test_wrong_drafts_cost_their_rows_and_gain_nothing() -> None:
    found = walked(WrongDrafter(TEXT.tolist(), N_VOCAB))

    assert (found.steps, found.accepted) == (40, 0)
    # The last steps have no room for three.
    assert found.drafted == 37 * 3 + 2 + 1
    assert found.speedup < 0.6


def test_no_drafts_are_plain_decoding() -> None:
    found = walked(FixedDrafter(()))

    assert found.speedup == pytest.approx(1)
    assert found.acceptance is None
    assert found.mean_length is None


def test_draft_counts_as_far_as_it_is_the_text() -> None:
    found = walked(FixedDrafter((2, 3, 9)), k=3)

    assert (found.accepted, found.steps) == (2, 38)


def test_a_tree_counts_by_its_best_way_and_pays_for_all_rows() -> None:
    class Fork:
        name = "fork"

        def draft(self, context: Tokens, k: int, sampler: Sampler) -> Draft:
            n = len(context)
            return Draft((49,), branches=(Branch(n, (n + 1, n + 2)),)) if k >= 3 else Draft()

    found = walked(Fork())

    assert (found.accepted, found.drafted, found.steps) == (26, 26, 14)
    assert found.seconds == pytest.approx(13 * 0.2 + 0.1 + 14 * HOST_S)


def test_walks_add_up() -> None:
    one = Walk(10, 5, 4, 8, 5, 1.0, 2.0)

    assert one + one == Walk(20, 10, 8, 16, 10, 2.0, 4.0)
    assert Walk().speedup == 1


def test_best_drafter_is_advised_for_each_kind() -> None:
    texts = [Text("code", TEXT, 1), Text("prose", TEXT, 1)]

    kinds, overall = profile_of(texts, suffix=OracleDrafter(TEXT.tolist()))

    assert [kind.kind for kind in kinds] == ["code", "prose"]
    assert overall.best == kinds[0].best == Arm("suffix")
    assert overall.walks[0][1].n_tokens == 80


def test_shorter_limit_is_advised_where_it_is_clearly_better() -> None:
    repeating = np.array([1, *[2, 3, 4, 5] * 10], np.int32)
    drafter = FixedDrafter((2, 3, 4, 45, 46, 47, 48))

    (kind,), _ = profile_of([Text("prose", repeating, 1)], suffix=drafter)

    assert kind.best == Arm("suffix", 3)
    assert kind.best.flags == "--drafter suffix --draft-len 3"


def test_plain_decoding_is_advised_where_nothing_gains() -> None:
    drafter = WrongDrafter(TEXT.tolist(), N_VOCAB)

    (kind,), _ = profile_of([Text("prose", TEXT, 1)], suffix=drafter)

    assert kind.best.flags == "--drafter none"


def test_all_arms_walk_the_same_part_where_there_is_a_draft_model() -> None:
    long: Tokens = np.arange(0, 400, dtype=np.int32) % N_VOCAB
    texts = [Text("prose", long, 1)] * 9

    (kind,), _ = profile_of(texts, suffix=FixedDrafter(()), model=FixedDrafter(()))

    assert {arm.drafter: w.n_tokens for arm, w in kind.walks} == {"suffix": 600, "model": 600}


def test_auto_is_advised_unless_another_is_clearly_better() -> None:
    auto, suffix = (Arm("auto"), Walk(99, seconds=1.0, plain_s=1.50)), Arm("suffix")

    near = KindProfile("code", 1, ((suffix, Walk(99, seconds=1.0, plain_s=1.52)), auto))
    far = KindProfile("code", 1, ((suffix, Walk(99, seconds=1.0, plain_s=1.70)), auto))

    assert near.best == Arm("auto")
    assert far.best == suffix


def test_a_few_words_decide_nothing() -> None:
    found = (Arm("suffix"), Walk(7, seconds=1.0, plain_s=3.0)), (Arm("auto"), Walk(7, seconds=1.0))
    kind = KindProfile("prose", 1, found)

    shown = "\n".join(lines(Profile(MODEL, (kind,), kind, COSTS)))

    assert kind.best == Arm("auto")
    assert "--drafter auto (too little text to tell)" in shown


def test_report_puts_the_setting_beside_the_best() -> None:
    kind = KindProfile("code", 2, ((Arm("suffix"), Walk(90, 50, 50, 90, 40, 1.0, 1.8)),))

    shown = "\n".join(lines(Profile(MODEL, (kind,), kind, COSTS, ("empty.txt",))))

    assert "1.80" in shown
    assert "--drafter suffix" in shown
    assert "left out, empty, longer than the context or no chat for this model: empty.txt" in shown


@pytest.mark.parametrize(
    ("text", "before", "suffix", "kind"),
    [
        ("x = 1", "", ".py", "code"),
        ("a,b", "", ".csv", "data"),
        ("Sure:\n```python\nprint(1)\nprint(2)\nprint(3)\n```", "", "", "code"),
        ('{"a": 1}', "", "", "data"),
        ("2025-01-02 ok\n2025-01-02 ok\n2025-01-02 ok\n2025-01-02 ok", "", "", "log"),
        ("It was a dark night.", "", "", "prose"),
        ("The seal of the pump was worn through on one side.",
         "Dear Ms Okafor, the seal of the pump was worn through on one side. The seal of the pump "
         "was worn through on one side.", "", "repeats its prompt"),
    ],
)  # fmt: skip
def test_kind_is_told_by_looks(text: str, before: str, suffix: str, kind: str) -> None:
    assert kind_of(text, before=before, suffix=suffix) == kind


_DIALECTS = {
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    "object": {"messages": [{"role": "user", "content": "Hi"},
                            {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}]},
    "sharegpt": [{"conversations": [{"from": "human", "value": "Hi"},
                                    {"from": "gpt", "value": "Hello"}]}],
    "tree": [{
        "mapping": {
            "1": {"message": None, "parent": None},
            "2": {"message": {"author": {"role": "user"}, "content": {"parts": ["Hi"]}},
                  "parent": "1"},
            "3": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Hello"]}},
                  "parent": "2"},
            "4": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["No"]}},
                  "parent": "2"},
        },
        "current_node": "3",
    }],
}  # fmt: skip


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_chat_exports_give_their_answers(tmp_path: Path, dialect: str) -> None:
    file = tmp_path / "chats.json"
    file.write_text(json.dumps(_DIALECTS[dialect]), encoding="utf-8")

    (passage,) = of_file(file)

    assert passage.text == "Hello"
    assert [m["content"] for m in passage.context] == ["Hi"]


def test_chats_as_json_lines_are_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    line = json.dumps({"messages": _DIALECTS["messages"]})
    file.write_text(f"{line}\n{line}\n", encoding="utf-8")

    assert [passage.text for passage in of_file(file)] == ["Hello", "Hello"]


def test_message_in_json_lines_may_hold_other_line_breaks(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "a\u2028b\u0085c"}]
    file.write_text(json.dumps({"messages": said}, ensure_ascii=False) + "\n", encoding="utf-8")

    assert [passage.text for passage in of_file(file)] == ["a\u2028b\u0085c"]


def test_other_json_is_a_text_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"port": 80, "messages": 3}', encoding="utf-8")

    (passage,) = of_file(file)

    assert (passage.kind, passage.context) == ("data", ())


@pytest.mark.parametrize(
    "odd",
    [
        [{"mapping": {"1": 3}, "current_node": "1"}],
        [{"mapping": {"1": {"message": {"author": "me", "content": "Hi"}}}, "current_node": "1"}],
        [{"mapping": {"1": {"message": None, "parent": ["1"]}}, "current_node": "1"}],
    ],
)
def test_export_of_another_shape_is_a_text_of_its_own(tmp_path: Path, odd: object) -> None:
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(odd), encoding="utf-8")

    (passage,) = of_file(file)

    assert (passage.text, passage.context) == (json.dumps(odd), ())


def test_parts_of_a_message_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    parts = ["Hel", {"type": "image"}, None, {"type": "text", "text": None}, 3, "lo"]
    file = tmp_path / "chats.json"
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": parts}]
    file.write_text(json.dumps({"messages": said}), encoding="utf-8")

    (passage,) = of_file(file)

    assert passage.text == "Hello"


def test_kept_chats_give_the_answers_of_the_shown_branch(tmp_path: Path) -> None:
    turn = TurnRecord("t1", "c1", "", "Hi", "Hello", status="complete")
    other = TurnRecord("t2", "c1", "", "Hi", "Bye", status="complete")
    saved = SavedChat(
        ChatRecord("c1", title="Talk", system="Be kind.", head_id="t1"), (turn, other)
    )
    file = tmp_path / "export.json"
    file.write_text(as_json([saved]), encoding="utf-8")

    (kept,), (exported,) = of_history([saved]), of_file(file)

    assert (kept.source, kept.text) == ("Talk", "Hello")
    assert (exported.source, exported.text) == ("export.json", "Hello")
    assert kept.context == exported.context
    assert [m["role"] for m in kept.context] == ["system", "user"]


def test_empty_file_has_no_passage(tmp_path: Path) -> None:
    file = tmp_path / "empty.txt"
    file.write_text(" \n", encoding="utf-8")

    assert of_file(file) == []


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "photo.txt"
    file.write_bytes(b"\xff\xd8\xff\xe0\x80")

    with pytest.raises(UsageError, match="is no text in UTF-8"):
        of_file(file)


def test_text_of_two_bytes_a_character_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_bytes("Dear Ana".encode("utf-16-le"))

    with pytest.raises(UsageError, match="is no text in UTF-8"):
        of_file(tmp_path / "letter.txt")
    assert of_folder(tmp_path) == []


def test_huge_text_is_read_at_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "huge.log"
    file.write_bytes(b"a line\n" * 1_000_000 + b"\xff")

    (passage,) = of_file(file)

    assert 1_000_000 < len(passage.text) < 5_000_000


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_json_that_nests_without_end_is_a_text_of_its_own(
    tmp_path: Path, suffix: str, *, is_whole: bool
) -> None:
    file = tmp_path / f"deep{suffix}"
    file.write_text("[" * 3000 + "]" * 3000 * is_whole, encoding="utf-8")

    (passage,) = of_file(file)

    assert passage.text == file.read_text(encoding="utf-8")


def test_what_a_step_costs_beside_its_pass_is_measured_on_an_answer() -> None:
    # Every look at the clock is a second later, and the script says what its passes took.
    said = ["one two three four five six seven eight"]

    found = host_s(ScriptedLM(said), clock=TickingClock())

    events = ScriptedLM(said).chat([], Options(drafter="none"))
    steps = [event.step for event in events if isinstance(event, Round)]
    assert len(steps) > 1
    assert found == 1.0 - median(step.target_s for step in steps[1:])


def test_answer_of_one_step_tells_nothing_of_what_steps_cost() -> None:
    assert host_s(ScriptedLM(["one"]), clock=TickingClock()) == 0.0


def test_folder_gives_the_texts_in_it_and_passes_over_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Dear Ana", encoding="utf-8")
    (tmp_path / "a.md").write_text("# Notes", encoding="utf-8")
    (tmp_path / "photo.bin").write_bytes(b"\xff\xfe\xfd\x80")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "key.txt").write_text("not to be read", encoding="utf-8")

    found = of_folder(tmp_path)

    assert [passage.source for passage in found] == ["a.md", "b.txt"]
