"""Random typed programs: every transformation of them agrees with plain evaluation.

A program is a list of steps; a step applies an operation to values made before it. Programs are the
same on every run; `WEFT_GENERATED=20` makes twenty times as many, `WEFT_GENERATED_RANDOM=1` others.
"""

import math
import os
from typing import NamedTuple

import numpy as onp
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import weft
import weft.numpy as np
from weft import lax

TIMES = int(os.environ.get("WEFT_GENERATED", "1"))


def examples(count):
    return settings(
        max_examples=count * TIMES,
        derandomize="WEFT_GENERATED_RANDOM" not in os.environ,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )


# --- operations: from the shapes of what there is, a step or None ---


class Step(NamedTuple):
    """`name` is for people; `apply(*operands)` gives the new value, of shape `shape`."""

    name: str
    operands: tuple[int, ...]
    apply: object
    shape: tuple[int, ...]

    def __repr__(self):
        return f"{self.name}{self.operands} -> {self.shape}"


def elementwise(*names_and_functions):
    def make(draw, shapes):
        name, function = draw(st.sampled_from(names_and_functions))
        i = draw(st.integers(0, len(shapes) - 1))
        return Step(name, (i,), function, shapes[i])

    return make


def broadcasting(*names_and_functions):
    def make(draw, shapes):
        name, function = draw(st.sampled_from(names_and_functions))
        i = draw(st.integers(0, len(shapes) - 1))
        j = draw(st.integers(0, len(shapes) - 1))
        try:
            shape = onp.broadcast_shapes(shapes[i], shapes[j])
        except ValueError:
            return None
        return Step(name, (i, j), function, shape) if math.prod(shape) <= 64 else None

    return make


def unary_smooth():
    return elementwise(
        ("sin", np.sin),
        ("cos", np.cos),
        ("tanh", np.tanh),
        ("negative", lambda x: -x),
        ("exp", lambda x: np.exp(np.sin(x))),
        ("log", lambda x: np.log(2.0 + np.cos(x))),
        ("sqrt", lambda x: np.sqrt(1.0 + x * x)),
        ("square", lambda x: 0.2 * x**2),
        ("logistic", lambda x: 1.0 / (1.0 + np.exp(-x))),
        ("arctan", np.arctan),
        ("scaled", lambda x: x * 0.5 - 1.0),
        ("constant", lambda x: x * 0.0 + 0.7),
        ("stop", lambda x: lax.stop_gradient(x) * x),
    )


def unary_kinked():
    return elementwise(
        ("abs", np.abs),
        ("relu", lambda x: np.maximum(x, 0.0)),
        ("where", lambda x: np.where(x > 0.1, np.sin(x), x * 0.3)),
        ("clip", lambda x: np.clip(x, -0.71, 0.83)),
        ("floor", lambda x: x - np.floor(x)),
        ("sign", lambda x: x * np.sign(x - 0.05)),
    )


def binary_smooth():
    return broadcasting(
        ("add", lambda x, y: x + y),
        ("subtract", lambda x, y: x - y),
        ("multiply", lambda x, y: 0.4 * x * y),
        ("divide", lambda x, y: x / (1.5 + np.cos(y))),
        ("arctan2", lambda x, y: np.arctan2(x, 2.0 + y * y)),
        ("power", lambda x, y: (1.0 + x * x) ** np.sin(y)),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("select", lambda x, y: np.where(x > y, x, 0.5 * y)),
        ("logaddexp", np.logaddexp),
        ("hypot", lambda x, y: np.sqrt(1.0 + x * x + y * y)),
    )


def reduction(draw, shapes):
    i = draw(st.integers(0, len(shapes) - 1))
    shape = shapes[i]
    if not shape:
        return None
    axis = draw(st.integers(-len(shape), len(shape) - 1) | st.none())
    keep = draw(st.booleans())
    name = draw(st.sampled_from(["sum", "mean", "max", "min", "prod", "cumsum", "sort", "std"]))
    if name in ("cumsum", "sort"):
        axis = axis if axis is not None else -1
        return Step(name, (i,), lambda x: getattr(np, name)(x, axis=axis), shape)
    out = onp.sum(onp.zeros(shape), axis=axis, keepdims=keep).shape

    def apply(x):
        if name == "prod":
            return np.prod(0.8 + 0.3 * np.sin(x), axis=axis, keepdims=keep)
        if name == "std":
            return np.sqrt(0.3 + np.var(x, axis=axis, keepdims=keep))
        return getattr(np, name)(x, axis=axis, keepdims=keep)

    return Step(f"{name}[{axis},{keep}]", (i,), apply, out)


