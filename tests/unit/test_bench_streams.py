"""Several readers at once, over a scripted engine."""

import pytest

from edgespec.bench.engine import PLAIN, EngineFailed
from edgespec.bench.field import Field
from edgespec.bench.streams import StreamPlan, StreamScore, measure_streams
from tests.unit.bench_world import FakeClock, ScriptedEngine, prompt


class InOrder(ScriptedEngine):
    """Readers are served one by one, whatever their threads do: there is one clock."""

    def one_of_many(self, arm, ask, began_s):  # type: ignore[no-untyped-def]
        with self._lock:
            return super().one_of_many(arm, ask, began_s)

    def __post_init__(self) -> None:
        import threading

        super().__post_init__()
        self._lock = threading.Lock()


def measured(budget_s: float | None = None) -> list[StreamScore]:
    engine = InOrder(FakeClock(), {PLAIN: 0.05, "suffix": 0.025})
    plan = StreamPlan(
        (prompt("a"), prompt("b")), (PLAIN, "suffix"), (1, 2, 4), 10, budget_s=budget_s
    )
    return list(measure_streams(Field([engine]), plan, clock=engine.clock))


def test_every_level_and_arm_has_a_score() -> None:
    assert {(s.n_streams, s.arm) for s in measured()} == {
        (n, arm) for n in (1, 2, 4) for arm in (PLAIN, "suffix")
    }


def test_queued_readers_share_one_engines_speed() -> None:
    plain = {s.n_streams: s for s in measured() if s.arm == PLAIN}

    assert plain[4].tokens_per_s == pytest.approx(20)
    assert plain[4].tokens_per_s == pytest.approx(plain[1].tokens_per_s)
    assert plain[4].worst_ttft_s == pytest.approx(3 * 0.5 + 0.05)
    assert not plain[4].is_batched


def test_ratio_is_to_plain_decoding_with_as_many_readers() -> None:
    fast = {s.n_streams: s.ratio for s in measured() if s.arm == "suffix"}

    assert fast == pytest.approx({1: 2.0, 2: 2.0, 4: 2.0})


@pytest.mark.parametrize("n_good", [0, 1])
def test_engine_that_fails_on_the_way_leaves_the_others_their_scores(n_good: int) -> None:
    class Failing(InOrder):
        def one_of_many(self, arm, ask, began_s):  # type: ignore[no-untyped-def]
            self.n_asked = getattr(self, "n_asked", 0) + 1
            if self.n_asked > n_good:
                raise EngineFailed("it broke off")
            return super().one_of_many(arm, ask, began_s)

    clock = FakeClock()
    ours = InOrder(clock, {PLAIN: 0.05})
    peer = Failing(clock, {"peer:plain": 0.05}, name="peer:plain")
    plan = StreamPlan((prompt("a"),), (PLAIN, "peer:plain"), (1, 2), 10)
    field = Field([ours, peer])

    found = list(measure_streams(field, plan, clock=clock))

    assert {(s.n_streams, s.arm) for s in found} == {(1, PLAIN), (2, PLAIN)}
    assert field.failures == {"peer:plain": "it broke off"}


def test_no_level_begins_that_would_end_too_late() -> None:
    # One reader takes 2 x (0.5 + 0.25) s, two take 3 s.
    assert {s.n_streams for s in measured(budget_s=5.0)} == {1, 2}
