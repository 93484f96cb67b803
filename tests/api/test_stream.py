"""A running answer: its events, its end, who may stop it, and who comes next."""

import threading
from collections.abc import Callable

import pytest

from edgespec.api.model import LoadedModel
from edgespec.api.stream import AnswerStream
from edgespec.errors import Busy, Closed
from edgespec.events import Done, PromptProgress
from tests.api.answers import end_of, options, progress_of, rounds_of, saying, text_of
from tests.api.conftest import Gate

LONG = "word " * 60
"""More tokens than two chunks of prefill hold."""


def test_stream_joined_equals_the_complete_answer(pair: LoadedModel) -> None:
    whole = pair.complete("Hello", options(40))

    events = list(pair.chat("Hello", options(40)))

    assert text_of(events) == whole.text
    assert whole.text
    assert end_of(events).generated_tokens == whole.stats.generated_tokens == len(whole.tokens)


def test_stream_tells_the_prompt_first_and_the_end_last(model: LoadedModel) -> None:
    events = list(model.chat(LONG, options(3)))

    kinds = [event.kind for event in events]
    done = [event.done for event in progress_of(events)]
    n = events[0].total if isinstance(events[0], PromptProgress) else 0
    assert kinds.index("round") > max(i for i, kind in enumerate(kinds) if kind == "prompt")
    assert kinds.count("done") == 1
    assert kinds[-1] == "done"
    assert done == [0, 128, 256, n - 1]


def test_stream_names_every_token_once(pair: LoadedModel) -> None:
    events = list(pair.chat("Hello", options(40)))

    told = [token.id for event in events if event.kind == "text" for token in event.tokens]
    assert told == [token for r in rounds_of(events) for token in r.step.tokens]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_accepted_tokens_of_sampled_drafts_tell_how_likely_the_draft_found_them(
    pair: LoadedModel, temperature: float
) -> None:
    events = list(pair.chat("Hello", options(40, temperature=temperature, drafter="model")))

    told = [token for event in events if event.kind == "text" for token in event.tokens]
    accepted = [token for token in told if token.source == "accepted"]
    odds = [token.p_draft for token in told if token.p_draft is not None]
    assert accepted
    assert len(odds) == (len(accepted) if temperature else 0)
    assert all(0 < p <= 1 for p in odds)


def test_stream_is_empty_when_iterated_again(model: LoadedModel) -> None:
    stream = model.chat("Hello", options(3))
    list(stream)

    again = list(stream)

    assert again == []


def test_break_keeps_the_statistics_and_frees_the_engine(model: LoadedModel) -> None:
    stream = model.chat("Hello", options(400))
    for event in stream:
        if event.kind == "round":
            break

    stats = stream.stats

    assert stats.generated_tokens >= 1
    assert stats.finish_reason in ("cancelled", "length")
    assert model.complete("Hello", options(5)).text == model.complete("Hello", options(5)).text


@pytest.mark.parametrize(
    ("draft", "asked", "taken"),
    [
        ("draft", None, "suffix+model"),
        ("draft", "none", "suffix+model"),
        ("draft", "model", "model"),
        (None, None, "suffix"),
    ],
)
def test_forced_drafts_change_who_drafts_from_the_next_step_on_and_not_the_text(
    loaded: Callable[..., LoadedModel],
    gate: Gate,
    draft: str | None,
    asked: str | None,
    taken: str,
) -> None:
    model = loaded("llama", draft)
    plain = model.complete("Hello", options(40, drafter="none"))
    gate.hold(at=1)
    stream = model.chat("Hello", options(40, drafter=asked))
    gate.wait()
    stream.draft("on")
    gate.release()

    events = list(stream)

    late = [r.step for r in rounds_of(events)][1:]  # the first was chosen before, or not
    assert {step.drafter for step in late} == {taken}
    assert max(step.drafted for step in late) == 4
    assert text_of(events) == plain.text