def rearrangement(draw, shapes):
    i = draw(st.integers(0, len(shapes) - 1))
    shape = shapes[i]
    if not shape:
        return Step("newaxis", (i,), lambda x: x[None, None], (1, 1))
    axis = draw(st.integers(0, len(shape) - 1))
    n = shape[axis]
    order = tuple(draw(st.permutations(range(len(shape)))))
    choices = {
        "transpose": lambda x: np.transpose(x, order),
        "ravel": lambda x: np.reshape(x, (-1,)),
        "split": lambda x: np.reshape(x, (*x.shape[:axis], 1, n, *x.shape[axis + 1 :])),
        "expand": lambda x: np.expand_dims(x, axis),
        "broadcast": lambda x: (
            np.broadcast_to(x, (2, *x.shape)) * onp.array([1.0, -0.5]).reshape((2, *(1,) * x.ndim))
        ),
        "flip": lambda x: np.flip(x, axis),
        "roll": lambda x: np.roll(x, 1, axis),
        "pad": lambda x: np.pad(x, [(1, 0)] + [(0, 0)] * (x.ndim - 1)),
        "double": lambda x: np.concatenate([x, 0.5 * x], axis=axis),
        "stack": lambda x: np.stack([x, np.sin(x)], axis=axis),
        "tile": lambda x: np.repeat(x, 2, axis=axis),
    }
    name = draw(st.sampled_from(sorted(choices)))
    out = onp.shape(NUMPY_SHAPES[name](onp.zeros(shape), order, axis))
    return Step(name, (i,), choices[name], out) if math.prod(out) <= 64 and len(out) < 5 else None


NUMPY_SHAPES = {
    "transpose": lambda x, order, axis: onp.transpose(x, order),
    "ravel": lambda x, order, axis: x.ravel(),
    "split": lambda x, order, axis: onp.expand_dims(x, axis),
    "expand": lambda x, order, axis: onp.expand_dims(x, axis),
    "broadcast": lambda x, order, axis: onp.broadcast_to(x, (2, *x.shape)),
    "flip": lambda x, order, axis: x,
    "roll": lambda x, order, axis: x,
    "pad": lambda x, order, axis: onp.pad(x, [(1, 0)] + [(0, 0)] * (x.ndim - 1)),
    "double": lambda x, order, axis: onp.concatenate([x, x], axis),
    "stack": lambda x, order, axis: onp.stack([x, x], axis),
    "tile": lambda x, order, axis: onp.repeat(x, 2, axis),
}


def indexing(draw, shapes):
    i = draw(st.integers(0, len(shapes) - 1))
    shape = shapes[i]
    if not shape or 0 in shape:
        return None
    n = shape[0]
    index = draw(
        st.integers(-n, n - 1)
        | st.builds(slice, st.none(), st.none(), st.sampled_from([-1, 2, 1]))
        | st.just((Ellipsis, 0))
        | st.lists(st.integers(-n, n - 1), min_size=1, max_size=3).map(onp.array)
        | st.just((None, slice(None)))
    )
    out = onp.zeros(shape)[index].shape
    if draw(st.booleans()):
        return Step(f"get[{index}]", (i,), lambda x: x[index], out)
    kind = draw(st.sampled_from(["set", "add", "multiply"]))
    return Step(f"at[{index}].{kind}", (i,), lambda x: getattr(x.at[index], kind)(0.3), shape)


def product(draw, shapes):
    i, j = draw(st.integers(0, len(shapes) - 1)), draw(st.integers(0, len(shapes) - 1))
    a, b = shapes[i], shapes[j]
    if not a or not b:
        return None
    name, function = draw(
        st.sampled_from([("matmul", onp.matmul), ("dot", onp.dot), ("outer", onp.outer)])
    )
    try:
        out = onp.shape(function(onp.zeros(a), onp.zeros(b)))
    except ValueError:
        return None
    ours = getattr(np, name)
    return Step(name, (i, j), lambda x, y: 0.3 * ours(x, y), out) if math.prod(out) <= 64 else None


