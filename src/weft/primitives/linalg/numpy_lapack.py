"""NumPy's LAPACK for stacks of small matrices, without the overhead of its public functions.

Like them, it computes in double precision and rounds results to the operands' dtype. For 8 × 8
matrices, `numpy.linalg.solve`, `cholesky` and `eigh` spend half of their time on checks that weft
has made already (benchmarks/README.md). The generalized universal functions that do the work are
private to NumPy. So each is looked up by name; if NumPy lacks it, the public function is used. A
matrix without a result gives NaN; with a public function, it raises LinAlgError.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ..rule_types import DType, Host

_DOUBLE_OF: dict[DType, DType] = {
    dtypes.float32: np.dtype("float64"),
    dtypes.complex64: np.dtype("complex128"),
}
_SINGLE_OF = {wide: narrow for narrow, wide in _DOUBLE_OF.items()}

Function = Callable[..., Any]


def _ufunc(name: str) -> Function | None:
    """NumPy's generalized universal function with a name."""
    module: Any = getattr(np.linalg, "_umath_linalg", None)
    result: Function | None = getattr(module, name, None)
    return result


def _either(name: str, public: Function) -> Function:
    """NumPy's internal function with a name, computing in double precision; the public function if
    there is none."""
    ufunc = _ufunc(name)
    if ufunc is None:
        return public

    def call(x: Host, *other_operands: Host) -> Any:
        wide_dtype = _DOUBLE_OF.get(x.dtype)
        if wide_dtype is None:
            return ufunc(x, *other_operands)
        result = ufunc(x.astype(wide_dtype), *[y.astype(wide_dtype) for y in other_operands])
        if result.__class__ is tuple:
            return [y.astype(_SINGLE_OF[y.dtype]) for y in result]
        return result.astype(_SINGLE_OF[result.dtype])

    return call


inv = _either("inv", np.linalg.inv)
det = _either("det", np.linalg.det)
slogdet = _either("slogdet", np.linalg.slogdet)
cholesky = _either("cholesky_lo", np.linalg.cholesky)
"""The lower triangular factor, from the lower triangle."""

singular_values = _either("svd", functools.partial(np.linalg.svd, compute_uv=False))
svd_full = _either("svd_f", np.linalg.svd)
svd_reduced = _either("svd_s", functools.partial(np.linalg.svd, full_matrices=False))

eigh_of_lower = _either("eigh_lo", functools.partial(np.linalg.eigh, UPLO="L"))
eigh_of_upper = _either("eigh_up", functools.partial(np.linalg.eigh, UPLO="U"))
"""Eigenvalues and eigenvectors, from one triangle."""

solve = _either("solve", np.linalg.solve)


_geqrf, _reduced_q, _complete_q = map(_ufunc, ("qr_r_raw", "qr_reduced", "qr_complete"))


def qr(x: Host, complete: bool) -> tuple[Host, Host]:
    """Q, square if `complete`, and R."""
    if _geqrf is None or _reduced_q is None or _complete_q is None:
        return np.linalg.qr(x, "complete" if complete else "reduced")
    packed_factors = np.array(x, _DOUBLE_OF.get(x.dtype, x.dtype), order="C")
    taus = _geqrf(packed_factors)
    m, n = x.shape[-2:]
    if complete and m > n:
        q = _complete_q(packed_factors, taus)
    else:
        q, packed_factors = _reduced_q(packed_factors, taus), packed_factors[..., : min(m, n), :]
    r = np.where(_upper(*packed_factors.shape[-2:]), packed_factors, 0)
    return q.astype(x.dtype), r.astype(x.dtype)


@functools.lru_cache(maxsize=64)
def _upper(rows: int, columns: int) -> Host:
    """True on the diagonal and above it."""
    return np.arange(rows)[:, None] <= np.arange(columns)
