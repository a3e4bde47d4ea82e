"""A primitive that a library defines in JAX's way has all of weft's transformations."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.compat.primitives import (
    Primitive,
    UndefinedPrimal,
    Zero,
    axis_primitive_batchers,
    deflinear,
    deflinear2,
    fancy_primitive_batchers,
    lower_function,
    primitive_batchers,
    primitive_jvps,
    primitive_transposes,
    register_lowering,
)
from weft.compat.stand_ins import RefusedError

X = onp.linspace(0.5, 2, 6).astype("float32").reshape(2, 3)


def scale_and_square(name="scale_square"):
    """(x, y) -> (factor x, x y), as equinox and lineax write primitives."""
    p = Primitive(name)
    p.multiple_results = True

    def impl(x, y, *, factor):
        return [x * factor, x * y]

    def jvp(primals, tangents, *, factor):
        (x, y), (dx, dy) = primals, tangents
        outs = p.bind(x, y, factor=factor)
        first = dx if isinstance(dx, Zero) else dx * factor
        terms = [a * b for a, b in ((dx, y), (dy, x)) if not isinstance(a, Zero)]
        second = sum(terms[1:], terms[0]) if terms else Zero(outs[1].aval)
        return outs, [first, second]

    def batch(args, dims, *, factor):
        assert {d for d in dims} <= {0, None}
        x, y = (
            np.moveaxis(a, 0, -1) if d == 0 else a[..., None]
            for a, d in zip(args, dims, strict=True)
        )
        return p.bind(*np.broadcast_arrays(x, y), factor=factor), (x.ndim - 1, x.ndim - 1)

    p.def_impl(impl)
    p.def_abstract_eval(lambda x, y, factor: [x, x])
    primitive_jvps[p] = jvp
    primitive_batchers[p] = batch
    register_lowering(p, lower_function(impl, multiple_results=True))
    return p


P = scale_and_square()


def f(x, y):
    a, b = P.bind(x, y, factor=3.0)
    return np.sum(a) + np.sum(np.sin(b))


def plain(x, y):
    return np.sum(3.0 * x) + np.sum(np.sin(x * y))


@pytest.mark.parametrize("way", [lambda g: g, weft.jit], ids=["eager", "jit"])
def test_values_and_derivatives_are_those_of_the_formula(way):
    y = onp.cos(X)
    assert way(f)(X, y) == pytest.approx(plain(X, y).item(), rel=1e-5)
    for argument in (0, 1):
        found = way(weft.grad(f, argument))(X, y)
        onp.testing.assert_allclose(found, weft.grad(plain, argument)(X, y), rtol=1e-5)
    both = way(weft.hessian(f))(X[0], y[0])
    onp.testing.assert_allclose(both, weft.hessian(plain)(X[0], y[0]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 1)])
def test_vmap_takes_batch_axes_anywhere(axes):
    y = onp.cos(X)
    args = [
        a if d is None else onp.moveaxis(onp.stack([a, 2 * a]), 0, d)
        for a, d in zip((X, y), axes, strict=True)
    ]
    batched = weft.vmap(lambda x, y: tuple(P.bind(x, y, factor=3.0)), axes)(*args)
    for i in range(2):
        x, z = (a if d is None else onp.take(a, i, d) for a, d in zip(args, axes, strict=True))
        onp.testing.assert_allclose(batched[0][i], 3 * x, rtol=1e-6)
        onp.testing.assert_allclose(batched[1][i], x * z, rtol=1e-6)


def test_a_linear_operation_is_transposed():
    p = Primitive("weighted")
    p.def_impl(lambda x: 5.0 * x)
    p.def_abstract_eval(lambda x: x)
    seen = []

    def transpose(ct, x):
        seen.append(type(x))
        return [5.0 * ct]

    deflinear2(p, transpose)
    onp.testing.assert_allclose(weft.grad(lambda x: np.sum(p.bind(x) ** 2))(X), 50 * X, rtol=1e-6)
    assert seen == [UndefinedPrimal]


@pytest.mark.parametrize("table", [axis_primitive_batchers, fancy_primitive_batchers])
def test_rules_that_get_the_axis_know_its_size(table):
    p = Primitive("add_size")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)

    def rule(axis, *rest):
        args, dims = rest[-2:]
        size = axis if isinstance(axis, int) else axis.size
        return args[0] + size, dims[0]

    table[p] = rule
    onp.testing.assert_array_equal(weft.vmap(p.bind)(X), X + 2)


def test_it_runs_in_loops_and_branches():
    step = lambda c, x: (P.bind(c, x, factor=0.5)[0], P.bind(c, x, factor=0.5)[1])  # noqa: E731
    carry, ys = lax.scan(step, X[0], X)
    c, expected = X[0], []
    for x in X:
        expected.append(c * x)
        c = 0.5 * c
    onp.testing.assert_allclose(carry, c)
    onp.testing.assert_allclose(ys, expected, rtol=1e-6)
    out = weft.jit(lambda p: lax.cond(p, lambda: P.bind(X, X, factor=2.0)[0], lambda: X))(True)
    onp.testing.assert_allclose(out, 2 * X)


def test_a_rule_that_writes_mlir_is_refused_when_it_is_compiled():
    p = Primitive("by_mlir")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    register_lowering(p, lambda ctx, x: [x])
    onp.testing.assert_array_equal(p.bind(X), X)
    with pytest.raises(RefusedError, match="writes MLIR"):
        weft.jit(p.bind)(X)


def test_names_that_are_taken_get_a_number():
    first, second = Primitive("twice"), Primitive("twice")
    assert (first.name, second.name) == ("twice", "twice_2")


def test_programs_that_rules_write_may_die_before_the_program_around_them():
    """Their literals are found by identity, which Python gives to the next array."""
    p = Primitive("shifted")

    def impl(x, *, by):
        flag = np.asarray(onp.bool_(by % 2))
        return x + np.where(flag, np.float32(by + 0.5), np.asarray(onp.int32(by)))

    p.def_impl(impl)
    p.def_abstract_eval(lambda x, by: x)
    register_lowering(p, lower_function(impl, multiple_results=False))
    found = weft.jit(lambda x: [p.bind(x, by=n) for n in range(40)])(np.float32(1))
    assert found == [1 + n + (0.5 if n % 2 else 0) for n in range(40)]


def test_parameters_that_cannot_be_hashed_reach_the_rules_as_they_are():
    p = Primitive("scaled_by_dict")
    p.def_impl(lambda x, *, by: x * by["factor"])
    p.def_abstract_eval(lambda x, *, by: x)
    seen = []

    def jvp(primals, tangents, *, by):
        seen.append(type(by))
        return p.bind(*primals, by=by), p.bind(*tangents, by=by)

    primitive_jvps[p] = jvp
    primitive_transposes[p] = lambda ct, x, *, by: [p.bind(ct, by=by)]
    primitive_batchers[p] = lambda args, dims, *, by: (p.bind(*args, by=by), dims[0])
    for factor in (3.0, 5.0):

        def f(x, factor=factor):
            return p.bind(x, by={"factor": factor})

        for g in (f, weft.jit(f)):
            assert float(g(2.0)) == 2 * factor
            assert float(weft.grad(g)(2.0)) == factor
            assert weft.vmap(weft.grad(g))(np.ones(2)).tolist() == [factor, factor]
    assert set(seen) == {dict}


def test_a_linear_rule_gets_the_cotangent_alone():
    p = Primitive("twice_linear")
    p.def_impl(lambda x: x * 2)
    p.def_abstract_eval(lambda x: x)
    deflinear(p, lambda ct: [ct * 2])
    assert float(weft.grad(p.bind)(1.0)) == 2
