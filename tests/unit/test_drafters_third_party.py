"""Drafters of other distributions: a real one, installed by its metadata into a folder."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from edgespec.cli.main import cli
from edgespec.core import Draft, Sampling, Steered, Tokens
from edgespec.doctor import report
from edgespec.drafters import DRAFTERS, DrafterInputs, create, find, names, third_party
from edgespec.drafters.arms import Branching, Free, Paid
from edgespec.drafters.contract import StatelessDrafterContract
from edgespec.errors import Interrupted, UsageError
from edgespec.sampling import RequestSampler
from tests.fakes import NumpyLM, tokens_of
from tests.strangers import MODEL, SOUND, Install

GREEDY = RequestSampler(Sampling(), 8)


def inputs() -> DrafterInputs:
    return DrafterInputs(8, lambda token: token == 7)


def model_inputs(*faults: int) -> DrafterInputs:
    return replace(inputs(), session=NumpyLM(8, scale=60.0, faults=faults))


def draft_by(body: str) -> str:
    """A module whose drafter's `draft` is this."""
    return SOUND.replace("return Draft((int(context[-1]),) * min(k, 1))", body)


def drawn(ids: str, probs: str) -> str:
    """A body that says it drew token 1 from this distribution."""
    return (
        "from edgespec.core import Dist; from numpy import array, nan;"
        f" return Draft((1,), (Dist(array({ids}), array({probs})),))"
    )


def test_installed_drafter_is_one_of_the_registry(install: Install) -> None:
    install(SOUND, "last = stranger:Last")

    made = create("last", inputs())

    assert names() == (*DRAFTERS, "last")
    assert find("last").needs_draft_model is False
    assert made.name == "last"
    assert made.draft(tokens_of(1, 2, 3), 4, GREEDY) == Draft((3,))


def test_guarded_drafter_keeps_the_contract(install: Install) -> None:
    install(SOUND, "last = stranger:Last")

    class Contract(StatelessDrafterContract):
        name = "last"

    for test in (name for name in dir(Contract) if name.startswith("test_")):
        getattr(Contract(), test)()


def test_guarded_drafter_is_an_arm_of_its_kind(install: Install) -> None:
    install(SOUND, "last = stranger:Last")

    made = create("last", inputs())

    assert isinstance(made, Free)
    outlook = made.outlook(tokens_of(1, 2), lambda bucket, is_hit: None)
    assert [next(outlook) for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise KeyError('lost')", "'lost' (KeyError)"),
        ("return None", "it drafted NoneType instead of core.Draft"),
        ("return Draft((1,) * (k + 1))", "it drafted 5 tokens where 4 were asked for"),
        ("return Draft((8,))", "it drafted token 8 of a vocabulary of 8"),
        ("return Draft((-1,))", "it drafted token -1 of a vocabulary of 8"),
        ("return Draft((7, 1))", "it went on after token 7, which ends a generation"),
        ("context[0] = 1", "assignment destination is read-only (ValueError)"),
        (
            "from edgespec.core import Dist; return Draft((1,), (Dist.point(2),))",
            "it drafted token 1, which its distribution does not hold",
        ),
        (
            "from edgespec.core import Branch; return Draft((1,), branches=(Branch(9, (1,)),))",
            "it drafted 1 branches where a pass takes 0",
        ),
        (
            "import numpy; return Draft(numpy.array([1, 2]))",
            "it drafted ndarray instead of a tuple",
        ),
        (drawn("[1, 2]", "[nan, nan]"), "it drew token 1 from what is no distribution"),
        (drawn("[1, 2]", "[1.0, nan]"), "it drew token 1 from what is no distribution"),
        (drawn("[1, 2]", "[1.5, -0.5]"), "it drew token 1 from what is no distribution"),
        (drawn("[1, 2, 3]", "[0.5, 0.5]"), "it drew token 1 from what is no distribution"),
        (drawn("[1]", "[0.5, 0.5]"), "it drew token 1 from what is no distribution"),
        (drawn("[[1]]", "[[1.0]]"), "it drew token 1 from what is no distribution"),
        (drawn("[1, 3, 2]", "[0.5, 0.2, 0.3]"), "it gave a distribution whose ids do not ascend"),
        (drawn("[1.0, 2.0]", "[0.5, 0.5]"), "it drew token 1 from what is no distribution"),
    ],
)
def test_breach_costs_the_arm_and_a_sentence(
    install: Install, caplog: pytest.LogCaptureFixture, body: str, why: str
) -> None:
    install(draft_by(body), "last = stranger:Last")
    made = create("last", inputs())

    drafts = [made.draft(tokens_of(1, 2, 3), 4, GREEDY) for _ in range(2)]

    assert drafts == [Draft(), Draft()]
    assert getattr(made, "note") == f"the drafter 'last' is off: {why}"  # noqa: B009
    assert [r.message for r in caplog.records if r.levelno == logging.WARNING] == [
        f"the drafter 'last' is off: {why}"
    ]


