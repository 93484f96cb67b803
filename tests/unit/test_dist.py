import numpy as np
import pytest

from edgespec.core import Dist, Probs


def dist_of(weights: Probs) -> Dist:
    """A distribution over the even tokens."""
    return Dist(2 * np.arange(len(weights), dtype=np.int32), weights / weights.sum())


@pytest.mark.parametrize("n", [2, 1_024, 1_025, 5_000, 8_192])
def test_draw_is_the_token_at_u_of_the_running_sum(n: int) -> None:
    rng = np.random.default_rng(n)
    dist = dist_of(rng.random(n) ** 4)
    uniforms = rng.random(200)

    drawn = [dist.draw(u) for u in uniforms]

    at = np.searchsorted(np.cumsum(dist.probs), uniforms, side="right")
    assert drawn == dist.ids[at].tolist()


@pytest.mark.parametrize("n", [2, 1_025, 8_192])
@pytest.mark.parametrize(("u", "at"), [(0.0, 0), (1 - 2**-53, -1)])
def test_draw_at_either_end_is_the_token_there(n: int, u: float, at: int) -> None:
    dist = dist_of(np.ones(n))

    assert dist.draw(u) == dist.ids[at]


def test_draw_at_the_border_of_two_tokens_is_the_upper_one() -> None:
    """Halves and quarters are exact: so are the borders, within a block and between two."""
    dist = dist_of(np.ones(4_096))

    assert [dist.draw(i / 4_096) for i in (1, 1_023, 1_024, 2_048)] == [2, 2_046, 2_048, 4_096]
