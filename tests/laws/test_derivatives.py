"""Laws of derivatives, in float64 on the NumPy tier: forward mode agrees with finite differences,
reverse mode is its adjoint, second derivatives likewise, and compiled ones are the same."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from cases.case import Case, kind_of
from collect import groups, under
from running import agree, compiled_together, flat, values

from weft.config import eager_tier, enable_x64
from weft.core.array import from_host
from weft.core.primitive import Axis, Primitive
from weft.interpreters.batch import batch
from weft.interpreters.jvp import jvp
from weft.interpreters.linearize import linearize

WIDE = {
    "float32": np.float64,
    "float16": np.float64,
    "bfloat16": np.float64,
    "complex64": np.complex128,
}


@pytest.fixture(autouse=True, scope="module")
def in_double_precision_on_the_host() -> Iterator[None]:
    with eager_tier("host"), enable_x64(True):
        yield


class Problem:
    """A case in double precision, as a function of its differentiable arguments."""

    def __init__(self, case: Case, label: str, arrays: Sequence[Any]) -> None:
        self.case, self.about = case, f"{case.name} {label}"
        arrays = [np.asarray(a) for a in arrays]
        arrays = [a.astype(WIDE.get(a.dtype.name, a.dtype)) for a in arrays]
        inexact = [i for i, a in enumerate(arrays) if kind_of(a.dtype) in "fc"]
        self.places = inexact if case.differentiable is None else list(case.differentiable)
        self.arrays = arrays
        params = {k: widened(v) for k, v in case.params.items()}

        def function(*xs: Any) -> list[Any]:
            args: list[Any] = [from_host(a) for a in arrays]
            for place, x in zip(self.places, xs, strict=True):
                args[place] = x
            return flat(case.function(*args, **params))

        self.function = function
        self.primals = [arrays[i] for i in self.places]
        self.rng = np.random.default_rng(zlib.crc32(self.about.encode()))
        outs = function(*values(self.primals)) if self.places else []
        self.outs = [np.asarray(o.host()) for o in outs]
        self.live = [i for i, o in enumerate(self.outs) if kind_of(o.dtype) in "fc"]

    def direction(self) -> list[np.ndarray]:
        """A random tangent."""
        return [self.like(p) for p in self.primals]

    def weights(self) -> list[np.ndarray]:
        """A random cotangent for the inexact outputs."""
        return [self.like(self.outs[i]) for i in self.live]

    def like(self, x: np.ndarray) -> np.ndarray:
        noise = self.rng.standard_normal(x.shape)
        if kind_of(x.dtype) == "c":
            noise = noise + 1j * self.rng.standard_normal(x.shape)
        return np.asarray(noise).astype(x.dtype)

    def push(self, *primals_and_tangents: Any) -> list[Any]:
        """Tangents of the inexact outputs."""
        n = len(self.places)
        outs, tangents = jvp(self.function, primals_and_tangents[:n], primals_and_tangents[n:])
        return [zeros(outs[i]) if tangents[i] is None else tangents[i] for i in self.live]

    def pull(self, *primals_and_cotangents: Any) -> list[Any]:
        """Cotangents of the differentiated arguments."""
        n = len(self.places)
        primals, cts = primals_and_cotangents[:n], primals_and_cotangents[n:]
        outs, linear = linearize(self.function, primals)
        given: list[Any] = [None] * len(outs)
        for i, ct in zip(self.live, cts, strict=True):
            given[i] = ct
        return [
            zeros(p) if ct is None else ct
            for p, ct in zip(primals, linear.pull(given), strict=True)
        ]


def widened(param: Any) -> Any:
    """A dtype given as a parameter, in double precision too."""
    if isinstance(param, (np.dtype, type, str)):
        try:
            return np.dtype(WIDE.get(np.dtype(param).name, param))
        except TypeError:
            return param
    return param


def zeros(x: Any) -> Any:
    return from_host(np.zeros(x.shape, x.dtype))


def problems(case: Case) -> list[Problem]:
    """The case itself, and in complex numbers if it is defined there."""
    variants = case.variants()
    chosen = [variants[0]] + [v for v in variants[1:] if v[0] == "complex64"]
    made = [Problem(case, label, arrays) for label, arrays in chosen]
    return [p for p in made if p.places and p.live]


def differences(
    f: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], step: float
) -> list[np.ndarray]:
    """The derivative of `f` along a direction, by central differences of fourth order."""

    def at(t: float) -> list[np.ndarray]:
        moved = [np.asarray(p + t * v) for p, v in zip(primals, tangents, strict=True)]
        return [np.asarray(o.host()) for o in f(*values(moved))]

    h = step * 10
    near = [(b - a) / (2 * h) for a, b in zip(at(-h), at(h), strict=True)]
    far = [(b - a) / (4 * h) for a, b in zip(at(-2 * h), at(2 * h), strict=True)]
    return [np.asarray((4 * n - f) / 3) for n, f in zip(near, far, strict=True)]


def tolerance(expected: np.ndarray) -> float:
    size = np.abs(expected[np.isfinite(expected)])
    return 2e-6 * max(1.0, float(size.max())) if size.size else 2e-6


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The pairing of tangents and cotangents; complex ones are paired without conjugation."""
    return float(
        sum(np.sum(np.asarray(x) * np.asarray(y)).real for x, y in zip(xs, ys, strict=True))
    )