def test_answer_that_began_without_drafts_goes_on_as_the_model_was_loaded(
    loaded: Callable[..., LoadedModel], gate: Gate
) -> None:
    model = loaded("llama", "draft", drafter="model")
    plain = model.complete("Hello", options(40, drafter="none"))
    gate.hold(at=1)
    stream = model.chat("Hello", options(40, drafter="none", draft_len=4))
    gate.wait()
    stream.draft("auto")
    gate.release()

    events = list(stream)

    late = [r.step for r in rounds_of(events)][1:]  # the first was chosen before, or not
    assert {step.drafter for step in late} == {"model"}
    assert stream.stats.drafter == "model"
    assert text_of(events) == plain.text


def test_answer_of_a_model_loaded_without_drafts_goes_on_with_those_that_need_no_model(
    loaded: Callable[..., LoadedModel], gate: Gate
) -> None:
    model = loaded("llama", drafter="none")
    gate.hold(at=1)
    stream = model.chat("Hello", options(40))
    gate.wait()
    stream.draft("auto")
    gate.release()

    list(stream)

    explained = model.explain()
    assert explained is not None
    assert "suffix" in {arm.drafter for arm in explained.arms}


def test_cancel_during_prefill_ends_within_one_chunk(model: LoadedModel, gate: Gate) -> None:
    gate.hold(at=2)
    stream = model.chat(LONG, options(5))
    gate.wait()

    def give_up() -> None:
        stream.cancel()
        gate.release()

    threading.Thread(target=give_up).start()

    events = list(stream)

    assert end_of(events).finish_reason == "cancelled"
    assert end_of(events).generated_tokens == 0
    assert [event.done for event in progress_of(events)] == [0, 128]


def test_cancel_during_decode_ends_within_one_step(model: LoadedModel, gate: Gate) -> None:
    gate.hold(at=5)  # the prompt's pass, three steps, and this one
    stream = model.chat("Hello", options(400, drafter="none"))
    gate.wait()
    stream.cancel()
    stream.cancel()
    gate.release()

    events = list(stream)

    assert end_of(events).finish_reason == "cancelled"
    assert end_of(events).generated_tokens == 3
    assert text_of(events)


@pytest.mark.parametrize("target", ["llama", "gemma3", "mamba", "lfm2"])
@pytest.mark.parametrize("at", [2, 4, 7])
def test_answer_after_a_cancelled_one_is_a_fresh_models(
    loaded: Callable[..., LoadedModel], gate: Gate, target: str, at: int
) -> None:
    expected = loaded(target).complete(LONG, options(20)).text
    model = loaded(target)
    gate.hold(at)
    stream = model.chat(LONG, options(20))
    gate.wait()
    stream.cancel()
    gate.release()
    cancelled = list(stream)

    text = model.complete(LONG, options(20)).text

    assert end_of(cancelled).finish_reason == "cancelled"
    assert text == expected


def test_cancel_after_the_end_leaves_the_next_answer_alone(model: LoadedModel) -> None:
    first = model.chat("Hello", options(3))
    list(first)
    first.cancel()

    second = model.complete("Hello", options(3))

    assert second.stats.finish_reason == "length"


def test_second_answer_waits_for_the_first(model: LoadedModel, gate: Gate) -> None:
    expected = [model.complete(prompt, options(8)).text for prompt in ("One", "Two")]
    gate.hold(at=3)
    first = model.chat("One", options(8))
    gate.wait()
    second = model.chat("Two", options(8))
    order: list[str] = []

    def read(stream: AnswerStream, name: str) -> None:
        texts[name] = text_of(stream)
        order.append(name)

    texts: dict[str, str] = {}
    readers = [
        threading.Thread(target=read, args=(second, "second")),
        threading.Thread(target=read, args=(first, "first")),
    ]
    for reader in readers:
        reader.start()
    gate.release()
    for reader in readers:
        reader.join()

    assert order == ["first", "second"]
    assert [texts["first"], texts["second"]] == expected


def test_many_threads_get_their_own_answers(pair: LoadedModel) -> None:
    prompts = ["Hello", "What is it?", "12 + 30", "the cat", "Zebras!", "in an inn"]
    expected = [pair.complete(prompt, options(12)).text for prompt in prompts]
    texts: dict[int, str] = {}

    def ask(i: int) -> None:
        texts[i] = pair.complete(prompts[i], options(12)).text

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [texts[i] for i in range(6)] == expected
    assert len(set(expected)) >= 4


