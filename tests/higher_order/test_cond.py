"""cond and switch agree with Python's choice, under every nesting of transformations."""

import functools

import numpy as np
import pytest
from tests.higher_order.nesting import ESSENTIAL, agree, nestings, str_of, total

import weft
import weft.numpy as wnp
from weft import lax
from weft.core.array import as_value
from weft.higher_order.cond import cond as cond_primitive
from weft.primitives.comparison import gt
from weft.primitives.exponential import exp
from weft.primitives.products import dot_general
from weft.primitives.selection import select_n
from weft.primitives.structural import convert_element_type, reduce_sum
from weft.primitives.trigonometric import cos, sin, tanh

f32 = np.float32
S = f32(0.7)
V = np.array([0.4, -0.9], f32)
X1 = np.array([0.5, -0.3, 0.9], f32)


def both_and_select(pred, true_fun, false_fun, *operands):
    """What cond is, by computing both."""
    pred = as_value(pred)
    return weft.tree_util.tree_map(
        lambda t, f: select_n(pred, as_value(f), as_value(t)),
        true_fun(*operands),
        false_fun(*operands),
    )


def chosen_in_python(which):
    """The one or the other function, whatever the predicate."""
    return lambda pred, t, f, *operands: (t if which else f)(*operands)


def one_sided(cond, x, y):
    """Each branch uses other operands: residuals and cotangents of different kinds."""
    return cond(True, lambda x, y: (sin(x), x * 2.0), lambda x, y: (y * exp(y), tanh(y)), x, y)


def other_side(cond, x, y):
    return cond(False, lambda x, y: (sin(x), x * 2.0), lambda x, y: (y * exp(y), tanh(y)), x, y)


def closures(cond, x, w):
    """The branches close over values that are differentiated or mapped."""
    return cond(gt(reduce_sum(x, axes=(0,)), 0.0), lambda: x * w, lambda: sin(w) * x * x)


def constant_branch(cond, x, y):
    """A branch whose derivative is zero."""
    zero = lambda x: (x * 0.0 + 1.0, as_value(f32(2.0)))  # noqa: E731
    return cond(gt(x, y), lambda x: (exp(x), x * x), zero, x)


def predicate_from_the_data(cond, x, y):
    return cond(gt(x * y, 0.3), lambda x, y: sin(x * y), lambda x, y: x - y * y, x, y)


def inner_cond(cond, x, y):
    """A cond in a cond."""

    def outer(x, y):
        return cond(gt(y, 0.0), lambda x: sin(x * y), lambda x: x * x * y, x)

    return cond(gt(x, 0.0), outer, lambda x, y: x + y, x, y)


def with_jit(cond, x, y):
    inner = weft.jit(lambda x: tanh(x * y))
    return cond(gt(x, 10.0), lambda x: x, lambda x: inner(x) * x, x)


def in_scan(cond, x, xs):
    """A cond in a scan, on the carry and on a counter."""

    def step(carry, z):
        i, c = carry
        c = cond(gt(c, 0.4), lambda c: c * z, lambda c: c + sin(z * x), c)
        c = cond(gt(i, 1), lambda c: c * 1.5, lambda c: c, c)
        return (i + 1, c), c

    return lax.scan(step, (0, x), xs)


def with_scan(cond, x, xs):
    """A scan in a cond."""
    return cond(
        gt(x, 0.0),
        lambda x, xs: lax.scan(lambda c, z: (sin(c * z), c), x, xs),
        lambda x, xs: (x, xs * x),
        x,
        xs,
    )


PROGRAMS = {
    closures: (V, S),
    constant_branch: (S, f32(0.2)),
    predicate_from_the_data: (S, f32(0.2)),
    inner_cond: (S, f32(0.4)),
    with_jit: (S, f32(0.2)),
    in_scan: (S, X1),
    with_scan: (S, X1),
}


