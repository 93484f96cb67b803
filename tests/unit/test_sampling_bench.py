from edgespec.bench.sampling import N_VOCAB, SETTINGS, run, table


def test_bench_measures_every_setting_on_both_rows():
    costs = run(n_repeats=1)

    assert [(c.setting, c.row) for c in costs] == [
        (setting, row) for setting in SETTINGS for row in ("peaked", "flat")
    ]
    assert all(0 < c.shape_best_ms <= c.shape_ms for c in costs)
    assert all(1 <= c.n_kept <= N_VOCAB for c in costs)


def test_table_has_one_line_per_cost_under_its_heading():
    costs = run(n_repeats=1)

    lines = table(costs).splitlines()

    assert len(lines) == 1 + len(costs)
    assert {len(line) for line in lines} == {len(lines[0])}