def structured(draw, shapes):
    """Operations with a program inside."""
    i = draw(st.integers(0, len(shapes) - 1))
    shape = shapes[i]
    body = lambda x: np.sin(x) * x  # noqa: E731
    total = lambda x: np.sum(np.tanh(x))  # noqa: E731

    def scanned(x):
        def step(carry, row):
            carry = np.tanh(carry + row)
            return carry, carry * row

        carry, rows = lax.scan(step, x[0] * 0.5, x)
        return rows + carry

    def custom(x):
        g = weft.custom_jvp(body)
        g.defjvp(lambda p, t: (body(p[0]), (np.cos(p[0]) * p[0] + np.sin(p[0])) * t[0]))
        return g(x)

    choices = {
        "jit": (weft.jit(body), shape),
        "checkpoint": (weft.checkpoint(body), shape),
        "custom_jvp": (custom, shape),
        "closure": (lambda x: weft.jit(lambda y: y * x)(np.cos(x)), shape),
        "cond": (lambda x: lax.cond(np.sum(x) > 0.2, body, lambda x: x * 0.5, x), shape),
        "grad": (weft.grad(total), shape),
        "jvp": (lambda x: weft.jvp(body, (x,), (np.cos(x),))[1], shape),
        "fori": (lambda x: lax.fori_loop(0, 3, lambda i, y: np.sin(y + 0.1 * i), x), shape),
    }
    if shape and shape[0]:
        choices["scan"] = (scanned, shape)
        choices["vmap"] = (weft.vmap(lambda row: body(row) + total(row)), shape)
        choices["map"] = (lambda x: lax.map(total, x), shape[:1])
    name = draw(st.sampled_from(sorted(choices)))
    function, out = choices[name]
    return Step(name, (i,), function, out)


FLOAT_STEPS = [
    unary_smooth(),
    binary_smooth(),
    binary_smooth(),
    unary_kinked(),
    reduction,
    rearrangement,
    indexing,
    product,
    structured,
]


class Program:
    """Inputs' shapes, steps, and which values come out."""

    def __init__(self, shapes, steps, outputs, seed):
        self.shapes, self.steps, self.outputs, self.seed = shapes, steps, outputs, seed

    def __call__(self, *inputs):
        values = list(inputs)
        for step in self.steps:
            value = step.apply(*[values[i] for i in step.operands])
            assert value.shape == step.shape, step
            values.append(value)
        return [values[i] for i in self.outputs]

    def __repr__(self):
        n = len(self.shapes)
        lines = [f"x{n + i} = {s!r}" for i, s in enumerate(self.steps)]
        return "\n".join([f"inputs {self.shapes}, seed {self.seed}", *lines, f"out {self.outputs}"])

    def numbers(self, batch=()):
        rng = onp.random.default_rng(self.seed)
        return [rng.normal(size=(*batch, *s)) for s in self.shapes], rng


SHAPES = st.lists(st.integers(1, 3), max_size=3).map(tuple)


@st.composite
def programs(draw, makers=FLOAT_STEPS, longest=7):
    shapes = draw(st.lists(SHAPES, min_size=1, max_size=3))
    known, steps = list(shapes), []
    for _ in range(draw(st.integers(1, longest))):
        step = draw(st.sampled_from(makers))(draw, known)
        if step is not None:
            steps.append(step)
            known.append(step.shape)
    outputs = [len(known) - 1]
    if draw(st.booleans()):
        outputs.append(draw(st.integers(0, len(known) - 1)))
    return Program(shapes, steps, outputs, draw(st.integers(0, 1000)))


def agree(got, expected, tolerance):
    for a, b in zip(got, expected, strict=True):
        a, b = onp.asarray(a), onp.asarray(b)
        assert a.shape == b.shape
        scale = 1.0 + float(onp.max(onp.abs(b), initial=0.0))
        onp.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def inner(a, b):
    return sum(float(onp.vdot(onp.asarray(x), onp.asarray(y))) for x, y in zip(a, b, strict=True))


