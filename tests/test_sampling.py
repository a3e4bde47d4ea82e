"""Samples of combinations: what every run has to take is in them, and runs take the same."""

import itertools

import pytest
import sampling

ROWS = list(itertools.product(range(6), range(5), range(4), range(2)))


@pytest.mark.parametrize("strength", [1, 2, 3])
def test_all_that_so_many_columns_have_is_covered(strength):
    chosen = [ROWS[i] for i in sampling.covering(ROWS, strength, "rows")]
    for columns in itertools.combinations(range(4), strength):
        assert {tuple(row[c] for c in columns) for row in chosen} == {
            tuple(row[c] for c in columns) for row in ROWS
        }
    # as many as the longest columns have at least, and not many more
    least = [6, 30, 120][strength - 1]
    assert least <= len(chosen) <= 1.5 * least


def test_columns_that_vary_together_are_one():
    rows = [(i, i, k) for i in range(5) for k in range(3)]
    assert len(sampling.covering(rows, 1, "rows")) == 5
    assert len(sampling.covering(rows, 2, "rows")) == 15


def test_a_sample_depends_on_its_name_and_on_the_seed(monkeypatch):
    monkeypatch.setattr(sampling, "whole", False)
    one = sampling.some(range(1000), 20, "one")
    assert one == sorted(set(one)) == sampling.some(range(1000), 20, "one")
    assert len(one) == 20
    assert one != sampling.some(range(1000), 20, "other")
    monkeypatch.setattr(sampling, "seed", sampling.seed + 1)
    assert one != sampling.some(range(1000), 20, "one")
    monkeypatch.setattr(sampling, "whole", True)
    assert sampling.some(range(1000), 20, "one") == list(range(1000))
