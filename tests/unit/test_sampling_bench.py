from edgespec.bench.sampling import N_VOCAB, SETTINGS, chain_costs


def test_chain_costs_cover_every_setting_on_both_rows() -> None:
    costs = chain_costs(n_repeats=1)

    assert [(c.setting, c.row) for c in costs] == [
        (setting, row) for setting in SETTINGS for row in ("peaked", "flat")
    ]
    assert all(0 < c.shape_best_ms <= c.shape_ms for c in costs)
    assert all(1 <= c.n_kept <= N_VOCAB for c in costs)