@pytest.mark.parametrize(
    ("program", "name"), nestings(PROGRAMS, predicate_from_the_data), ids=str_of
)
def test_cond_equals_select(program, name):
    agree(
        functools.partial(program, lax.cond),
        functools.partial(program, both_and_select),
        PROGRAMS[program],
        name,
    )


@pytest.mark.parametrize("name", ESSENTIAL)
@pytest.mark.parametrize(("program", "which"), [(one_sided, True), (other_side, False)])
def test_cond_equals_the_branch(program, which, name):
    agree(
        functools.partial(program, lax.cond),
        functools.partial(program, chosen_in_python(which)),
        (S, f32(0.2)),
        name,
    )


BRANCHES = [sin, lambda x: x * x, lambda x: x * 0.0 + 1.0, lambda x: tanh(x * S)]


@pytest.mark.parametrize("name", ESSENTIAL)
@pytest.mark.parametrize("index", [0, 3])
def test_switch_equals_the_branch(index, name):
    def through_jit(x):  # so that the index isn't known when it is traced
        return weft.jit(lambda i, x: lax.switch(i, BRANCHES, x))(index, x)

    agree(through_jit, BRANCHES[index], (X1,), name)


@pytest.mark.parametrize("name", ["f", "jit", "grad", "jvp", "vmap", "grad vmap", "vmap grad"])
def test_switch_with_a_mapped_index(name):
    def f(x):
        return lax.switch(convert_element_type(x * 4.0, dtype=np.dtype(np.int32)), BRANCHES, x)

    def written_out(x):
        index = convert_element_type(x * 4.0, dtype=np.dtype(np.int32))
        return select_n(index, *[b(x) for b in BRANCHES])

    agree(f, written_out, (S,), name)


def test_index_out_of_range_is_the_nearest():
    branches = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 3]
    for index, expected in [(-5, 1), (0, 1), (1, 2), (2, 3), (3, 3), (2**31 - 1, 3)]:
        assert int(lax.switch(index, branches, 0)) == expected
        assert int(weft.jit(lambda i: lax.switch(i, branches, 0))(index)) == expected
    assert int(lax.switch(np.uint8(200), branches, 0)) == 3
    many = [lambda x, i=i: x + i for i in range(300)]
    assert int(lax.switch(np.uint8(255), many, 0)) == 255
    got = weft.vmap(lambda i: lax.switch(i, branches, 0))(np.array([-9, 1, 9]))
    np.testing.assert_array_equal(got, [1, 2, 3])


def test_one_branch_runs():
    seen = []

    def noting(name):
        def branch(x):
            weft.debug.callback(lambda: seen.append(name))
            return x

        return branch

    f = weft.jit(lambda p, x: lax.cond(p, noting("true"), noting("false"), x))
    f(True, 1.0).block_until_ready()
    f(False, 1.0).block_until_ready()
    assert seen == ["true", "false"]


def conds(jaxpr):
    return [e for e in jaxpr.equations if e.primitive is cond_primitive]


def test_residuals_of_branches_share_their_places():
    def f(p, x):
        return total(lax.cond(p, lambda x: sin(sin(x)), lambda x: tanh(exp(x)), x))

    jaxpr = weft.make_jaxpr(weft.grad(f, argnums=1))(True, X1)
    forward, _ = conds(jaxpr.jaxpr)
    # two cosines in the one, two factors in the other
    assert [v.aval.shape for v in forward.outvars] == [(3,)] * 3


def test_an_operand_is_not_a_residual_again():
    def f(p, w, x):
        return total(lax.cond(p, lambda w, x: w * x, lambda w, x: x, w, x))

    jaxpr = weft.make_jaxpr(weft.grad(f, argnums=(1, 2)))(True, X1, X1)
    forward, _ = conds(jaxpr.jaxpr)
    assert len(forward.outvars) == 1


def test_unmapped_predicate_stays_a_choice_under_vmap():
    f = lambda p, x: lax.cond(p, sin, cos, x)  # noqa: E731
    jaxpr = weft.make_jaxpr(weft.vmap(f, (None, 0)))(True, X1)
    assert len(conds(jaxpr.jaxpr)) == 1
    jaxpr = weft.make_jaxpr(weft.vmap(f))(np.array([True, False, True]), X1)
    assert not conds(jaxpr.jaxpr)


