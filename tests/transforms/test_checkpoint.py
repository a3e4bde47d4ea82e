"""checkpoint: the same results and derivatives, fewer residuals."""

import functools

import numpy as np
import pytest

import weft
from weft.primitives.structural import reduce_sum
from weft.primitives.transcendental import cos, exp, sin, tanh


def f32(x):
    return weft.device_put(np.asarray(x, np.float32))


def same(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=1e-6)


def total(x):
    return reduce_sum(x, axes=tuple(range(x.ndim)))


def f(x):
    return sin(sin(x) * 2.0) * exp(x)


def chain(x, n=3):
    for _ in range(n):
        x = tanh(f(x))
    return x


P = weft.checkpoint_policies
POLICIES = [
    None, P.everything_saveable, P.nothing_saveable, P.dots_saveable, P.checkpoint_dots,
    P.dots_with_no_batch_dims_saveable, lambda primitive, *avals, **params: primitive.name == "sin",
]  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: getattr(p, "__name__", "none"))
@pytest.mark.parametrize("prevent_cse", [True, False])
def test_changes_no_result(policy, prevent_cse):
    g = weft.checkpoint(f, policy=policy, prevent_cse=prevent_cse)
    x, v = f32([0.3, 0.7]), f32([1.0, -2.0])
    sum_f, sum_g = (lambda x: total(f(x))), (lambda x: total(g(x)))
    for transform in (
        lambda h: h,
        weft.grad,
        lambda h: weft.jit(weft.grad(h)),
        lambda h: weft.grad(weft.jit(h)),
        weft.hessian,
        lambda h: weft.jacrev(weft.jacrev(h)),
        lambda h: lambda x: weft.jvp(h, (x,), (v,))[1],
        lambda h: weft.grad(lambda x: weft.jvp(h, (x,), (v,))[1]),
        lambda h: weft.vmap(weft.grad(lambda s: h(s * f32([1.0, 2.0])))),
        lambda h: lambda x: weft.linearize(h, x)[1](v),
    ):
        same(transform(sum_g)(x), transform(sum_f)(x), 1e-4)
    same(weft.vmap(g)(x), weft.vmap(f)(x))
    same(weft.vmap(weft.grad(g))(x), weft.vmap(weft.grad(f))(x))


def test_nested():
    inner = weft.checkpoint(f)
    outer = weft.checkpoint(lambda x: inner(inner(x)) + weft.checkpoint(lambda y: inner(y) * x)(x))
    plain = lambda x: f(f(x)) + f(x) * x  # noqa: E731
    for t in (weft.grad, lambda h: weft.grad(weft.grad(h)), lambda h: weft.jit(weft.grad(h))):
        same(t(outer)(0.3), t(plain)(0.3), 1e-4)


def residuals(function, *args):
    """How many numbers the pullback keeps."""
    jaxpr = weft.make_jaxpr(lambda *a: weft.tree_util.tree_leaves(weft.linearize(function, *a)[1]))
    del jaxpr
    from weft.interpreters.linearize import linearize

    _, linear = linearize(lambda *xs: [function(*xs)], list(args))
    kept = {id(r): r.size for node in linear.tape for r in node.residuals if r.ndim}
    return sum(kept.values())


def test_keeps_only_arguments():
    x = f32(np.linspace(0, 1, 100))
    assert residuals(weft.jit(chain), x) > 300
    assert residuals(weft.checkpoint(chain), x) == 100
    saves_sin = weft.checkpoint(chain, policy=lambda p, *a, **k: p.name == "sin")
    assert 100 < residuals(saves_sin, x) <= 700


def test_the_program_computes_again():
    g = weft.jit(weft.grad(lambda x: total(weft.checkpoint(lambda x: sin(cos(x)))(x))))
    text = g.lower(f32([1.0, 2.0])).as_text()
    assert text.count("stablehlo.cosine") >= 2  # cos again, and cos of the derivative of sin
    assert "optimization_barrier" in text
    free = weft.grad(lambda x: total(weft.checkpoint(sin, prevent_cse=False)(x)))
    assert "optimization_barrier" not in weft.jit(free).lower(f32([1.0])).as_text()


def test_static_arguments_keywords_and_trees():
    @functools.partial(weft.checkpoint, static_argnums=(1,))
    def g(x, n, *, scale=1.0):
        return {"y": x["a"] * scale * n if n > 1 else x["a"]}

    h = weft.grad(lambda a: g({"a": a}, 3, scale=2.0)["y"])
    same(h(1.0), 6.0)
    same(weft.jit(h)(1.0), 6.0)
    with pytest.raises(ValueError, match=r"static argument 'n' of g .*hashable"):
        g({"a": 1.0}, [3])


def test_equal_static_arguments_of_different_types_are_different():
    g = weft.checkpoint(lambda x, n: x * (2.0 if n is True else 3.0), static_argnums=1)
    same(g(1.0, True), 2.0)
    same(g(1.0, 1), 3.0)


def test_closure_over_values():
    w = f32([2.0, 3.0])

    def loss(w, x):
        g = weft.checkpoint(lambda x: sin(x * w))
        return total(g(g(x)))

    def plain(w, x):
        g = lambda x: sin(x * w)  # noqa: E731
        return total(g(g(x)))

    x = f32([0.1, 0.2])
    for t in (weft.grad, lambda h: weft.jit(weft.grad(h)), lambda h: weft.grad(weft.jit(h))):
        same(t(loss)(w, x), t(plain)(w, x))
    same(weft.hessian(loss)(w, x), weft.hessian(plain)(w, x), 1e-4)


def test_a_kept_function_meets_new_tracers():
    class Model:
        w = None

        def __init__(self):
            self.apply = weft.checkpoint(lambda x: sin(x * self.w))

    model = Model()

    def loss(w, x):
        model.w = w
        return model.apply(x)

    for x in (0.1, 0.2):
        same(weft.grad(loss)(2.0, x), x * np.cos(2 * x))
        same(weft.jit(weft.grad(loss))(2.0, x), x * np.cos(2 * x))


def test_integer_arguments_and_outputs():
    g = weft.checkpoint(lambda x, n: (sin(x) * n, n + 1))
    same(weft.grad(lambda x: g(x, 3)[0])(0.5), 3 * np.cos(0.5))
    _y, n = weft.jit(g)(0.5, 3)
    assert int(n) == 4


def test_constant_output():
    g = weft.checkpoint(lambda x: 3.0)
    same(weft.grad(g)(1.0), 0.0)
    same(weft.vmap(g)(f32([1.0, 2.0])), [3.0, 3.0])


def test_remat_is_the_same_and_decorators():
    assert weft.remat is weft.checkpoint

    @weft.checkpoint
    def g(x):
        """Doc."""
        return x * 2

    assert (g.__name__, g.__doc__) == ("g", "Doc.")
    with pytest.raises(TypeError, match="checkpoint: expected a function"):
        weft.checkpoint(3)


def test_custom_rules_inside():
    h = weft.custom_jvp(lambda x: sin(x))
    h.defjvp(lambda p, t: (h(p[0]), 10.0 * t[0]))
    k = weft.custom_vjp(lambda x: sin(x))
    k.defvjp(lambda x: (sin(x), x), lambda x, ct: (10.0 * ct,))
    for inner in (h, k):
        g = weft.checkpoint(lambda x, inner=inner: inner(x) * 2.0)
        same(weft.grad(g)(0.5), 20.0)
        same(weft.jit(weft.grad(g))(0.5), 20.0)
        same(weft.vmap(weft.grad(g))(f32([0.5])), [20.0])