def test_branch_that_leaves_between_two_tokens_costs_the_arm(install: Install) -> None:
    body = "from edgespec.core import Branch; return Draft((1,), branches=(Branch(3.5, (2,)),))"
    install(draft_by(body), "last = stranger:Last")
    made = create("last", replace(inputs(), max_branches=1))

    assert made.draft(tokens_of(1, 2, 3), 4, GREEDY) == Draft()
    assert "a branch that leaves at 3.5" in getattr(made, "note")  # noqa: B009


def test_outlook_that_names_no_bucket_costs_the_arm(install: Install) -> None:
    install(SOUND.replace("yield 0", "yield 1"), "last = stranger:Last")
    made = create("last", inputs())
    assert isinstance(made, Free)

    buckets = list(made.outlook(tokens_of(1, 2), lambda bucket, is_hit: None))

    assert buckets == []
    assert made.draft(tokens_of(1, 2), 4, GREEDY) == Draft()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import nothing_of_this_name", "No module named"),
        ("raise SystemExit('not today')", "not today"),
    ],
)
def test_drafter_that_cannot_be_imported_says_so(install: Install, source: str, why: str) -> None:
    install(source, "last = stranger:Last")

    with pytest.raises(UsageError) as error:
        find("last")

    assert error.value.message.startswith(
        f"the drafter 'last' of stranger 1.2 cannot be imported: {why}"
    )
    assert error.value.hint.startswith("update or uninstall stranger")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("Last = 3", "is int, not a class of drafters"),
        ("def Last(inputs): pass", "does not say whether it needs_draft_model"),
    ],
)
def test_entry_point_that_is_no_drafter_says_so(install: Install, source: str, why: str) -> None:
    install(source, "last = stranger:Last")

    with pytest.raises(UsageError, match=why):
        find("last")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('name = "last"', 'name = "first"'), "it calls itself 'first', not 'last'"),
        (("        pass", "        raise OSError('no room')"), "no room \\(OSError\\)"),
        (("    def draft", "    def drafts"), "it has no method draft"),
    ],
)
def test_drafter_that_cannot_be_built_says_so(
    install: Install, change: tuple[str, str], why: str
) -> None:
    install(SOUND.replace(*change), "last = stranger:Last")

    with pytest.raises(UsageError, match=why):
        create("last", inputs())


def test_name_of_ours_is_not_given_away(install: Install) -> None:
    install(SOUND, "suffix = stranger:Last", "auto = stranger:Last", "Last One = stranger:Last")

    refusals = {one.name: one.refusal for one in third_party.offered(DRAFTERS)}

    assert names() == tuple(DRAFTERS)
    assert refusals["suffix"] == refusals["auto"] == "the name is edgespec's own"
    assert "small letters" in refusals["Last One"]


def test_first_of_two_distributions_has_the_name(install: Install) -> None:
    install(SOUND, "last = stranger:Last")
    install(SOUND, "last = another:Last", package="another")

    refusals = [(one.distribution, one.refusal) for one in third_party.offered(DRAFTERS)]

    assert refusals == [
        ("another 1.2", ""),
        ("stranger 1.2", "another distribution has a drafter of this name"),
    ]
    assert find("last").__module__ == "another"


def test_doctor_lists_what_other_distributions_brought(install: Install) -> None:
    install(SOUND, "last = stranger:Last", "lost = stranger:Lost")

    section = next(s for s in report().sections if s.title == "drafters")

    found = {finding.name: finding for finding in section.findings}
    assert found["last"].value == "stranger 1.2: stranger:Last"
    assert not found["last"].is_problem
    assert found["lost"].is_problem
    assert "cannot be imported" in found["lost"].value
    assert found["lost"].hint == "update or uninstall stranger"


def test_chat_help_lists_them(install: Install) -> None:
    install(SOUND, "last = stranger:Last")

    shown = CliRunner().invoke(cli, ["chat", "--help"]).output

    assert "|last|auto]" in "".join(shown.split())


def test_chat_refuses_a_drafter_that_nobody_has(install: Install) -> None:
    install(SOUND, "last = stranger:Last")

    ended = CliRunner().invoke(cli, ["chat", "--drafter", "lost"])

    assert ended.exit_code == 2
    assert "'lost' is not one of" in ended.output
    assert "'last'" in ended.output


def test_learning_is_passed_on_where_it_is_wanted(install: Install) -> None:
    learning = (
        SOUND + "\n    heard = 0\n    def learn(self, context, logits):\n        raise KeyError\n"
    )
    install(learning, "last = stranger:Last")
    made: Any = create("last", inputs())

    made.draft(tokens_of(1), 4, GREEDY)
    made.learn(tokens_of(1, 1), None)

    assert made.draft(tokens_of(1), 4, GREEDY) == Draft()


