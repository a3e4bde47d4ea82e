"""Vectors and threads of the processor, where they decide if NumPy or XLA is the faster one.

NumPy computes in the calling thread. XLA shares the work among threads, but has to be told and
waited for, and copies what NumPy made. Knows NumPy's tables; knows no primitives.
"""

import functools
from typing import Any

import numpy as np

from ..core.host_threads import usable_cores
from ..core.primitive import Rule
from .rule_types import Avals

MOST = 1_500_000
"""The elements up to which NumPy's time counts less than XLA's threads and copies."""

_FEW = 4
"""The threads of XLA's up to which it isn't several times as fast."""

_WIDE = ("AVX512", "X86_V4")
"""Parts of NumPy's names of processors with vectors of 512 bits."""


def host_when_fast(limit: int, function: Any = None) -> Rule:
    """The `host_when` rule of an elementwise function: NumPy is the faster one up to `limit`
    elements, and of float32 up to `MOST` if XLA has few threads.

    Args:
      function: NumPy's, if that holds on vectors of 512 bits only. Of 1e6 numbers on these, exp,
        log and tanh take 0.37, 0.27 and 0.19 ms, and XLA 0.42, 0.5 and 0.42 of the processor's
        time; on those of 256 bits, 0.72, 0.91 and 1.04.
    """

    def rule(avals: Avals, outs: Avals) -> bool:
        (x,) = avals
        if x.size <= limit or x.size > MOST or x.dtype != np.float32:
            return x.size <= limit
        return few_threads() and (function is None or has_wide_vectors(function.__name__))

    return rule


@functools.cache
def few_threads() -> bool:
    """True if XLA has few threads: as many as this process may use cores."""
    return usable_cores() <= _FEW


@functools.cache
def has_wide_vectors(function: str) -> bool:
    """True if NumPy computes a function of float32 on vectors of 512 bits here."""
    found = np.lib.introspect.opt_func_info(func_name=f"^{function}$", signature="float32")
    targets = [kinds["current"] for kinds in found.get(function, {}).values()]
    return any(name in target for name in _WIDE for target in targets)
