"""Functions of decompositions that don't depend on the choices that a decomposition makes: signs,
phases, the basis of a space. Each is written once, for weft and for the oracle.

    FUNCTIONS[name] = Row(function of (linalg, np, *matrices), makers of the matrices)

`linalg` is `lax.linalg`, or `ORACLE`, which is NumPy and SciPy.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as onp
import scipy.linalg

# --- matrices ---


def numbers(shape: Sequence[int], dtype: Any, seed: int) -> onp.ndarray:
    rng = onp.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if onp.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x: Any) -> Any:
    return onp.swapaxes(onp.conj(x), -1, -2)


def any_matrix(*shape: int) -> Callable[[Any, int], onp.ndarray]:
    return lambda dtype, seed: numbers(shape, dtype, seed)


def hermitian(n: int) -> Callable[[Any, int], onp.ndarray]:
    def make(dtype: Any, seed: int) -> onp.ndarray:
        x = numbers((n, n), dtype, seed)
        return (x + adjoint(x)) / 2

    return make


def definite(n: int) -> Callable[[Any, int], onp.ndarray]:
    def make(dtype: Any, seed: int) -> onp.ndarray:
        x = numbers((n, n), dtype, seed)
        return (x @ adjoint(x) / n + onp.eye(n)).astype(dtype)

    return make


def dominant(*shape: int) -> Callable[[Any, int], onp.ndarray]:
    """Far from zero, so that what it divides stays small."""
    return lambda dtype, seed: (numbers(shape, dtype, seed) / 4 + onp.eye(*shape[-2:]) * 2).astype(
        dtype
    )


# --- the oracle ---


def _qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True) -> Any:
    found = scipy.linalg.qr(x, mode="full" if full_matrices else "economic", pivoting=pivoting)
    return tuple(found)


def _svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    return onp.linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)


def _lu(x: Any) -> Any:
    m = x.shape[0]
    factors, pivots = scipy.linalg.lu_factor(x, check_finite=False)
    order = onp.arange(m)
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return factors, pivots, order


def _eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True) -> Any:
    x = (x + adjoint(x)) / 2 if symmetrize_input else x
    return tuple(onp.linalg.eigh(x, "L" if lower else "U"))[::-1]


def _eig(x: Any) -> Any:
    return scipy.linalg.eig(x, left=True)


def _cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    return onp.linalg.cholesky((x + adjoint(x)) / 2 if symmetrize_input else x)


def _triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    a = onp.tril(a) if lower else onp.triu(a)
    if unit_diagonal:
        a = a - onp.diag(onp.diag(a)) + onp.eye(len(a))
    a = onp.conj(a) if conjugate_a else a
    a = a.T if transpose_a else a
    return onp.linalg.solve(a, b) if left_side else onp.linalg.solve(a.T, b.T).T


def tridiagonal_matrix(dl: Any, d: Any, du: Any) -> Any:
    return onp.diag(d) + onp.diag(dl[1:], -1) + onp.diag(du[:-1], 1)


def _tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any) -> Any:
    return onp.linalg.solve(tridiagonal_matrix(dl, d, du), b)


ORACLE = SimpleNamespace(
    cholesky=_cholesky,
    eig=_eig,
    eigh=_eigh,
    lu=_lu,
    qr=_qr,
    svd=_svd,
    triangular_solve=_triangular_solve,
    tridiagonal_solve=_tridiagonal_solve,
)

# --- functions ---


class Row(NamedTuple):
    """A function and the makers of its matrices."""

    function: Callable[..., Any]
    matrices: Sequence[Callable[[Any, int], onp.ndarray]]


def by_columns(np: Any, q: Any, weights: Any) -> Any:
    """What doesn't depend on the columns' phases."""
    return (q * weights) @ np.conj(q).T


def of_cholesky(linalg: Any, np: Any, x: Any) -> Any:
    return linalg.cholesky(x)


def of_triangle(linalg: Any, np: Any, x: Any) -> Any:
    return linalg.cholesky(x, symmetrize_input=False)


def of_lu(linalg: Any, np: Any, x: Any) -> Any:
    return linalg.lu(x)[0]


def of_qr(full: bool, pivoting: bool) -> Callable[..., Any]:
    def function(linalg: Any, np: Any, x: Any) -> Any:
        q, r = linalg.qr(x, full_matrices=full, pivoting=pivoting)[:2]
        k = min(x.shape)
        # those that complete Q have one weight: the space that they span is all that counts
        weights = onp.where(onp.arange(q.shape[1]) < k, onp.arange(q.shape[1]), 9.0)
        return by_columns(np, q, weights), np.abs(r[:k]) ** 2

    return function


def of_eigh(lower: bool, symmetrize_input: bool) -> Callable[..., Any]:
    def function(linalg: Any, np: Any, x: Any) -> Any:
        v, w = linalg.eigh(x, lower=lower, symmetrize_input=symmetrize_input)
        return w, by_columns(np, v, np.exp(w)), by_columns(np, v, onp.arange(w.shape[0]))

    return function


def of_eig(linalg: Any, np: Any, x: Any) -> Any:
    w, u, v = linalg.eig(x)
    scale = np.sum(np.conj(u) * v, axis=0)
    power = (v * (w**2 / scale)) @ np.conj(u).T
    return np.sum(w**3), power, np.sum(w * np.sum(np.abs(v) ** 4, axis=0))


def of_svd(full: bool) -> Callable[..., Any]:
    def function(linalg: Any, np: Any, x: Any) -> Any:
        u, s, vh = linalg.svd(x, full_matrices=full)
        k = s.shape[0]
        weights = [onp.where(onp.arange(n) < k, onp.arange(n), 9.0) for n in (u.shape[1], len(vh))]
        both = (u[:, :k] * np.sin(s)) @ vh[:k]
        return s, both, by_columns(np, u, weights[0]), by_columns(np, np.conj(vh).T, weights[1])

    return function


def of_singular_values(linalg: Any, np: Any, x: Any) -> Any:
    return linalg.svd(x, compute_uv=False)


def of_triangular_solve(**options: bool) -> Callable[..., Any]:
    def function(linalg: Any, np: Any, a: Any, b: Any) -> Any:
        b = b if options["left_side"] else b.T
        return linalg.triangular_solve(a, b, **options)

    return function


def of_tridiagonal_solve(linalg: Any, np: Any, dl: Any, d: Any, du: Any, b: Any) -> Any:
    return linalg.tridiagonal_solve(dl, d + 4, du, b)


def _triangular(sides: str) -> Row:
    words = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    options = {word: side == "1" for word, side in zip(words, sides, strict=True)}
    return Row(of_triangular_solve(**options), [dominant(3, 3), any_matrix(3, 2)])


SHAPES = {"square": (3, 3), "tall": (4, 2), "wide": (2, 4)}
FUNCTIONS: dict[str, Row] = {
    "cholesky": Row(of_cholesky, [definite(3)]),
    "cholesky of a triangle": Row(of_triangle, [definite(3)]),
    **{f"lu, {name}": Row(of_lu, [any_matrix(*shape)]) for name, shape in SHAPES.items()},
    **{
        f"qr, {name}{', full' * full}": Row(of_qr(full, False), [any_matrix(*shape)])
        for name, shape in SHAPES.items()
        for full in ((False, True) if name == "tall" else (False,))
    },
    "qr with pivoting": Row(of_qr(False, True), [any_matrix(4, 3)]),
    "eigh": Row(of_eigh(True, True), [hermitian(3)]),
    "eigh of the upper triangle": Row(of_eigh(False, False), [hermitian(3)]),
    "eig": Row(of_eig, [any_matrix(3, 3)]),
    **{
        f"svd, {name}{', full' * full}": Row(of_svd(full), [any_matrix(*shape)])
        for name, shape in SHAPES.items()
        for full in (False, True)
        if name != "square" or not full
    },
    "singular values": Row(of_singular_values, [any_matrix(3, 2)]),
    **{
        f"triangular_solve {sides}": _triangular(sides)
        for sides in ("11000", "10110", "01101", "00010")
    },
    "tridiagonal_solve": Row(of_tridiagonal_solve, [*[any_matrix(4)] * 3, any_matrix(4, 2)]),
}


def arguments(name: str, dtype: Any) -> list[onp.ndarray]:
    return [make(dtype, seed) for seed, make in enumerate(FUNCTIONS[name].matrices)]


def flat(tree: Any) -> onp.ndarray:
    """All numbers of one result or several, in complex128."""
    parts = tree if isinstance(tree, (tuple, list)) else [tree]
    return onp.concatenate([onp.asarray(x).astype(onp.complex128).ravel() for x in parts])


def expected(name: str, args: Sequence[Any]) -> onp.ndarray:
    return flat(FUNCTIONS[name].function(ORACLE, onp, *args))


def expected_tangent(name: str, args: Sequence[Any], tangents: Sequence[Any]) -> onp.ndarray:
    """The directional derivative, by finite differences of the oracle in double precision."""
    step = 1e-5
    above, below = (
        expected(name, [x + sign * step * t for x, t in zip(args, tangents, strict=True)])
        for sign in (1, -1)
    )
    return (above - below) / (2 * step)
