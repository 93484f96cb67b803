from edgespec.control.costs import Measured
from edgespec.costs import PassCosts
from edgespec.curve import Curve, lines

STEEP = PassCosts((1, 4, 8, 9, 64), (0.04, 0.1, 0.24, 0.26, 1.2))


def shown(costs: Measured, draft: str | None = None) -> list[str]:
    return list(lines(Curve("target", draft, "CPU, 2 threads", costs), bar="#"))


def test_every_measured_size_has_its_time_its_ratio_and_a_bar() -> None:
    (row,) = (line for line in shown(Measured(STEEP)) if line.startswith("   8"))

    assert row.split()[:3] == ["8", "240.0", "6.00"]
    assert row.split()[3] == "#" * 9  # of 44 for 1.2 s


def test_changes_of_kernels_are_marked_where_they_are() -> None:
    text = shown(Measured(STEEP))

    marks = [i for i, line in enumerate(text) if "change kernels" in line]
    assert [text[i - 1].split()[0] for i in marks] == ["8", "9"]


def test_best_lengths_are_those_of_the_curve() -> None:
    row = next(line for line in shown(Measured(STEEP)) if "looked up" in line)

    assert row.split()[0] == "none"
    assert row.split()[-3] == "1.53x"


def test_a_dear_draft_model_is_never_best() -> None:
    text = shown(Measured(STEEP, draft_s=0.05, read_s=0.001), "draft")

    row = next(line for line in text if line.endswith("by draft"))
    assert row.split()[:5] == ["none"] * 5
    assert "1.25 plain steps" in text[-1]


def test_doubt_about_the_times_is_told() -> None:
    quiet, busy = shown(Measured(STEEP)), shown(Measured(STEEP, is_doubtful=True))

    assert not any("in doubt" in line for line in quiet)
    assert busy[-1].startswith("in doubt: the machine was busy")
