"""symbolic_zeros of custom_jvp and custom_vjp: rules are told which tangents are zero."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp

SymbolicZero = weft.custom_derivatives.SymbolicZero
CustomVJPPrimal = weft.custom_derivatives.CustomVJPPrimal


def scaled_product():
    """x · y · n, whose rule writes down which tangents are zero."""
    seen = []

    @weft.custom_jvp
    def f(x, y, n):
        return x * y * n

    def f_jvp(primals, tangents):
        x, y, n = primals
        seen.append([isinstance(t, SymbolicZero) for t in tangents])
        dx, dy, _ = tangents
        if isinstance(dx, SymbolicZero) and isinstance(dy, SymbolicZero):
            return f(x, y, n), SymbolicZero(x.shape, x.dtype)
        parts = [] if isinstance(dx, SymbolicZero) else [dx * y * n]
        parts += [] if isinstance(dy, SymbolicZero) else [dy * x * n]
        return f(x, y, n), sum(parts[1:], parts[0])

    f.defjvp(f_jvp, symbolic_zeros=True)
    return f, seen


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit, weft.checkpoint])
def test_custom_jvp_with_symbolic_zeros(wrap):
    f, seen = scaled_product()
    g = wrap(f)
    assert weft.grad(g, 0)(2.0, 3.0, 5) == 15
    assert weft.grad(g, 1)(2.0, 3.0, 5) == 10
    assert [bool(v) for v in map(all, seen)] == [False] * len(seen)
    assert [False, True, True] in seen
    assert [True, False, True] in seen
    slopes = weft.vmap(weft.grad(g, (0, 1)), (0, None, None))(np.float32([2, 4]), 3.0, 5)
    np.testing.assert_allclose(slopes, [[15, 15], [10, 20]])
    assert [False, False, True] in seen
    _, t = weft.jvp(g, (2.0, 3.0, 5), (1.0, 1.0, np.zeros((), weft.dtypes.float0)))
    assert t == 25


def test_symbolic_zeros_that_a_custom_jvp_gives_back():
    @weft.custom_jvp
    def flat(x):
        return x, x + 1

    flat.defjvp(
        lambda p, t: (flat(*p), (t[0], SymbolicZero(p[0].shape, p[0].dtype))), symbolic_zeros=True
    )
    for g in (flat, weft.jit(flat)):
        assert weft.grad(lambda x: g(x)[0] * 2 + g(x)[1] * 100)(1.0) == 2  # noqa: B023
        assert weft.jvp(g, (1.0,), (3.0,))[1] == (3.0, 0.0)


def test_a_symbolic_zero_of_a_type():
    for x, dtype in ((np.ones((2, 3), "f"), np.float32), (np.arange(3), weft.dtypes.float0)):
        zero = SymbolicZero(weft.typeof(x))
        assert (zero.shape, zero.dtype) == (x.shape, dtype)
    with pytest.raises(TypeError, match="expected a shape and a dtype"):
        SymbolicZero((2, 3))


def test_symbolic_zeros_look_like_arrays():
    zero = SymbolicZero((2, 3), np.dtype("float32"))
    assert (zero.shape, zero.ndim, zero.size, zero.dtype) == ((2, 3), 2, 6, np.float32)
    assert repr(zero) == "SymbolicZero(float32[2,3])"


def told():
    """(x · y, x + y), which writes down what its rules are told."""
    seen = []

    @weft.custom_vjp
    def f(x, y):
        return x * y, x + y

    def fwd(x, y):
        assert isinstance(x, CustomVJPPrimal)
        seen.append(("perturbed", x.perturbed, y.perturbed))
        return f(x.value, y.value), (x.value, y.value)

    def bwd(residuals, cts):
        x, y = residuals
        seen.append(("zero", *[isinstance(ct, SymbolicZero) for ct in cts]))
        product, total = [0.0 if isinstance(ct, SymbolicZero) else ct for ct in cts]
        return product * y + total, product * x + total

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f, seen


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit, weft.checkpoint])
def test_custom_vjp_with_symbolic_zeros(wrap):
    f, seen = told()
    g = wrap(f)
    assert weft.grad(lambda x: g(x, 3.0)[0])(2.0) == 3
    assert ("perturbed", True, False) in seen
    assert weft.grad(lambda y: g(2.0, y)[1])(3.0) == 1
    assert ("perturbed", False, True) in seen
    if g is f:  # else the rule is traced before the cotangents are known
        assert ("zero", False, True) in seen
        assert ("zero", True, False) in seen
    assert weft.grad(lambda x: sum(g(x, x)))(2.0) == 2 + 2 + 2
    assert ("perturbed", True, True) in seen
    batched = weft.vmap(weft.grad(lambda x, y: g(x, y)[0]), (0, None))(np.float32([1, 2]), 3.0)
    np.testing.assert_allclose(batched, [3, 3])
    f, _ = told()
    assert f(2.0, 3.0) == (6.0, 5.0)


def test_a_cotangent_may_be_given_as_a_symbolic_zero():
    f = weft.custom_vjp(lambda x, y: x * y)
    f.defvjp(
        lambda x, y: (x.value * y.value, (y.value,)),
        lambda res, ct: (ct * res[0], SymbolicZero((), np.dtype("float32"))),
        symbolic_zeros=True,
    )
    for g in (f, weft.jit(f)):
        assert weft.grad(g, (0, 1))(2.0, 3.0) == (3.0, 0.0)


@pytest.mark.parametrize(
    "wrap", [lambda f: f, weft.jit, weft.checkpoint], ids=["now", "jit", "checkpoint"]
)
def test_a_rule_is_told_of_its_arguments_and_not_of_what_the_function_closes_over(wrap):
    weights, seen = wnp.array([1.0, 2.0]), []

    @weft.custom_vjp
    def f(x, y):
        return x * y * wnp.sum(weights)

    def forward(x, y):
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), (x.value, y.value)

    def backward(values, ct):
        x, y = values
        return ct * y * 3, ct * x * 3

    f.defvjp(forward, backward, symbolic_zeros=True)
    assert float(weft.grad(wrap(f), 0)(2.0, 5.0)) == 15
    assert float(weft.grad(wrap(f), 1)(2.0, 5.0)) == 6
    assert seen == [(True, False), (False, True)]
