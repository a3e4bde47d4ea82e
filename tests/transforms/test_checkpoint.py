"""checkpoint: the same results and derivatives, fewer residuals."""

import functools

import numpy as np
import pytest

import weft
from weft.compiler.lower import lower
from weft.experimental import io_callback
from weft.interpreters.linearize import linearize
from weft.primitives.exponential import exp
from weft.primitives.structural import reduce_sum
from weft.primitives.trigonometric import cos, sin, tanh


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


def kept(function, *args):
    """The sizes of the arrays that the backward pass keeps."""
    return sorted(
        int(np.prod(a.shape)) for a, _ in weft.ad_checkpoint.saved_residuals(function, *args)
    )


def test_keeps_only_arguments():
    x = f32(np.linspace(0, 1, 100))
    assert len(kept(chain, x)) > 5
    assert kept(weft.checkpoint(chain), x) == [100]
    assert kept(lambda x: weft.checkpoint(f)(weft.checkpoint(f)(x)), x) == [100, 100]


@pytest.mark.parametrize(
    ("platform", "how"), [("cpu", 'inlineable = "false"'), ("cuda", "optimization_barrier")]
)
def test_the_program_computes_again(platform, how):
    """On the CPU in a function that isn't inlined; elsewhere behind a barrier."""

    def text(**options):
        g = weft.grad(lambda x: total(weft.checkpoint(lambda x: sin(cos(x)), **options)(x)))
        return lower(weft.make_jaxpr(g)(f32([1.0, 2.0])), platform=platform)[0]

    assert text().count("stablehlo.cosine") >= 2  # cos again, and cos of the derivative of sin
    assert how in text()
    assert how not in text(prevent_cse=False)


def test_the_second_derivative_computes_again_too():
    g = weft.grad(lambda x: total(weft.checkpoint(chain)(x)))
    x = f32(np.linspace(0, 1, 100))
    assert max(len(kept(h, x)) for h in (g, weft.jit(g))) <= 4
    assert len(kept(weft.grad(lambda x: total(chain(x))), x)) > 12


def test_values_out_of_the_batch_are_not_repeated():
    w = f32(np.ones((3, 3)))
    g = weft.checkpoint(lambda x: sin(weft.numpy.dot(x, w)))
    text = str(weft.make_jaxpr(weft.vmap(weft.grad(lambda x: total(g(x)))))(f32(np.ones((7, 3)))))
    assert "7,3,3" not in text


def test_static_arguments_keywords_and_trees():
    @functools.partial(weft.checkpoint, static_argnums=(1,))
    def g(x, n, *, scale=1.0):
        return {"y": x["a"] * scale * n if n > 1 else x["a"]}

    h = weft.grad(lambda a: g({"a": a}, 3, scale=2.0)["y"])
    same(h(1.0), 6.0)
    same(weft.jit(h)(1.0), 6.0)


@pytest.mark.parametrize("names", ["n", ("n", "mode")])
def test_static_arguments_by_name(names):
    @weft.checkpoint(static_argnames=names)
    def g(x, n, *, mode=()):
        return sin(x) ** n if n > 1 and not mode else x

    for h in (lambda x: g(x, 3), lambda x: g(x, n=3)):
        same(weft.grad(h)(1.0), 3 * np.sin(1.0) ** 2 * np.cos(1.0))
    assert g(2.0, n=1) == 2.0
    if "mode" in names:
        for mode in ("text", ["text"]):  # one without a hash
            same(weft.grad(lambda x, mode=mode: g(x, 3, mode=mode))(1.0), 1.0)
    with pytest.raises(ValueError, match="checkpoint: static_argnames='q' is not a parameter"):
        weft.checkpoint(lambda x: x, static_argnames="q")


def test_static_arguments_without_a_hash():
    # as equinox's filter_checkpoint passes them
    g = weft.checkpoint(lambda options, x: sin(x) * options["scale"][0], static_argnums=0)
    h = weft.value_and_grad(lambda x: g({"scale": [2.0]}, x))
    for f in (h, weft.jit(h)):
        value, derivative = f(1.0)
        same(value, 2 * np.sin(1.0))
        same(derivative, 2 * np.cos(1.0))


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


# --- Python code that looks at elements ---


@functools.partial(weft.checkpoint, concrete=True)
def collatz(x):
    """Halved or tripled by its value: how often depends on it."""
    steps = 0
    while x > 1.5:
        x = x / 2 if int(x) % 2 == 0 else 3 * x + 1
        steps += 1
    return x * steps


def collatz_slope(x):
    slope, steps = 1.0, 0
    while x > 1.5:
        slope, x = (slope / 2, x / 2) if int(x) % 2 == 0 else (3 * slope, 3 * x + 1)
        steps += 1
    return slope * steps


@pytest.mark.parametrize("x", [1.0, 2.0, 6.0, 7.0])
def test_concrete_follows_the_values(x):
    same(weft.grad(collatz)(x), collatz_slope(x))
    same(weft.jvp(collatz, (x,), (2.0,))[1], 2 * collatz_slope(x))
    same(weft.linearize(collatz, x)[1](2.0), 2 * collatz_slope(x))
    outer = weft.checkpoint(lambda x: collatz(x) * 2.0 if bool(x > 0) else x, concrete=True)
    same(weft.grad(outer)(x), 2 * collatz_slope(x))
    same(weft.grad(weft.checkpoint(outer, concrete=True))(x), 2 * collatz_slope(x))