@pytest.mark.parametrize("k", [0, 4])
def test_stranger_learns_of_its_own_drafts_only(install: Install, k: int) -> None:
    """The last step of an answer has no room for a draft, and asks for none."""
    learning = SOUND + "\n    heard = 0\n    def learn(self, *any):\n        self.heard += 1\n"
    install(learning, "last = stranger:Last")
    made: Any = create("last", inputs())

    made.draft(tokens_of(1, 2), 4, GREEDY)
    made.learn(tokens_of(1, 2, 3), None)
    made.draft(tokens_of(1, 2, 3), k, GREEDY)
    made.learn(tokens_of(1, 2, 3, 4), None)

    assert made._drafter.heard == (2 if k else 1)


def test_stranger_with_a_model_is_an_arm_of_its_kind(install: Install) -> None:
    install(MODEL, "mine = stranger:Mine")
    ours = create("model", model_inputs())

    made = create("mine", model_inputs())

    assert isinstance(made, Paid)
    assert isinstance(made, Steered)
    assert isinstance(ours, Paid)
    context = tokens_of(1, 2, 3)
    assert (made.unread(context), made.note) == (ours.unread(context), "")
    assert [made.bucket_of(c) for c in (0.1, 0.9)] == [ours.bucket_of(c) for c in (0.1, 0.9)]
    assert made.draft(context, 4, GREEDY) == ours.draft(context, 4, GREEDY)
    assert made.draft(context, 4, GREEDY).tokens


@pytest.mark.parametrize(
    ("method", "ask"),
    [
        ("read", lambda made, context: made.read(context, 4, GREEDY)),
        ("unread", lambda made, context: made.unread(context)),
        ("bucket_of", lambda made, context: made.bucket_of(0.5)),
        ("draft_while", lambda made, context: made.draft_while(context, 4, GREEDY, None)),
    ],
)
def test_every_call_of_a_stranger_with_a_model_is_guarded(
    install: Install, method: str, ask: Callable[[Any, Tokens], object]
) -> None:
    install(
        f"{MODEL}    def {method}(self, *any): raise KeyError('lost')\n", "mine = stranger:Mine"
    )
    made = create("mine", model_inputs())

    ask(made, tokens_of(1, 2, 3))

    assert getattr(made, "note") == "the drafter 'mine' is off: 'lost' (KeyError)"  # noqa: B009
    assert made.draft(tokens_of(1, 2, 3), 4, GREEDY) == Draft()


def test_note_of_a_stranger_is_its_own_while_it_works(install: Install) -> None:
    install(MODEL, "mine = stranger:Mine")
    made = create("mine", model_inputs(0, 1, 2))

    for _ in range(3):
        made.draft(tokens_of(1, 2, 3), 4, GREEDY)

    assert getattr(made, "note").startswith("the draft model failed 3 times")  # noqa: B009


def test_interruption_passes_the_guard(install: Install) -> None:
    install(
        draft_by("from edgespec.errors import Interrupted; raise Interrupted"),
        "last = stranger:Last",
    )
    made = create("last", inputs())

    with pytest.raises(Interrupted):
        made.draft(tokens_of(1, 2), 4, GREEDY)

    assert getattr(made, "note") == ""  # noqa: B009


TREES = """
from edgespec.core import Branch, Draft
from edgespec.drafters.arms import Bucket, Offer
class Fork:
    name = "fork"
    needs_draft_model = False
    needs_branches = 1
    buckets = (Bucket("either", 0.5),)
    best = ()
    def __init__(self, inputs): pass
    def draft(self, context, k, sampler):
        return Draft((1,), branches=(Branch(len(context), (2,)),)) if k > 1 else Draft((1,)[:k])
    def offers(self, context, most, rates, heard):
        heard(0, True)
        return [Offer(1, 0.5), Offer(2, 0.9)]
    def way(self, n_nodes, depth):
        return [0] * depth
"""


def fork(install: Install, source: str = TREES) -> Branching:
    install(source, "fork = stranger:Fork")
    made = create("fork", replace(inputs(), max_branches=2))
    assert isinstance(made, Branching)
    return made


def unheard(bucket: int, is_hit: bool) -> None:
    """Nobody learns."""


def test_guarded_drafter_of_trees_is_an_arm_too(install: Install) -> None:
    made, heard = fork(install), []

    offers = list(made.offers(tokens_of(1), 4, {}, lambda *seen: heard.append(seen)))

    assert offers == [(1, 0.5), (2, 0.9)]
    assert heard == [(0, True)]
    assert made.draft(tokens_of(1), 2, GREEDY).n_nodes == 2
    assert (list(made.way(2, 1)), made.best, made.buckets[0].name) == ([0], (), "either")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Offer(2, 0.9)", "Offer(5, 0.9)"),
        ("Offer(2, 0.9)", "Offer(2, 2.5)"),
        ("Offer(2, 0.9)", "None"),
        ("heard(0, True)", "heard(1, True)"),
        ("heard(0, True)", "context[0] = 1"),
    ],
)
def test_offers_that_no_tree_can_keep_cost_the_arm(
    install: Install, right: str, wrong: str
) -> None:
    made = fork(install, TREES.replace(right, wrong))

    offers = [list(made.offers(tokens_of(1), 4, {}, unheard)) for _ in range(2)]

    assert offers == [[], []]
    assert made.draft(tokens_of(1), 2, GREEDY) == Draft()
