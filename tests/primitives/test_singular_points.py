"""Derivatives where functions have none, or nearly: what the documented system gives there.

The expected numbers were computed by jax 0.10.2; where weft differs on purpose, the row says why.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import lax

INF, NAN = math.inf, math.nan

# function, point, derivative in each argument
POINTS: list[tuple[Callable[..., Any], tuple[float, ...], tuple[float, ...]]] = [
    (lax.abs, (0.0,), (1.0,)),
    (lax.abs, (-2.0,), (-1.0,)),
    (lax.pow, (0.0, 0.0), (0.0, 0.0)),  # jax: NaN, from 0 · 0 ** -1
    (lax.pow, (0.0, 1.0), (1.0, 0.0)),
    (lax.pow, (0.0, 2.0), (0.0, 0.0)),
    (lax.pow, (0.0, 0.5), (INF, 0.0)),
    (lax.pow, (0.0, -1.0), (-INF, NAN)),
    (lax.pow, (-1.0, 2.0), (-2.0, NAN)),
    (lax.pow, (2.0, 0.0), (0.0, math.log(2))),
    (lax.pow, (INF, 0.0), (0.0, INF)),
    (lambda x: lax.pow(x, 0), (0.0,), (0.0,)),
    (lambda x: lax.pow(x, 1), (0.0,), (1.0,)),
    (lambda x: lax.pow(x, 2), (0.0,), (0.0,)),
    (lambda x: lax.integer_pow(x, -1), (0.0,), (-INF,)),
    (lambda x: lax.integer_pow(x, 3), (0.0,), (0.0,)),
    (lax.sqrt, (0.0,), (INF,)),
    (lax.rsqrt, (0.0,), (-INF,)),
    (lax.cbrt, (0.0,), (INF,)),
    (lax.max, (1.0, 1.0), (0.5, 0.5)),
    (lax.min, (1.0, 1.0), (0.5, 0.5)),
    (lax.max, (1.0, 2.0), (0.0, 1.0)),
    (lax.max, (NAN, 1.0), (0.0, 0.0)),
    (lax.rem, (-5.0, 3.0), (1.0, 1.0)),
    (lax.rem, (-5.5, -3.0), (1.0, -1.0)),
    (lax.atan2, (0.0, 0.0), (NAN, NAN)),
    (lax.atan2, (0.0, -1.0), (-1.0, 0.0)),
    (lax.atan2, (1.0, 0.0), (0.0, -1.0)),
    (lax.log1p, (-1.0,), (INF,)),
    (lax.log, (0.0,), (INF,)),
    (lax.logistic, (1000.0,), (0.0,)),
    (lax.logistic, (-1000.0,), (0.0,)),
    (lax.tanh, (100.0,), (0.0,)),
    (lax.asin, (1.0,), (INF,)),
    (lax.acos, (1.0,), (-INF,)),
    (lax.acosh, (1.0,), (INF,)),
    (lax.atanh, (1.0,), (INF,)),
    (lax.asinh, (0.0,), (1.0,)),
    (lax.clamp, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    (lax.clamp, (0.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
    (lax.clamp, (0.0, -2.0, 1.0), (1.0, 0.0, 0.0)),
    (lax.erf_inv, (1.0,), (INF,)),
    (lax.bessel_i0e, (0.0,), (0.0,)),
    (lax.bessel_i1e, (0.0,), (0.5,)),
    (lax.bessel_i1e, (2.0,), (-0.01439562,)),
    (lax.igamma, (1.0, 2.0), (-0.22082524, 0.13533522)),
    (lax.igamma, (0.5, 0.0), (0.0, INF)),
    (lax.igamma, (1.0, 0.0), (0.0, 1.0)),  # jax: NaN in x, from 0 · log 0
    (lambda x: lax.betainc(1.0, 2.0, x), (0.3,), (1.4,)),
    (lambda x: lax.polygamma(1.0, x), (3.0,), (-0.15411383,)),
    (lax.round, (1.0,), (0.0,)),
    (lax.floor, (1.0,), (0.0,)),
    (lax.sign, (1.0,), (0.0,)),
    (lambda x: lax.reduce_precision(x, 5, 3), (1.3,), (1.0,)),
    (
        lambda x: lax.convert_element_type(lax.convert_element_type(x, "int32"), "float32"),
        (1.0,),
        (0.0,),
    ),
    (lax.stop_gradient, (1.0,), (0.0,)),
    (lax.optimization_barrier, (1.0,), (1.0,)),
]


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    POINTS,
    ids=[f"{getattr(f, '__name__', 'f')}{p}#{i}" for i, (f, p, _) in enumerate(POINTS)],
)
def test_derivative_at_a_singular_point(
    function: Any, point: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    found = weft.grad(function, argnums=tuple(range(len(point))))(*point)
    assert [float(g) for g in found] == pytest.approx(expected, rel=2e-5, nan_ok=True)


COMPLEX = [
    (lax.abs, 0j, 0j),
    (lax.abs, 1 + 2j, 0.4472136 - 0.8944272j),
    (lax.real, 1 + 2j, 1 + 0j),
    (lax.imag, 1 + 2j, -1j),
    (lambda z: lax.real(lax.mul(lax.conj(z), z)), 1 + 2j, 2 - 4j),
    (lambda z: lax.real(lax.exp(z)), 1 + 2j, -1.1312044 + 2.4717267j),
]


@pytest.mark.parametrize(("function", "point", "expected"), COMPLEX, ids=[str(i) for i in range(6)])
def test_gradient_of_a_real_function_of_a_complex_number(
    function: Any, point: complex, expected: complex
) -> None:
    assert complex(weft.grad(function)(point)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.betainc(x, 2.0, 0.3),
        lambda x: lax.zeta(x, 2.0),
        lambda x: lax.polygamma(x, 2.0),
        lambda x: lax.igamma_grad_a(x, 2.0),
        lambda x: lax.nextafter(x, 2.0),
        lambda x: lax.random_gamma_grad(x, 2.0),
    ],
)
def test_a_derivative_that_is_not_known_is_refused(function: Any) -> None:
    with pytest.raises(Exception, match=r"not (implemented|differentiable)"):
        weft.grad(function)(1.5)