def test_chat_without_waiting_is_refused_while_busy(model: LoadedModel, gate: Gate) -> None:
    gate.hold(at=2)
    with model.chat("Hello", options(5)):
        gate.wait()

        with pytest.raises(Busy):
            model.chat("Hello", options(5), wait=False)

        gate.release()


def test_chat_without_waiting_is_taken_as_soon_as_an_answer_ended(model: LoadedModel) -> None:
    for _ in range(50):
        events = list(model.chat("Hello", options(1), wait=False))

        assert end_of(events).generated_tokens == 1


def test_waiting_answer_is_cancelled_at_once(model: LoadedModel, gate: Gate) -> None:
    gate.hold(at=2)
    with model.chat("Hello", options(5)):
        gate.wait()
        waiting = model.chat("Hello", options(5))

        waiting.cancel()
        events = list(waiting)  # while the first still holds the engine

        assert events == [Done(waiting.stats)]
        assert waiting.stats.finish_reason == "cancelled"
        gate.release()
    assert model.complete("Hello", options(2)).stats.generated_tokens == 2


def test_waiting_answer_is_closed_at_once(model: LoadedModel, gate: Gate) -> None:
    gate.hold(at=2)
    with model.chat("Hello", options(5)):
        gate.wait()
        waiting = model.chat("Hello", options(5))

        waiting.close()
        waiting.close()

        assert waiting.stats.finish_reason == "cancelled"
        gate.release()


def test_close_of_the_model_ends_running_and_waiting_answers(
    model: LoadedModel, gate: Gate
) -> None:
    gate.hold(at=3)
    running, waiting = model.chat("One", options(400)), model.chat("Two", options(400))
    gate.wait()
    closing = threading.Thread(target=model.close)
    closing.start()
    while not running._answer._is_cancelled.is_set():
        pass
    gate.release()
    closing.join()

    ends = [end_of(list(stream)).finish_reason for stream in (running, waiting)]

    assert ends == ["cancelled", "cancelled"]


def test_use_after_close_is_refused_in_words(model: LoadedModel) -> None:
    model.close()
    model.close()

    for use in (
        lambda: model.chat("Hello"),
        lambda: model.complete("Hello"),
        lambda: model.count("Hello"),
        lambda: model.tokenize("Hello"),
    ):
        with pytest.raises(Closed) as refusal:
            use()
        assert refusal.value.hint


def test_description_outlives_the_model(model: LoadedModel) -> None:
    before = model.description
    model.close()

    assert model.description == before


def test_stop_string_ends_the_answer_before_it(pair: LoadedModel, drafter: str) -> None:
    events = list(pair.chat("Hello", saying("one two three", stop=("tw",), drafter=drafter)))

    assert text_of(events) == "one "
    assert end_of(events).finish_reason == "stop"


def test_stop_string_inside_a_block_leaves_what_plain_decoding_says(
    pair: LoadedModel, drafter: str
) -> None:
    """Neither tokens nor figures of what the block holds behind it (row 7)."""
    prompt = "abc abc abc abc"
    whole = pair.complete(prompt, options(60, drafter="none")).text
    stop = whole[20:24]
    plain = pair.complete(prompt, options(60, drafter="none", stop=(stop,)))

    asked = options(60, drafter=drafter, draft_len=15, stop=(stop,), logprobs=0)
    reply = pair.complete(prompt, asked)

    assert reply.text == plain.text == whole[: whole.index(stop)]
    assert reply.tokens == plain.tokens
    assert len(reply.logprobs) == len(reply.tokens) == reply.stats.generated_tokens
    assert reply.stats.finish_reason == "stop"


def test_step_texts_spell_the_draft(pair: LoadedModel) -> None:
    rounds = rounds_of(pair.chat("a b c a b c a b", options(30)))

    drafted = [r for r in rounds if r.step.drafted]
    assert drafted
    assert all(len(r.pieces) == r.step.drafted for r in drafted)
    assert all(not r.pieces for r in rounds if not r.step.drafted)