def test_concrete_second_derivatives_and_derivatives_inside():
    @functools.partial(weft.checkpoint, concrete=True)
    def g(x):
        slope = weft.grad(lambda x: x**3 if x > 0 else x)(x)
        return slope * x if slope > 2 else -x

    same(weft.grad(g)(2.0), 9 * 4.0)
    same(weft.grad(weft.grad(g))(2.0), 18 * 2.0)
    same(weft.grad(g)(-2.0), -1.0)


def test_concrete_closes_over_what_is_differentiated():
    def loss(w, x):
        g = weft.checkpoint(lambda x: sin(x * w) if w * x > 0 else x * w, concrete=True)
        return g(x) * (2.0 if g(x) > 0 else 3.0)

    for w, x in ((0.5, 0.7), (-0.5, 0.7)):
        slope = 2 * x * np.cos(w * x) if w > 0 else 3 * x
        same(weft.grad(loss)(w, x), slope)


def test_concrete_keeps_arguments_and_what_the_policy_names():
    def branching(x):
        return chain(x) if total(x) > 0 else -x

    x = f32(np.linspace(0, 1, 100))

    def tape(g):
        _, linear = linearize(lambda x: [g(x)], [x])
        sizes = [r.size for node in linear.tape for r in node.residuals]
        return sorted(n for n in sizes if n > 1)  # numbers aside

    assert tape(weft.checkpoint(branching, concrete=True)) == [100]
    saves_sin = lambda primitive, *avals, **params: primitive.name == "sin"  # noqa: E731
    assert 2 <= len(tape(weft.checkpoint(branching, concrete=True, policy=saves_sin))) <= 7


def test_concrete_without_a_derivative_just_runs():
    seen = []
    g = weft.checkpoint(lambda x: seen.append(np.asarray(x)) or x, concrete=True)
    same(g(f32([1.0, 2.0])), [1.0, 2.0])
    same(seen[0], [1.0, 2.0])


def test_equal_concrete_programs_are_one():
    def derivative(x):
        g = weft.checkpoint(lambda x: f(x) if x > 0 else x, concrete=True)
        return linearize(lambda x: [g(x)], [f32(x)])[1].tape[0].linear

    assert derivative(0.1) is derivative(0.2)
    assert derivative(0.1) is not derivative(-0.1)


@pytest.mark.parametrize(
    "transform",
    [weft.jit, lambda g: weft.grad(weft.jit(g)), lambda g: weft.jit(weft.grad(g))],
)
def test_concrete_under_jit_is_refused_as_usual(transform):
    with pytest.raises(weft.errors.TracerBoolConversionError) as caught:
        transform(collatz)(3.0)
    message = str(caught.value)
    for part in ("bool", "collatz", "argument x", "lax.cond", "static_argnums"):
        assert part in message


def test_concrete_under_vmap_is_refused():
    with pytest.raises(weft.errors.TracerBoolConversionError, match="collatz"):
        weft.vmap(collatz)(f32([1.0, 2.0]))


def test_a_value_of_a_concrete_program_is_known_no_longer_than_it_is_traced():
    leak = []

    @functools.partial(weft.checkpoint, concrete=True)
    def g(x):
        leak.append(x)
        return x * 2 if x > 0 else x

    weft.grad(g)(1.0)
    with pytest.raises(weft.errors.UnexpectedTracerError, match="after that trace has ended"):
        bool(leak[0] > 0)


def test_without_concrete_a_branch_is_refused():
    g = weft.checkpoint(lambda x: x if x > 0 else -x)
    for call in (g, weft.grad(g)):
        with pytest.raises(weft.errors.TracerBoolConversionError, match="argument x"):
            call(1.0)


def test_concrete_refuses_to_do_an_effect_twice():
    scalar = weft.ShapeDtypeStruct((), "float32")

    @functools.partial(weft.checkpoint, concrete=True)
    def g(x):
        y = io_callback(lambda: np.float32(2.0), scalar)
        return x * y if y > 1 else x

    with pytest.raises(TypeError, match="io_callback, which has effects: it would be done twice"):
        weft.grad(g)(1.0)
    same(g(1.0), 2.0)  # nothing is differentiated: it runs once


def test_concrete_looks_at_values_in_other_ways():
    """What `item` makes a Python number is a constant, as it is under grad without checkpoint."""

    def g(x, n):
        numbers = [x[i].item() for i in range(int(n))]
        return total(sum([x * c for c in numbers], x)) * (2 if x.sum() > 0 else 1)

    x = f32([0.5, 1.5, 2.0])
    expected = 2 * (1 + 0.5 + 1.5)
    same(weft.grad(g)(x, 2), [expected] * 3)
    same(weft.grad(weft.checkpoint(g, concrete=True))(x, 2), [expected] * 3)
