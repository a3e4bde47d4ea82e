"""One's own primitives and interpreters, made of what `weft.extend` exports, and nothing else."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import extend

X = onp.linspace(-1.0, 1.0, 5, dtype="f")


def rotated_type(x, *, steps):
    if not x.ndim:
        raise TypeError(f"rotated: expected an array with axes; got {x}")
    return x


rotated = extend.Primitive("test_extend_rotated", "Elements moved along axis 0, in a ring.")
rotated.type(rotated_type)
rotated.evaluate(lambda x, *, steps: onp.roll(x, steps, 0))
rotated.jvp(lambda primals, tangents, out, *, steps: rotated(tangents[0], steps=steps))
rotated.transpose(lambda ct, x, *, steps: (rotated(ct, steps=-steps),))


@rotated.lower
def _(block, x, out, steps):
    n = x.aval.shape[0]
    at = -steps % n
    rest = [(0, m) for m in x.aval.shape[1:]]
    halves = [
        block.op(
            "slice", x, out=x.aval.update(shape=(high - low, *x.aval.shape[1:])),
            attributes=", ".join(
                f"{name} = array<i64: {', '.join(map(str, values))}>"
                for name, values in [
                    ("start_indices", [low, *[a for a, _ in rest]]),
                    ("limit_indices", [high, *[b for _, b in rest]]),
                    ("strides", [1] * x.aval.ndim),
                ]
            ),
        )
        for low, high in [(at, n), (0, at)]
    ]  # fmt: skip
    return block.op("concatenate", *halves, out=out, attributes="dimension = 0 : i64")


@rotated.batch
def _(args, batched, size, *, steps):
    (x,) = args
    return rotated(x.swapaxes(0, 1), steps=steps).swapaxes(0, 1)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_a_primitive_of_the_user_s_has_every_transformation(wrap):
    f = wrap(lambda x: rotated(x, steps=2))
    onp.testing.assert_array_equal(f(X), onp.roll(X, 2))
    onp.testing.assert_array_equal(weft.jvp(f, (X,), (X,))[1], onp.roll(X, 2))
    weights = onp.arange(5, dtype="f")
    gradient = weft.grad(lambda x: np.sum(f(x) * weights))(X)
    onp.testing.assert_array_equal(gradient, onp.roll(weights, -2))
    stack = onp.arange(15, dtype="f").reshape(3, 5)
    onp.testing.assert_array_equal(weft.vmap(f)(stack), onp.roll(stack, 2, 1))


def test_parameters_that_are_equal_and_of_other_types_are_told_apart():
    kinds = extend.Primitive("kinds_of_parameters", "1, 2 or 3: a parameter's type.")
    number = {bool: 1, int: 2, float: 3}

    @kinds.type
    def _(x, *, k, pair):
        return x

    @kinds.evaluate
    def _(x, *, k, pair):
        return onp.full_like(x, 10 * number[type(k)] + number[type(pair[0])])

    @kinds.lower
    def _(block, x, out, k, pair):
        return block.constant(onp.float32(10 * number[type(k)] + number[type(pair[0])]), out)

    @kinds.jvp
    def _(primals, tangents, out, *, k, pair):
        return tangents[0] * (10 * number[type(k)] + number[type(pair[0])])

    values = (True, 1, 1.0)
    expected = [10 * number[type(k)] + number[type(p)] for k in values for p in values]
    for f in (
        lambda k, p: kinds(np.ones(()), k=k, pair=(p,)),
        lambda k, p: weft.jit(lambda x: kinds(x, k=k, pair=(p,)))(1.0),
        lambda k, p: weft.grad(lambda x: kinds(x, k=k, pair=(p,)))(1.0),
    ):
        assert [f(k, p).item() for k in values for p in values] == expected
    program = weft.make_jaxpr(lambda x: [kinds(x, k=k, pair=(1,)) for k in values])(1.0)
    assert [r.item() for r in weft.jit(weft.core.jaxpr_as_fun(program))(1.0)] == [12, 22, 32]


def test_a_maker_makes_an_elementwise_primitive():
    cube = extend.unary(
        "test_extend_cube", "x³.", evaluate=lambda x: x**3,
        stablehlo=lambda block, x, out: block.elementwise(
            "multiply", (block.elementwise("multiply", (x, x), out), x), out
        ),
        jvp=lambda dx, out, x: dx * (3 * x * x), accepts="float",
    )  # fmt: skip
    onp.testing.assert_allclose(weft.jit(cube)(X), X**3, rtol=1e-6)
    onp.testing.assert_allclose(weft.grad(lambda x: np.sum(cube(x)))(X), 3 * X**2, rtol=1e-6)


class CountingTrace(extend.Trace):
    """Counts operations by name, and applies them under the trace outside."""

    def __init__(self, outside):
        self.outside, self.counts = outside, {}

    def bind(self, primitive, args, params, out=None):
        self.counts[primitive.name] = self.counts.get(primitive.name, 0) + 1
        return self.outside.bind(primitive, args, params, out)


def test_a_trace_of_the_user_s_sees_every_operation():
    trace = CountingTrace(extend.current.trace)
    y = extend.under(trace, lambda x: np.sin(x) * np.sin(x), np.asarray(X))
    onp.testing.assert_allclose(y, onp.sin(X) ** 2, rtol=1e-6)
    assert trace.counts["sin"] == 2
    assert trace.counts["mul"] == 1


def test_a_program_is_staged_walked_and_run():
    a = extend.aval((5,), onp.dtype("float32"))
    jaxpr = extend.stage(lambda x: [np.exp(x) - x], [a])
    assert [e.primitive.name for e in jaxpr.equations] == ["exp", "sub"]
    assert all(isinstance(v, extend.Var) for v in jaxpr.outvars)
    (y,) = extend.run(jaxpr, [extend.as_value(X)], extend.current.trace)
    onp.testing.assert_allclose(y, onp.exp(X) - X, rtol=1e-6)


def test_interpreters_on_lists_of_values():
    x = extend.as_value(X)
    f = lambda x: [np.sin(x)]  # noqa: E731
    _, (t,) = extend.jvp(f, [x], [x])
    onp.testing.assert_allclose(t, onp.cos(X) * X, rtol=1e-6)
    _, linear = extend.linearize(f, [x])
    (ct,) = linear.pull([x])
    onp.testing.assert_allclose(ct, onp.cos(X) * X, rtol=1e-6)
    (y,) = extend.batch(lambda x: [x * 2], [x], [True], extend.Axis(5))
    onp.testing.assert_allclose(y, X * 2)


def test_states_of_tracing_are_compared():
    # flax and haiku refuse with it to use a module under another transformation than it was made in
    state = extend.core.get_opaque_trace_state
    seen = []

    def f(x):
        seen.append(state(convention="flax"))
        seen.append(state())
        return weft.jit(lambda y: (seen.append(state()), y)[1])(x)

    outside = state()
    weft.vmap(f)(X)
    weft.grad(f)(1.0)
    first, again, inner, other, *_ = seen
    assert outside == state()
    assert hash(first) == hash(again)
    assert first != outside
    assert inner not in (first, outside)
    assert other != first  # that trace has ended
    assert outside != "outside"
