from edgespec.chat.tree import TurnTree
from edgespec.chat.turns import Turn


def grown(*edges: tuple[str, str]) -> tuple[TurnTree, dict[str, Turn]]:
    """A tree of turns by name: (parent, child) in the order they were added."""
    tree = TurnTree()
    turns: dict[str, Turn] = {}
    for parent, child in edges:
        turns[child] = Turn(child, parent=turns.get(parent))
        tree.add(turns[child])
    return tree, turns


def path(tree: TurnTree) -> str:
    return "".join(turn.prompt for turn in tree.path)


FORKED = (("", "a"), ("a", "b"), ("b", "c"), ("a", "B"), ("B", "C"), ("a", "x"))


def test_path_ends_with_what_was_added_last() -> None:
    tree, turns = grown(*FORKED)

    assert path(tree) == "ax"
    assert tree.head is turns["x"]
    assert tree.siblings(turns["B"]) == (turns["b"], turns["B"], turns["x"])


def test_show_goes_on_with_what_was_shown_there_last() -> None:
    tree, turns = grown(*FORKED)

    tree.show(turns["b"])

    assert path(tree) == "abc"


def test_tree_shows_the_branch_of_its_head() -> None:
    tree, turns = grown(*FORKED)

    again = TurnTree(tree.turns, turns["C"])

    assert path(again) == "aBC"


def test_remove_leaves_what_came_after_behind_the_parent() -> None:
    tree, turns = grown(("", "a"), ("a", "b"), ("b", "c"))

    tree.remove(turns["b"])

    assert path(tree) == "ac"
    assert turns["c"].parent is turns["a"]


def test_remove_of_the_last_turn_shows_a_branch_beside_it() -> None:
    tree, turns = grown(*FORKED)

    tree.remove(turns["x"])

    assert path(tree) == "aBC"


def test_put_back_restores_the_tree() -> None:
    tree, turns = grown(("", "a"), ("a", "b"), ("b", "c"), ("b", "d"))

    tree.put_back(tree.remove(turns["b"]))

    assert path(tree) == "abd"
    assert [t.prompt for t in tree.turns] == ["a", "b", "c", "d"]
    assert turns["c"].parent is turns["d"].parent is turns["b"]


def test_remove_of_the_first_turn_and_of_the_only_one() -> None:
    tree, turns = grown(("", "a"), ("a", "b"))

    tree.remove(turns["a"])
    first = path(tree)
    tree.remove(turns["b"])

    assert (first, path(tree), tree.head) == ("b", "", None)


def test_put_back_shows_the_child_that_was_shown() -> None:
    tree, turns = grown(("", "a"), ("a", "b"), ("b", "c"), ("b", "d"))
    tree.show(turns["c"])

    tree.put_back(tree.remove(turns["b"]))

    assert path(tree) == "abc"


def test_put_back_finds_its_place_when_what_was_around_it_is_gone() -> None:
    tree, turns = grown(("", "a"), ("a", "b"), ("b", "c"), ("c", "d"))
    removed = tree.remove(turns["c"])
    tree.remove(turns["b"])
    tree.remove(turns["d"])

    tree.put_back(removed)

    assert path(tree) == "ac"
    assert turns["d"] not in tree.turns
