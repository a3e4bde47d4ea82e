"""Results that nothing wants, of primitives with programs inside: they, and what only they need,
are in no compiled program, in no derivative, and among no residuals."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.compiler.simplify import has_effects, without_dead_code
from weft.core.checking import check_jaxpr
from weft.core.jaxpr import subjaxprs
from weft.programs.transform import linearize_jaxpr
from weft.sharding import Mesh, PartitionSpec

X = onp.array([0.4, -0.9, 1.3], onp.float32)


def step(a, b, d):
    """What is alive is made of sines; cosines and exponentials are for what nothing wants."""
    return np.sin(a), np.cos(b) * a, d + np.exp(b)


def idle(a, b, d):
    return 2 * a, b, np.exp(d)


def branch(t, abd):
    return lax.cond(t > 1, step, idle, *abd)


def by_call(x):
    return weft.jit(step)(x, np.exp(x), x)[0]


def by_cond(x):
    return branch(2, (x, np.exp(x), x))[0]


def by_switch(x):
    return lax.switch(1, [idle, step, idle], x, np.exp(x), x)[0]


def by_platform(x):
    return lax.platform_dependent(x, np.exp(x), x, cpu=step, default=idle)[0]


def by_checkpoint(x):
    return weft.checkpoint(step)(x, np.exp(x), x)[0]


def by_scan(x):
    body = lambda c, t: ((c := branch(t, c)), (c[0] + 1, c[1]))  # noqa: E731
    (a, _, _), (ys, _) = lax.scan(body, (x, x, x), np.arange(4))
    return a + ys.sum(0)


def by_scan_of_slices(x):
    body = lambda c, xs: (np.sin(c) + xs[0], np.exp(xs[1]))  # noqa: E731
    return lax.scan(body, x, (np.stack([x, x]), np.exp(np.stack([x, x]))))[0]


def by_fori_loop(x):
    return lax.fori_loop(0, 4, branch, (x, x, x))[0]


def by_while_loop(x):
    body = lambda c: (c[0] + 1, branch(c[0], c[1]))  # noqa: E731
    return lax.while_loop(lambda c: c[0] < 4, body, (0, (x, x, np.exp(x))))[1][0]


def by_loop_of_calls(x):
    inner = weft.jit(lambda t, c: branch(t, c))
    return lax.fori_loop(0, 4, lambda t, c: inner(t, c), (x, x, x))[0]


def by_shard_map(x):
    spec = PartitionSpec()
    mesh = Mesh(onp.array(weft.devices()[:1]), ("i",))
    mapped = weft.shard_map(
        lambda *abd: step(*abd), mesh=mesh, in_specs=(spec,) * 3, out_specs=(spec,) * 3
    )
    return mapped(x, np.exp(x), x)[0]


def after_four(x):
    return onp.sin(onp.sin(4 * x))


PROGRAMS = {
    by_call: onp.sin, by_cond: onp.sin, by_switch: onp.sin, by_platform: onp.sin,
    by_checkpoint: onp.sin, by_shard_map: onp.sin,
    by_scan: lambda x: (
        2 * x + 4 * x + onp.sin(4 * x) + 2 * after_four(x) + 4
    ),
    by_scan_of_slices: lambda x: onp.sin(onp.sin(x) + x) + x,
    by_fori_loop: after_four, by_while_loop: after_four, by_loop_of_calls: after_four,
}  # fmt: skip
ONLY_FORWARD = {by_while_loop}  # the number of its steps isn't known
DEAD = {"cos", "exp"}  # in the programs; their derivatives have cosines


def operations(jaxpr):
    """The names of all operations, inside too."""
    found = []
    for e in jaxpr.equations:
        found.append(e.primitive.name)
        for inner in subjaxprs(e.params):
            found += operations(inner)
    return found


def lean_program(function):
    """The program of a function without dead code; that of a jitted one is inside a call."""
    jaxpr = weft.make_jaxpr(function)(X)
    if [e.primitive.name for e in jaxpr.equations] == ["call"]:
        jaxpr = dict(jaxpr.equations[0].params)["jaxpr"]
    lean, _ = without_dead_code(jaxpr)
    check_jaxpr(lean, "dead code elimination")
    return lean


def slope(function, x, h=1e-6):
    return (function(x.astype(float) + h) - function(x.astype(float) - h)) / (2 * h)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_nothing_wants_is_not_compiled(program):
    assert DEAD & {*operations(weft.make_jaxpr(program)(X))}
    assert not DEAD & {*operations(lean_program(program))}
    text = weft.jit(program).lower(X).as_text()
    assert "stablehlo.cosine" not in text
    assert "stablehlo.exponential" not in text


@pytest.mark.parametrize("form", [lambda f: f, weft.jit, weft.vmap], ids=["eager", "jit", "vmap"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_the_same(program, form):
    expected = PROGRAMS[program](X.astype(float))
    onp.testing.assert_allclose(form(program)(X), expected, rtol=1e-5, atol=1e-5)


GRADIENTS = {
    "grad": lambda f: weft.grad(lambda x: f(x).sum()),
    "jit of grad": lambda f: weft.jit(weft.grad(lambda x: f(x).sum())),
    "grad of jit": lambda f: weft.grad(weft.jit(lambda x: f(x).sum())),
    "jvp": lambda f: weft.jit(lambda x: weft.jvp(f, (x,), (np.ones_like(x),))[1]),
}


@pytest.mark.parametrize(
    ("program", "form"),
    [(p, f) for p in PROGRAMS for f in GRADIENTS if f == "jvp" or p not in ONLY_FORWARD],
)
def test_derivatives_are_the_same_and_of_the_rest_alone(program, form):
    derivative = GRADIENTS[form](program)
    expected = slope(PROGRAMS[program], X)
    onp.testing.assert_allclose(derivative(X), expected, rtol=2e-4, atol=2e-4)
    assert "exp" not in operations(lean_program(derivative))


RESIDUALS = {  # of the live part: cosines of what the sines are of, a counter, indices of branches
    by_call: 1, by_cond: 1, by_switch: 1, by_platform: 1, by_scan_of_slices: 1, by_shard_map: 1,
    by_scan: 2, by_fori_loop: 2, by_loop_of_calls: 2,
}  # fmt: skip


@pytest.mark.parametrize("program", RESIDUALS)
def test_no_residual_is_kept_for_what_nothing_wants(program):
    jaxpr = weft.make_jaxpr(program)(X).without_consts()
    mask = tuple(a.shape == X.shape and a.inexact for a in jaxpr.in_avals)
    forward, linear, _ = linearize_jaxpr(jaxpr, mask)
    kept = [v.aval for v in forward.outvars[1:] if v.aval.inexact or v.aval.ndim]
    assert len(kept) <= RESIDUALS[program], kept
    assert len(forward.outvars) - 1 == len(linear.invars) - 1
    assert "exp" not in operations(without_dead_code(forward)[0])


def test_a_dead_result_with_effects_inside_stays(capsys):
    seen = []

    def body(c, t):
        a, b = c
        weft.debug.callback(lambda b: seen.append(float(b)), b)
        return (np.sin(a), b + 1), np.exp(a)

    f = weft.jit(lambda x: lax.scan(body, (x, 0.0), None, length=3)[0][0])
    f(X).block_until_ready()
    weft.effects_barrier()
    assert seen == [0.0, 1.0, 2.0]
    lean = lean_program(f)
    assert any(map(has_effects, lean.equations))
    assert "exp" not in operations(lean)


def test_a_branch_with_effects_alone_stays():
    seen = []

    def noted(x):
        weft.debug.callback(lambda x: seen.append(float(x)), x)
        return np.exp(x)

    f = weft.jit(lambda p, x: (lax.cond(p, noted, np.cos, x), np.sin(x))[1])
    assert float(f(True, 2.0)) == pytest.approx(onp.sin(2))
    f(False, 3.0).block_until_ready()
    weft.effects_barrier()
    assert seen == [2.0]


def test_a_carry_that_the_condition_needs_stays():
    def f(x):
        body = lambda c: (c[0] * 2, c[1] + 1, np.exp(c[2]))  # noqa: E731
        return lax.while_loop(lambda c: c[1] < 5, body, (x, 0, x))[0]

    lean, _ = without_dead_code(weft.make_jaxpr(f)(X))
    (loop,) = [e for e in lean.equations if e.primitive.name == "while_loop"]
    assert len(loop.outvars) == 2
    onp.testing.assert_allclose(weft.jit(f)(X), 32 * X, rtol=1e-6)


def test_a_carry_that_comes_to_an_output_steps_later_stays():
    # d goes to c in one step, c to b, b to a
    body = lambda c, _: ((c[1], c[2], c[3], np.sin(c[3]), np.exp(c[4])), None)  # noqa: E731
    f = lambda x: lax.scan(body, (x, 2 * x, 3 * x, 4 * x, x), None, length=4)[0][0]  # noqa: E731
    (scan,) = without_dead_code(weft.make_jaxpr(f)(X))[0].equations[-1:]
    assert len(scan.outvars) == 4
    onp.testing.assert_allclose(weft.jit(f)(X), onp.sin(4 * X), rtol=1e-6)


def test_nothing_is_made_anew_where_all_is_wanted():
    f = lambda x: branch(2, (x, x, x))  # noqa: E731
    jaxpr = weft.make_jaxpr(lambda x: weft.jit(f)(x))(X)
    lean, _ = without_dead_code(jaxpr)
    assert lean.equations[-1] is jaxpr.equations[-1]


def test_equal_calls_stay_one_function_where_first_order_operations_are_dead():
    inner = weft.jit(lambda x: (np.sin(x) * x + x, np.exp(x)))

    def f(x):
        x, y = inner(x)
        return inner(x + y)[0]

    assert weft.jit(f).lower(X).as_text().count("stablehlo.sine") == 1


def test_values_looked_at_one_after_the_other():
    """Results of one operation that Python asks for singly, in a checkpoint that is traced with
    values."""

    @weft.checkpoint(concrete=True)
    def f(x):
        a, b = lax.cond(x > 0, lambda x: (np.sin(x), np.cos(x)), lambda x: (x, x), x)
        if a > 0 and b > 0:
            return a * b
        return a

    assert float(weft.grad(f)(0.5)) == pytest.approx(onp.cos(1.0), rel=1e-5)