def hosts(xs: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(x.host()) for x in xs]


def differentiable(law: str) -> list[Any]:
    return [
        c
        for c in under(law)
        if not (isinstance(c.function, Primitive) and c.function.jvp_rule is None)
        and not (c.differentiable is not None and not len(c.differentiable))
    ]


@pytest.mark.parametrize("case", differentiable("jvp"), ids=lambda c: f"{c.family}.{c.name}")
def test_forward_derivative_agrees_with_finite_differences(case: Case) -> None:
    for p in problems(case):
        v = p.direction()
        expected = differences(
            lambda *xs, p=p: [p.function(*xs)[i] for i in p.live], p.primals, v, case.step
        )
        actual = hosts(p.push(*values(p.primals), *values(v)))
        for a, e in zip(actual, expected, strict=True):
            agree(a, e.astype(a.dtype), p.about, rtol=2e-6, atol=tolerance(e))


@pytest.mark.parametrize("case", differentiable("transpose"), ids=lambda c: f"{c.family}.{c.name}")
def test_reverse_derivative_is_adjoint_of_forward(case: Case) -> None:
    for p in problems(case):
        v, w = p.direction(), p.weights()
        primals = values(p.primals)
        pushed = hosts(p.push(*primals, *values(v)))
        pulled = hosts(p.pull(*primals, *values(w)))
        for x, g in zip(p.primals, pulled, strict=True):
            assert (g.shape, g.dtype) == (x.shape, x.dtype), f"{p.about}: cotangent of another type"
        left, right = inner(pushed, w), inner(v, pulled)
        scale = max(1.0, *(float(np.abs(x).sum()) for x in (*pushed, *pulled)))
        assert abs(left - right) <= 1e-10 * scale, (
            f"{p.about}: <Jv, w> = {left}, <v, J'w> = {right}"
        )


@pytest.mark.parametrize(
    "case", differentiable("second_order"), ids=lambda c: f"{c.family}.{c.name}"
)
def test_derivative_of_gradient_agrees_with_finite_differences(case: Case) -> None:
    for p in problems(case):
        v, w = p.direction(), values(p.weights())
        gradient = lambda *xs, p=p, w=w: p.pull(*xs, *w)  # noqa: E731
        expected = differences(gradient, p.primals, v, case.step)
        outs, tangents = jvp(gradient, values(p.primals), values(v))
        for o, t, e in zip(outs, tangents, expected, strict=True):
            actual = np.asarray((zeros(o) if t is None else t).host())
            agree(actual, e.astype(actual.dtype), p.about, rtol=1e-5, atol=5 * tolerance(e))


GROUPS = groups("compiled_derivative")


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_compiled_derivatives_agree_with_eager_ones(group: str) -> None:
    chosen = [c for c in GROUPS[group] if c in differentiable("compiled_derivative")]
    found = [p for c in chosen for p in problems(c)]
    if not found:
        return
    arrays, functions, expected = [], [], []
    for p in found:
        v, w = p.direction(), p.weights()
        n, m = len(p.places), len(p.places) * 2

        def both(*xs: Any, p: Problem = p, n: int = n, m: int = m) -> list[Any]:
            return [*p.push(*xs[:m]), *p.pull(*xs[:n], *xs[m:])]

        arrays.append([*p.primals, *v, *w])
        functions.append(both)
        expected.append(hosts(both(*values(arrays[-1]))))
    for p, outs, right in zip(found, compiled_together(functions, arrays), expected, strict=True):
        for o, e in zip(outs, right, strict=True):
            agree(o, e, p.about, rtol=1e-9, atol=1e-9 * tolerance(e) / 2e-6)


@pytest.mark.parametrize(
    "case", differentiable("batched_derivative"), ids=lambda c: f"{c.family}.{c.name}"
)
def test_batch_of_derivatives_agrees_with_loop(case: Case) -> None:
    for p in problems(case):
        primals = [case.batch_of(x, i, 2) for i, x in zip(p.places, p.primals, strict=True)]
        tangents = [np.stack(pair) for pair in zip(p.direction(), p.direction(), strict=True)]
        weights = [np.stack(pair) for pair in zip(p.weights(), p.weights(), strict=True)]
        n, m = len(primals), 2 * len(primals)

        def both(*xs: Any, p: Problem = p, n: int = n, m: int = m) -> list[Any]:
            return [*p.push(*xs[:m]), *p.pull(*xs[:n], *xs[m:])]

        args = [*primals, *tangents, *weights]
        outs = hosts(batch(both, values(args), [True] * len(args), Axis(2)))
        rows = [hosts(both(*values([np.asarray(a[k]) for a in args]))) for k in range(2)]
        for o, column in zip(outs, zip(*rows, strict=True), strict=True):
            e = np.stack(column)
            agree(o, e, p.about, rtol=1e-11, atol=1e-11 * tolerance(e) / 2e-6)
