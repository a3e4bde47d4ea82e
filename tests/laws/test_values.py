"""Laws of values: the NumPy tier gives what the oracle gives, and compiled programs the same."""

from collections.abc import Iterator

import numpy as np
import pytest
from cases.case import Case, kind_of
from collect import CASES, FAILED, groups, under
from running import RTOL, agree, compiled_together, eps, function_of, host, setting, values

from weft.config import eager_tier, enable_x64


@pytest.fixture(autouse=True, scope="module")
def on_the_host() -> Iterator[None]:
    with eager_tier("host"):
        yield


@pytest.mark.parametrize("family", FAILED or ["-"])
def test_cases_can_be_imported(family: str) -> None:
    assert family == "-", FAILED[family]


def test_there_are_cases() -> None:
    assert CASES


def needs_x64(arrays: list) -> bool:
    return any(
        np.asarray(a).dtype.name in ("int64", "uint64", "float64", "complex128") for a in arrays
    )


def evaluated(case: Case, arrays: list) -> list[np.ndarray]:
    with enable_x64(needs_x64(arrays)):
        return [host(o) for o in function_of(case)(*values(arrays))]


@pytest.mark.parametrize("case", under("evaluate"), ids=lambda c: f"{c.family}.{c.name}")
def test_numpy_tier_agrees_with_oracle(case: Case) -> None:
    for label, arrays in case.variants():
        before = [np.array(a) for a in arrays]
        outs = evaluated(case, arrays)
        for old, new in zip(before, arrays, strict=True):
            agree(new, old, f"{case.name} {label}: an argument was changed")
        if case.oracle is None:
            continue
        wide = {"f": np.float64, "c": np.complex128}
        inputs = [
            np.asarray(a).astype(wide.get(kind_of(np.asarray(a).dtype), np.asarray(a).dtype))
            for a in arrays
        ]
        with np.errstate(all="ignore"):
            expected = case.oracle(*inputs, **(case.params if case.oracle_params else {}))
        if not isinstance(expected, (tuple, list)):
            expected = [expected]
        assert len(outs) == len(expected), f"{case.name}: {len(outs)} outputs, not {len(expected)}"
        for o, e in zip(outs, expected, strict=True):
            e = np.asarray(e)
            if o.dtype != e.dtype:
                with np.errstate(all="ignore"):
                    e = e.astype(o.dtype)
            if kind_of(o.dtype) in "fc":
                rtol = setting(case.rtol, o.dtype, RTOL.get(o.dtype.name, eps(o.dtype)))
                agree(
                    o, e, f"{case.name} {label}", rtol=rtol, atol=setting(case.atol, o.dtype, rtol)
                )
            else:
                agree(o, e, f"{case.name} {label}")


GROUPS = groups("lower")


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_compiled_program_agrees_with_numpy_tier(group: str) -> None:
    rows = [(c, label, arrays) for c in GROUPS[group] for label, arrays in c.variants()]
    for x64 in (False, True):
        some = [row for row in rows if needs_x64(row[2]) == x64]
        if not some:
            continue
        with enable_x64(x64):
            outs = compiled_together([function_of(c) for c, _, _ in some], [a for _, _, a in some])
        for (case, label, arrays), results in zip(some, outs, strict=True):
            for o, e in zip(results, evaluated(case, arrays), strict=True):
                tolerance = case.ulp * eps(e.dtype) if kind_of(e.dtype) in "fc" else 0.0
                agree(o, e, f"{case.name} {label}", rtol=tolerance, atol=case.lower_atol)