def test_output_that_is_the_same_for_all_stays_so_under_vmap():
    def f(p, x):
        i, y = lax.cond(p, lambda x: (1, x), lambda x: (2, -x), x)
        return lax.fori_loop(0, i, lambda _, c: c * 2.0, y)

    np.testing.assert_array_equal(weft.vmap(f, (None, 0))(True, X1), X1 * 2)
    np.testing.assert_array_equal(weft.vmap(f, (None, 0))(False, X1), X1 * -4)


def test_the_branch_not_taken_does_not_poison_the_gradient():
    def f(x):
        return lax.cond(gt(x, 0.0), lambda x: exp(x) / x, lambda x: x, x)

    assert float(weft.grad(f)(0.0)) == 1.0
    assert float(weft.jit(weft.grad(f))(0.0)) == 1.0


def test_a_mapped_branch_not_taken_does_not_poison_the_gradient_either():
    def f(x, scale):
        return lax.cond(x > 1, lambda x: scale * weft.numpy.sqrt(x - 1), lambda x: 3 * x * scale, x)

    def total(x, scale):
        return weft.vmap(f, (0, None))(x, scale).sum()

    x = np.float32([1.0, 2.0, 0.5, 5.0])
    for way in (lambda f: f, weft.jit):
        slopes, in_scale = way(weft.grad(way(total), (0, 1)))(x, 2.0)
        np.testing.assert_allclose(slopes, [6, 1, 6, 0.5], rtol=1e-6)
        np.testing.assert_allclose(in_scale, 3 + 1 + 1.5 + 2, rtol=1e-6)

    def pairs(x):  # the operand of one map is a constant of the other
        less = lambda a, b: lax.cond(a > b, lambda: weft.numpy.log(a - b), lambda: a)  # noqa: E731
        return weft.vmap(lambda a: weft.vmap(lambda b: less(a, b))(x))(x).sum()

    y = x[:2]  # log(2 - 1) and 1 + 1 + 2
    np.testing.assert_allclose(weft.grad(pairs)(y), [2 - 1, 1 + 1], rtol=1e-6)


def test_branches_of_matrices():
    w = np.arange(6, dtype=f32).reshape(2, 3)

    def f(p, w, x):
        return lax.cond(
            p,
            lambda: dot_general(w, x, dims=(((1,), (0,)), ((), ()))),
            lambda: dot_general(w * w, x, dims=(((1,), (0,)), ((), ()))),
        )

    for p in (True, False):
        g = weft.jit(weft.grad(lambda *a: total(f(*a)), argnums=(1, 2)))(p, w, X1)
        scale = np.ones_like(w) if p else 2 * w
        np.testing.assert_allclose(g[0], scale * X1, rtol=1e-6)
        np.testing.assert_allclose(g[1], (w if p else w * w).sum(0), rtol=1e-6)


def test_two_branches_that_are_one_program_with_constants():
    table = np.array([1, 2, 3], f32)

    def f(x):
        return x + as_value(table)

    for choose in (lax.cond, weft.jit(lax.cond, static_argnums=(1, 2))):
        np.testing.assert_array_equal(choose(True, f, f, table), 2 * table)


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["now", "jit"])
@pytest.mark.parametrize("choice", [True, False])
def test_a_result_has_a_weak_type_if_those_of_all_branches_have(choice, wrap):
    strong, weak, wide = np.float32(1), 1.0, wnp.ones(3, "bfloat16")
    for branches in ((lambda x: 2.0, lambda x: x), (lambda x: x, lambda x: 2.0)):
        f = wrap(lambda x: lax.cond(choice, *branches, x))  # noqa: B023
        assert (f(strong) + wide).dtype == "float32"
        assert (f(weak) + wide).dtype == "bfloat16"
