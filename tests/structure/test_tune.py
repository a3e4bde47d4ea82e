"""What `make tune` would write into `core/host_policy.py` is a module with those limits."""

import math
import sys

import pytest

from .tree import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import tune

LIMITS = {"arithmetic": 2_100_000, "transcendental": 98_000, "other": 950}


def test_the_limits_that_are_written_are_those_of_the_module():
    text = tune.written(tune.POLICY.read_text(), LIMITS)
    lines = text[text.index("LIMITS = {") : text.index("}") + 1]
    names = {"math": math}
    exec(lines, names)
    assert names["LIMITS"] == {"always": math.inf, **LIMITS, "never": 0}


def test_nothing_but_the_three_numbers_changes():
    before = tune.POLICY.read_text()
    after = tune.written(before, LIMITS)
    compile(after, str(tune.POLICY), "exec")
    changed = [b for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert changed == [
        '    "arithmetic": 2_100_000,',
        '    "transcendental": 98_000,',
        '    "other": 950,',
    ]


def test_a_class_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="expected one limit 'cheap'"):
        tune.written(tune.POLICY.read_text(), {"cheap": 10})


@pytest.mark.parametrize(
    ("number", "expected"), [(1234567, 1_200_000), (16384.0, 16_000), (951, 950), (9.6, 10)]
)
def test_a_limit_has_two_digits(number, expected):
    assert tune.rounded(number) == expected


def test_every_class_with_a_number_is_measured():
    assert set(tune.operations()) == set(LIMITS)
