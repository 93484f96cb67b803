"""Random requests to tiny models: what is asked, how it is sampled, and when it ends."""

import math
import random
from collections.abc import Sequence

from edgespec.api.types import Message, Options
from edgespec.core import Sampling
from tests import tinygguf

READABLE = tuple((tinygguf.FIRST_BYTE + byte, -math.inf) for byte in range(256))
_WORDS = ("the inn", "the hen", "and", "in an", "é", "日本", "n", "a,b", "\n", "{", "1 2 3")
_GRAMMARS = (
    'root ::= "- " item ("\\n- " item)* "."\nitem ::= "the inn" | "the hen"',
    "root ::= [a-z ,]+",
    'root ::= ("the " | "in " | "n")* "."',
    'root ::= "the inn and the hen and the inn and the hen"',
    "root ::= [^a]*",
)
_SCHEMAS = (
    '{"type": "object", "properties": {"n": {"enum": [1, 22, 333]}, "s": {"type": "string",'
    ' "maxLength": 4}}, "required": ["n", "s"], "additionalProperties": false}',
    '{"type": "array", "items": {"enum": ["the inn", "the hen"]}, "maxItems": 3}',
)


def words(rng: random.Random, most: int) -> str:
    """A text that repeats itself, mostly."""
    said = ["the", *(rng.choice(_WORDS) for _ in range(rng.randrange(most)))]
    return " ".join(said * rng.choice((1, 1, 2)))


def edited(chat: Sequence[Message], rng: random.Random, most: int) -> list[Message]:
    """A chat that goes on, begins anew, or was changed somewhere, and ends with a question."""
    kept = list(chat)
    how = rng.random()
    if how < 0.25 or sum(len(one["content"]) for one in kept) > 40 * most:
        kept = []
    elif how < 0.5 and kept:
        del kept[rng.randrange(len(kept)) :]
    elif how < 0.65 and kept:
        at = rng.randrange(len(kept))
        changed = words(rng, 2) if rng.random() < 0.5 else kept[at]["content"][:-1]
        kept[at] = Message(role=kept[at]["role"], content=changed or "n")
    if kept and kept[-1]["role"] == "user":
        kept.pop()
    return [*kept, Message(role="user", content=words(rng, most))]


def sampling(rng: random.Random, n_vocab: int) -> Sampling:
    """Every knob now and then."""
    bias: list[tuple[int, float]] = list(READABLE) if rng.random() < 0.7 else []
    if rng.random() < 0.25:
        amounts = (-math.inf, -100.0, -1.0, 2.0, 5.0)
        bias += [(rng.randrange(n_vocab), rng.choice(amounts)) for _ in range(rng.randint(1, 30))]
    if rng.random() < 0.03:
        bias.append((rng.randrange(n_vocab), math.inf))
    has_penalty = rng.random() < 0.3
    return Sampling(
        temperature=rng.choice((0.0, 0.0, 0.0, 0.3, 0.8, 1.0, 3.0)),
        top_k=rng.choice((0, 0, 1, 2, 5, 40)),
        top_p=rng.choice((1.0, 1.0, 0.95, 0.5, 0.05)),
        min_p=rng.choice((0.0, 0.0, 0.05, 0.5)),
        typical_p=rng.choice((1.0, 1.0, 1.0, 0.5)),
        repeat_penalty=rng.choice((1.0, 1.3, 0.8)) if has_penalty else 1.0,
        frequency_penalty=rng.choice((0.0, 0.7, -0.2)) if has_penalty else 0.0,
        presence_penalty=rng.choice((0.0, 0.5)) if has_penalty else 0.0,
        repeat_last_n=rng.choice((-1, 0, 1, 8, 64)),
        logit_bias=tuple(bias),
        seed=rng.randrange(2**63) if rng.random() < 0.5 else rng.randrange(9),
        reproducible=rng.random() < 0.25,
    )


def options(rng: random.Random, n_vocab: int, drafters: Sequence[str]) -> Options:
    """With a drafter of these."""
    shaping = sampling(rng, n_vocab)
    asks_form = rng.random()
    stops = ("n", "an", "in an", "the", ".", "1", " ", "z4", "A<", "é")
    return Options(
        shaping,
        rng.choice((0, 1, 2, 5, 12, 24, 24, 40, None)),
        tuple(rng.choice(stops) for _ in range(rng.choice((0, 0, 0, 1, 2)))),
        rng.choice(drafters),
        rng.choice((None, None, 0, 1, 2, 3, 5, 7, 15, 31, 100)),
        grammar=rng.choice(_GRAMMARS) if asks_form < 0.15 else None,
        json_schema=rng.choice(_SCHEMAS) if asks_form > 0.93 else None,
        logprobs=rng.choice((None, None, None, 0, 3)),
        raw=rng.random() < 0.4,
    )