@examples(60)
@given(programs())
def test_compiled_equals_eager(program):
    with weft.enable_x64():
        x, _ = program.numbers()
        expected = program(*map(np.asarray, x))
        agree(weft.jit(program)(*x), expected, 1e-12)
        agree(
            weft.vmap(program)(*[v[None] for v in x]),
            [onp.asarray(e)[None] for e in expected],
            1e-12,
        )
        shapes = weft.eval_shape(program, *x)
        assert [(s.shape, s.dtype) for s in shapes] == [(e.shape, e.dtype) for e in expected]


@examples(60)
@given(programs())
def test_jvp_equals_finite_differences(program):
    with weft.enable_x64():
        x, rng = program.numbers()
        v = [rng.normal(size=a.shape) for a in x]
        y, t = weft.jvp(program, x, v)
        agree(y, program(*map(np.asarray, x)), 1e-12)
        e = 1e-6
        up = program(*[np.asarray(a + e * b) for a, b in zip(x, v, strict=True)])
        down = program(*[np.asarray(a - e * b) for a, b in zip(x, v, strict=True)])
        if not stopped(program):
            slopes = [
                (onp.asarray(a) - onp.asarray(b)) / (2 * e) for a, b in zip(up, down, strict=True)
            ]
            agree(t, slopes, 1e-5)
        agree(weft.linearize(program, *x)[1](*v), t, 1e-12)


def stopped(program):
    """Whether a derivative is left out on purpose."""
    return any(s.name == "stop" for s in program.steps)


@examples(60)
@given(programs())
def test_vjp_is_the_transpose_of_jvp(program):
    with weft.enable_x64():
        x, rng = program.numbers()
        v = [rng.normal(size=a.shape) for a in x]
        y, t = weft.jvp(program, x, v)
        ct = [rng.normal(size=a.shape) for a in y]
        _, pull = weft.vjp(program, *x)
        cts = pull(list(map(np.asarray, ct)))
        left, right = inner(ct, t), inner(cts, v)
        size = sum(float(onp.sum(onp.abs(onp.asarray(c) * b))) for c, b in zip(cts, v, strict=True))
        assert abs(left - right) <= 1e-10 * (1 + size)
        agree(pull(list(map(np.asarray, ct))), cts, 0)  # a pullback can be used again


@examples(40)
@given(programs(), st.data())
def test_vmap_equals_a_loop(program, data):
    with weft.enable_x64():
        mapped = data.draw(
            st.lists(
                st.booleans(), min_size=len(program.shapes), max_size=len(program.shapes)
            ).filter(any)
        )
        many, _ = program.numbers((3,))
        args = [a if m else a[0] for a, m in zip(many, mapped, strict=True)]
        axes = [
            data.draw(st.integers(0, a.ndim - 1)) if m else None
            for a, m in zip(args, mapped, strict=True)
        ]
        rows = [
            program(*[np.asarray(a[k] if m else a) for a, m in zip(args, mapped, strict=True)])
            for k in range(3)
        ]
        expected = [onp.stack([onp.asarray(r[i]) for r in rows]) for i in range(len(rows[0]))]
        moved = [a if k is None else onp.moveaxis(a, 0, k) for a, k in zip(args, axes, strict=True)]
        agree(weft.vmap(program, tuple(axes))(*moved), expected, 1e-11)


def loss_of(program):
    return lambda *x: sum(np.sum(np.sin(o)) for o in program(*x))


@examples(25)
@given(programs(longest=5))
def test_gradients_in_every_way(program):
    with weft.enable_x64():
        x, _ = program.numbers()
        loss, nums = loss_of(program), tuple(range(len(x)))
        g = weft.grad(loss, nums)(*x)
        agree(weft.grad(weft.checkpoint(loss), nums)(*x), g, 1e-11)
        agree(weft.grad(weft.jit(loss), nums)(*x), g, 1e-11)
        agree(weft.jit(weft.grad(loss, nums))(*x), g, 1e-11)
        mapped = weft.vmap(weft.grad(loss, nums))(*[onp.stack([a, a * 0.5]) for a in x])
        agree([m[0] for m in mapped], g, 1e-11)


