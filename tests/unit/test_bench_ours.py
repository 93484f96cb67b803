"""edgespec as an engine of its own benchmark, over a scripted model."""

from dataclasses import dataclass, field

from edgespec.bench.engine import Ask
from edgespec.bench.ours import OurEngine
from edgespec.core import Sampling
from tests.scripted import ScriptedLM
from tests.unit.bench_world import prompt

ASK = Ask(prompt("a"), Sampling(seed=3), 9)


@dataclass
class ScriptedHost:
    """A scripted model that remembers in which order it was asked for what."""

    model: ScriptedLM = field(default_factory=lambda: ScriptedLM(["one two three four five"]))
    asked: list[str] = field(default_factory=list)
    native_s: float = 0.0

    def forget_prompt(self) -> None:
        self.asked.append("forget prompt")

    def forget_draft(self) -> None:
        self.native_s += 0.01
        self.asked.append("forget draft")


@dataclass
class TickingClock:
    """A second later at every look."""

    now_s: float = 0.0

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def test_answer_keeps_tokens_steps_and_statistics() -> None:
    run = OurEngine(ScriptedHost(), ("suffix",)).answer("none", ASK)

    assert run.stats is not None
    assert len(run.tokens) == run.n_tokens == run.stats.generated_tokens == len(run.steps) == 5
    assert run.native_s == 0.0


def test_answer_tells_when_tokens_arrived() -> None:
    run = OurEngine(ScriptedHost(), ("suffix",), clock=TickingClock()).answer("suffix", ASK)

    assert sum(n for _, n in run.arrivals) == 5
    assert [n for _, n in run.arrivals] == [4, 1]
    assert [at_s for at_s, _ in run.arrivals] == [1.0, 2.0]
    assert run.wall_s == 3.0


def test_answer_reads_the_prompt_before_and_forgets_the_draft_models() -> None:
    host = ScriptedHost()

    OurEngine(host, ("suffix",)).answer("suffix", ASK)

    asked = [(r.options.drafter, r.options.max_tokens) for r in host.model.requests]
    assert asked == [("none", 0), ("suffix", 9)]
    assert host.asked == ["forget draft"]
    assert host.model.requests[1].options.sampling.seed == 3


def test_read_empties_the_cache_first() -> None:
    host = ScriptedHost()

    reading = OurEngine(host, ("suffix",)).read(ASK.prompt)

    assert host.asked == ["forget prompt"]
    assert host.model.requests[0].options.max_tokens == 1
    assert reading.n_tokens > 0


def test_forget_empties_both_caches() -> None:
    host = ScriptedHost()

    OurEngine(host, ("suffix",)).forget()

    assert host.asked == ["forget prompt", "forget draft"]


def test_energy_is_what_the_counter_rose_by() -> None:
    counter = iter((10.0, 17.5))

    run = OurEngine(ScriptedHost(), (), energy_j=lambda: next(counter)).answer("none", ASK)

    assert run.energy_j == 7.5


def test_arms_are_plain_decoding_and_each_drafter_once() -> None:
    assert OurEngine(ScriptedHost(), ("none", "suffix", "auto")).arms == ("none", "suffix", "auto")


def test_one_of_many_counts_from_the_common_beginning() -> None:
    engine = OurEngine(ScriptedHost(), (), clock=TickingClock(now_s=50.0))

    run = engine.one_of_many("none", ASK, began_s=40.0)

    assert run.arrivals[0][0] == 11.0
    assert run.wall_s == 16.0
