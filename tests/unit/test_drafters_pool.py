from edgespec.drafters.pool import Pool


def test_grams_are_found_by_their_first_token_the_newest_first() -> None:
    pool = Pool(3)
    for gram in ([1, 2, 3], [1, 4, 5], [2, 9, 9]):
        pool.remember(gram)

    assert pool.after(1, 9, 9) == [(4, 5), (2, 3)]
    assert pool.after(7, 9, 9) == []


def test_a_gram_said_again_is_the_newest_and_held_once() -> None:
    pool = Pool(3)
    for gram in ([1, 2, 3], [1, 4, 5], [1, 2, 3]):
        pool.remember(gram)

    assert pool.after(1, 9, 9) == [(2, 3), (4, 5)]


def test_the_oldest_gram_of_a_token_makes_room() -> None:
    pool = Pool(2)
    for last in range(5):
        pool.remember([1, last])

    assert pool.after(1, 9, 9) == [(4,), (3,)]


def test_grams_that_begin_alike_are_one_when_they_are_cut() -> None:
    pool = Pool(3)
    pool.remember([1, 2, 3])
    pool.remember([1, 2, 4])
    pool.remember([1, 5, 6])

    assert pool.after(1, 2, 1) == [(5,), (2,)]