@examples(20)
@given(programs(longest=5))
def test_second_order(program):
    with weft.enable_x64():
        x, rng = program.numbers()
        v = [rng.normal(size=a.shape) for a in x]
        loss, nums = loss_of(program), tuple(range(len(x)))
        gradient = weft.grad(loss, nums)
        forward = weft.jvp(gradient, x, v)[1]
        back = weft.grad(
            lambda *x: sum(np.sum(a * b) for a, b in zip(gradient(*x), v, strict=True)), nums
        )(*x)
        if not stopped(program):  # then the Hessian is symmetric
            agree(back, forward, 1e-8)
            e = 1e-5
            up = gradient(*[np.asarray(a + e * b) for a, b in zip(x, v, strict=True)])
            down = gradient(*[np.asarray(a - e * b) for a, b in zip(x, v, strict=True)])
            curves = [
                (onp.asarray(a) - onp.asarray(b)) / (2 * e) for a, b in zip(up, down, strict=True)
            ]
            agree(forward, curves, 1e-4)
        agree(weft.jit(lambda *x: weft.jvp(gradient, x, tuple(v))[1])(*x), forward, 1e-9)


# --- integers: bit for bit ---

INTEGER_STEPS = [
    elementwise(
        ("negative", lambda x: -x),
        ("invert", lambda x: ~x),
        ("abs", np.abs),
        ("cube", lambda x: x * x * x),
        ("shift", lambda x: x >> 2),
        ("double", lambda x: x << 1),
        ("sign", np.sign),
        ("positive", lambda x: np.where(x > 0, x, 7)),
        ("float", lambda x: np.floor(x.astype(np.float32) * 0.5).astype(np.int32)),
        ("bool", lambda x: (x > 1).astype(np.int32)),
        ("byte", lambda x: x.astype(np.int8).astype(np.int32)),
    ),
    broadcasting(
        ("add", lambda x, y: x + y),
        ("subtract", lambda x, y: x - y),
        ("multiply", lambda x, y: x * y),
        ("floor_divide", lambda x, y: x // y),
        ("remainder", lambda x, y: x % y),
        ("and", lambda x, y: x & y),
        ("or", lambda x, y: x | y),
        ("xor", lambda x, y: x ^ y),
        ("left_shift", lambda x, y: x << (y & 31)),
        ("maximum", np.maximum),
        ("select", lambda x, y: np.where(x < y, x, y + 1)),
        ("equal", lambda x, y: (x == y) * 1),
        ("div", lambda x, y: lax.div(*np.broadcast_arrays(x, y))),
        ("rem", lambda x, y: lax.rem(*np.broadcast_arrays(x, y))),
    ),
]


def integer_reduction(draw, shapes):
    i = draw(st.integers(0, len(shapes) - 1))
    shape = shapes[i]
    if not shape:
        return None
    axis = draw(st.integers(0, len(shape) - 1))
    name = draw(
        st.sampled_from(
            ["sum", "prod", "max", "min", "cumsum", "cumprod", "sort", "argmax", "argsort"]
        )
    )
    out = (
        shape
        if name in ("cumsum", "cumprod", "sort", "argsort")
        else shape[:axis] + shape[axis + 1 :]
    )
    return Step(name, (i,), lambda x: getattr(np, name)(x, axis=axis).astype(np.int32), out)


@pytest.mark.parametrize("limit", [4, 2**31])
def test_integer_programs_bit_for_bit(limit):
    @examples(40)
    @given(programs([*INTEGER_STEPS, INTEGER_STEPS[1], integer_reduction], 8))
    def check(program):
        rng = onp.random.default_rng(program.seed)
        many = [rng.integers(-limit, limit, (3, *s)).astype(onp.int32) for s in program.shapes]
        rows = [program(*[np.asarray(a[k]) for a in many]) for k in range(3)]
        for row, k in zip(rows, range(3), strict=True):
            assert all(r.dtype == onp.int32 for r in row)
            if k == 0:
                agree(weft.jit(program)(*[a[k] for a in many]), row, 0)
        expected = [onp.stack([onp.asarray(r[i]) for r in rows]) for i in range(len(rows[0]))]
        agree(weft.vmap(program)(*many), expected, 0)
        agree(weft.jit(weft.vmap(program))(*many), expected, 0)

    check()
