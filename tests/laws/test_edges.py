"""The law of edge values: on special values of every dtype that an elementwise operation takes, the
compiled program gives what the NumPy tier gives: bit for bit on integers, NaN for NaN, -0 for -0.

Two differences are known and left out. XLA's CPU code takes subnormal numbers for zeros, in
operands and results, and NumPy doesn't. It concerns float32, bfloat16 (computed in float32) and
float64. Nor are there infinities, NaNs and -0 in complex numbers, where NumPy follows C's annex G
(branch cuts on -0 included) and XLA doesn't; nor numbers so large that their exponentials overflow.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import sampling
from cases.case import SMALLEST, Case, Wish, kind_of
from collect import under
from running import agree, compiled_together, eps, function_of, host, real_of, values

from weft import dtypes
from weft.config import eager_tier, enable_x64
from weft.interpreters.stage import stage


@pytest.fixture(autouse=True, scope="module")
def with_all_dtypes_on_the_host() -> Iterator[None]:
    with eager_tier("host"), enable_x64(True):
        yield


def special(dtype: Any, subnormal: bool) -> np.ndarray:
    """The special values of a dtype."""
    dtype = np.dtype(dtype)
    kind = kind_of(dtype)
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = ml_dtypes.iinfo(dtype)
        low, high, bits = int(info.min), int(info.max), int(info.bits)
        wanted = {
            0,
            1,
            2,
            3,
            5,
            7,
            bits - 1,
            bits,
            bits + 1,
            low,
            low + 1,
            high,
            high - 1,
            high // 2 + 1,
        }
        if kind == "i":
            wanted |= {-1, -2, -3, -5, -7, low // 2}
        wide = np.uint64 if kind == "u" else np.int64
        return np.array(sorted(n for n in wanted if low <= n <= high), wide).astype(dtype)
    if kind == "c":
        parts = [0.0, 1.0, -1.0, -1.5, 0.25, 3.0, 10.0, -20.0, 1e-3, 30.0]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    info = ml_dtypes.finfo(dtype)
    large, small = float(info.max), float(info.tiny)
    wanted_floats = [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, 0.1, -0.1,
        7.25, -7.25, 30.0, -30.0, 80.0, -80.0, 200.0, 1e3, -1e3, 12345.678, 1e-3, 1e-6,
        1.0 + float(info.eps), 1.0 - float(info.eps), np.inf, -np.inf, np.nan,
        large, -large, large / 2, small, -small, small * 4,
    ]  # fmt: skip
    if subnormal and info.bits <= 16 and dtype.name != "bfloat16":
        wanted_floats += [
            float(info.smallest_subnormal),
            -float(info.smallest_subnormal),
            small / 2,
        ]
    with np.errstate(all="ignore"):
        return np.array(wanted_floats, np.float64).astype(dtype)


def table(case: Case, dtype: Any) -> list[np.ndarray] | None:
    """Arguments of that dtype: all special values, pairs of them, or many triples."""
    base = next((a.dtype for a in case.args if isinstance(a, Wish)), None)
    mine = [isinstance(a, Wish) and a.dtype == base for a in case.args]
    found = special(dtype, "subnormal" not in case.edges_without)
    if case.edges_within is not None and kind_of(dtype) == "f":
        size = np.abs(found.astype(np.float64))
        within = (size <= case.edges_within) & (size >= 1 / case.edges_within)
        found = found[within | (size == 0) | ~np.isfinite(size)]
    n = sum(mine)
    if n <= 2:
        columns = [c.reshape(-1) for c in np.meshgrid(*[found] * n, indexing="ij")]
    else:
        rng = np.random.default_rng(1)
        columns = [found[rng.integers(0, len(found), 3000)] for _ in range(n)]
    waiting = iter(columns)
    size = columns[0].shape
    return [
        next(waiting) if m
        else Wish(size, a.dtype, a.low, a.high).fill(zlib.crc32(b"edges")) if isinstance(a, Wish)
        else np.asarray(a)
        for a, m in zip(case.args, mine, strict=True)
    ]  # fmt: skip


def accepts(case: Case, arrays: list[np.ndarray]) -> bool:
    try:
        stage(function_of(case), [v.aval for v in values(arrays)])
    except (TypeError, NotImplementedError):
        return False
    return True


DTYPES = [d for d in dtypes.DTYPES if d.name not in SMALLEST]


@pytest.mark.parametrize(
    "case", [c for c in under("edges") if c.elementwise], ids=lambda c: f"{c.family}.{c.name}"
)
def test_tiers_agree_on_edge_values(case: Case) -> None:
    tables = [(d, table(case, d)) for d in DTYPES if d.name not in case.edges_without]
    tables = [(d, t) for d, t in tables if accepts(case, t)]
    assert tables, f"{case.name}: no dtype is accepted"
    tables = sampling.some(tables, (len(tables) + 2) // 3, case.name)
    outs = compiled_together([function_of(case)] * len(tables), [t for _, t in tables])
    wrong = []
    for (dtype, arrays), results in zip(tables, outs, strict=True):
        expected = [host(o) for o in function_of(case)(*values(arrays))]
        for o, e in zip(results, expected, strict=True):
            inexact = kind_of(e.dtype) in "fc"
            ulp = case.ulp if case.edge_ulp is None else case.edge_ulp
            try:
                agree(
                    o, e, f"{case.name} {dtype.name}: compiled",
                    rtol=ulp * eps(e.dtype) if inexact else 0.0,
                    atol=max(float(ml_dtypes.finfo(real_of(e.dtype)).tiny), case.lower_atol)
                    if inexact else 0.0,
                    signed_zero=kind_of(e.dtype) == "f" and "signed zero" not in case.edges_without,
                    inputs=arrays,
                )  # fmt: skip
            except AssertionError as error:
                wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
