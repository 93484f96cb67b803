"""A controller that a person overrules: who chooses meanwhile, and who learns from which step."""

import numpy as np

from edgespec.control.fixed import Fixed
from edgespec.control.pausable import Pausable
from edgespec.core import Choice, Tokens
from edgespec.events import DraftMode, Step

CONTEXT: Tokens = np.zeros(4, dtype=np.int32)


class Listening(Fixed):
    """Remembers what it learned from."""

    def __init__(self, drafter: str, draft_len: int) -> None:
        super().__init__(drafter, draft_len)
        self.seen: list[Step] = []

    def observe(self, step: Step) -> None:
        self.seen.append(step)


def step(drafter: str) -> Step:
    return Step(
        drafter=drafter, draft=(), tokens=(1,), accepted=0, discarded=0, rows=1, draft_s=0.0,
        target_s=0.1, verify_s=0.0, step_s=0.1, context=4,
    )  # fmt: skip


def test_mode_decides_who_chooses_the_next_step() -> None:
    pausable = Pausable(lambda: Fixed("suffix", 7), Fixed("none", 0), Fixed("model", 4))
    modes: tuple[DraftMode, ...] = ("auto", "off", "on", "auto")
    chosen = []

    for mode in modes:
        pausable.mode = mode
        chosen.append(pausable.choose(CONTEXT, 16))

    suffix, none, model = Choice("suffix", 7), Choice("none", 0), Choice("model", 4)
    assert chosen == [suffix, none, model, suffix]


def test_step_is_learned_by_whoever_chose_it() -> None:
    drafting, plain = Listening("suffix", 7), Listening("none", 0)
    pausable = Pausable(lambda: drafting, plain, plain)

    pausable.choose(CONTEXT, 16)
    pausable.mode = "off"  # while the step is under way
    pausable.observe(step("suffix"))
    pausable.choose(CONTEXT, 16)
    pausable.observe(step("none"))

    assert [s.drafter for s in drafting.seen] == ["suffix"]
    assert [s.drafter for s in plain.seen] == ["none"]


def test_controller_is_made_when_it_is_to_choose_first() -> None:
    made: list[Fixed] = []

    def make() -> Fixed:
        made.append(Fixed("suffix", 7))
        return made[-1]

    pausable = Pausable(make, Fixed("none", 0), Fixed("model", 4), "off")
    chosen, n_made = [], []
    modes: tuple[DraftMode, ...] = ("off", "auto", "off", "auto")
    for mode in modes:
        pausable.mode = mode
        chosen.append(pausable.choose(CONTEXT, 16))
        n_made.append(len(made))

    none, suffix = Choice("none", 0), Choice("suffix", 7)
    assert chosen == [none, suffix, none, suffix]
    assert n_made == [0, 1, 1, 1]
