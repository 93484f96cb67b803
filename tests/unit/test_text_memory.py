from edgespec.text.memory import AnswerMemory
from tests.unit.fake_vocab import FakeVocab

VOCAB = FakeVocab()
OWN = VOCAB.ids("Hel", "lo")
"""Not how the tokenizer would cut "Hello"."""


def _spelling(memory: AnswerMemory, text: str) -> tuple[list[int], int]:
    answer = memory.find(text)
    assert answer
    tokens, n_chars = answer.spelling(answer.text)
    return tokens.tolist(), n_chars


def test_memory_finds_the_tokens_of_an_answer() -> None:
    memory = AnswerMemory(VOCAB)

    memory.remember("Hello", OWN)

    assert _spelling(memory, "Hello") == (OWN, 5)
    assert memory.find("Hell") is None


def test_memory_finds_an_answer_whose_white_space_was_trimmed() -> None:
    memory = AnswerMemory(VOCAB)

    memory.remember(" Hello\n\n", VOCAB.ids(" ", *"Hello", "\n\n"))

    assert memory.find("Hello") is memory.find(" Hello\n\n") is not None


def test_memory_keeps_the_tokens_up_to_where_they_spell_the_text() -> None:
    memory = AnswerMemory(VOCAB)

    memory.remember("Hello wo", [*OWN, VOCAB.id(" wor")])

    assert _spelling(memory, "Hello wo") == (OWN, 5)


def test_memory_keeps_no_token_that_ends_inside_a_character() -> None:
    memory = AnswerMemory(VOCAB)
    sun = "日".encode()

    memory.remember("Hello日", [*OWN, *VOCAB.ids(sun[:2], sun[2:])])
    memory.remember("lo\ufffd", VOCAB.ids("lo", sun[:2]))

    assert _spelling(memory, "Hello日") == ([*OWN, *VOCAB.ids(sun[:2], sun[2:])], 6)
    assert _spelling(memory, "lo\ufffd") == (VOCAB.ids("lo"), 2)


def test_memory_keeps_no_token_that_begins_the_next_character() -> None:
    sun, llama = "日".encode(), "🦙".encode()
    vocab = FakeVocab(pieces=[sun[:2], sun[2:] + llama[:2], llama[2:]])
    tokens = vocab.ids(sun[:2], sun[2:] + llama[:2], llama[2:])
    memory = AnswerMemory(vocab)

    memory.remember("日", tokens)
    memory.remember("日🦙", tokens)

    assert memory.find("日") is None
    assert _spelling(memory, "日🦙") == (tokens, 2)


def test_memory_drops_the_end_of_generation() -> None:
    memory = AnswerMemory(VOCAB)

    memory.remember("Hello", [*OWN, VOCAB.id("<|im_end|>")])

    assert _spelling(memory, "Hello") == (OWN, 5)


def test_memory_ignores_tokens_that_spell_something_else() -> None:
    memory = AnswerMemory(VOCAB)

    memory.remember("Hello", VOCAB.ids("lo"))
    memory.remember(" \n", VOCAB.ids(" ", "\n"))

    assert memory.find("Hello") is None
    assert memory.find(" \n") is None


def test_memory_keeps_the_first_of_two_answers_with_one_text() -> None:
    memory = AnswerMemory(VOCAB)

    memory.remember("Hello", OWN)
    memory.remember("Hello", VOCAB.ids("Hello"))

    assert _spelling(memory, "Hello")[0] == OWN


def test_memory_forgets_the_answer_unused_for_longest_beyond_its_limit() -> None:
    memory = AnswerMemory(VOCAB, limit=4)
    memory.remember("Hello", OWN)
    memory.remember("ab", VOCAB.ids("a", "b"))
    memory.find("Hello")

    memory.remember("c", VOCAB.ids("c"))

    assert memory.find("Hello")
    assert memory.find("ab") is None
    assert memory.find("c")


def test_answer_spells_as_far_as_the_text_agrees() -> None:
    memory = AnswerMemory(VOCAB)
    memory.remember("Hello\n\n", [*OWN, VOCAB.id("\n\n")])
    answer = memory.find("Hello")
    assert answer

    tokens, n_chars = answer.spelling("Hello<|im")

    assert (tokens.tolist(), n_chars) == (OWN, 5)
    assert answer.spelling("no")[1] == 0
