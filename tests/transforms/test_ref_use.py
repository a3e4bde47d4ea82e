"""Functions that use refs: the same results as the same programs written with values."""

import gc
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax

X = onp.array([0.5, -1.25, 2.0], onp.float32)


# --- cases: a program with refs, and the same program without ---


def assigned(x):
    ref = weft.new_ref(np.zeros(3))
    ref[...] = np.sin(x)
    ref[1] = 2.0 * x[0]
    return ref[...] * x


def assigned_values(x):
    return np.sin(x).at[1].set(2.0 * x[0]) * x


def accumulated(x):
    ref = weft.new_ref(x)
    ref[1:] += ref[:2] * x[2]
    ref[...] *= 3.0
    old = weft.ref.swap(ref, 0, x[1])
    ref.addupdate(old, np.array([1, 1]))
    return weft.freeze(ref)


def accumulated_values(x):
    y = x.at[1:].set(x[1:] + x[:2] * x[2]) * 3.0
    return y.at[0].set(x[1]).at[np.array([1, 1])].add(y[0])


def two_refs(x):
    a, b = weft.new_ref(x), weft.new_ref(2.0 * x)
    a[...], b[...] = b[...] * x, a[...]
    return a[...] - np.cos(b[...])


def two_refs_values(x):
    return 2.0 * x * x - np.cos(x)


def scanned(x):
    total, last = weft.new_ref(np.float32(0.0)), weft.new_ref(x)

    def body(carry, y):
        total[...] += carry * y
        last[0] = total[...]
        return carry * 1.5, last[0]

    carry, ys = lax.scan(body, x[0], x)
    return carry * ys + last[...] + total[...]


def scanned_values(x):
    def body(state, y):
        carry, total, last = state
        total = total + carry * y
        last = last.at[0].set(total)
        return (carry * 1.5, total, last), last[0]

    (carry, total, last), ys = lax.scan(body, (x[0], np.float32(0.0), x), x)
    return carry * ys + last + total


def counted(x):
    ref = weft.new_ref(x)

    def body(i, y):
        ref[i % 3] += y[0] * 0.5
        return y + ref[1]

    return lax.fori_loop(0, 4, body, x) * ref[...]


def counted_values(x):
    def body(i, state):
        y, ref = state
        ref = ref.at[i % 3].add(y[0] * 0.5)
        return y + ref[1], ref

    y, ref = lax.fori_loop(0, 4, body, (x, x))
    return y * ref


def branched(x):
    a, b = weft.new_ref(x), weft.new_ref(x + 1.0)

    def yes(y):
        a[0] = y[1] * b[2]
        return y

    def no(y):
        b[...] += a[...]
        return y * 2.0

    y = lax.cond(x[0] > 0, yes, no, x)
    lax.switch(1, [lambda: None, lambda: a.set(3.0 * a[...]), lambda: b.set(0.0)])
    return y + a[...] * b[...]


def branched_values(x):
    a, b = x, x + 1.0
    y, a, b = lax.cond(
        x[0] > 0,
        lambda y: (y, a.at[0].set(y[1] * b[2]), b),
        lambda y: (y * 2.0, a, b + a),
        x,
    )
    return y + 3.0 * a * b


def jitted_inside(x):
    ref = weft.new_ref(x)

    @weft.jit
    def step(r, y):
        r[...] += y * ref_2[...]
        return r[0] * y

    ref_2 = weft.new_ref(2.0 * x)
    y = step(ref, x)
    ref_2[1] = y[1]
    return step(ref, y) + ref[...]


def jitted_inside_values(x):
    @weft.jit
    def step(r, s, y):
        r = r + y * s
        return r, r[0] * y

    r, y = step(x, 2.0 * x, x)
    r, y = step(r, (2.0 * x).at[1].set(y[1]), y)
    return y + r


def mapped_inside(x):
    out = weft.new_ref(np.zeros((3, 3)))
    weft.vmap(lambda y, r: r.set(y * x), in_axes=(0, 1))(x, out)
    return out[...] @ x


def mapped_inside_values(x):
    return (x[:, None] * x[None, :]).T @ x


def looped(x):
    ref, n = weft.new_ref(x), weft.new_ref(0)

    def body(y):
        ref[...] += y
        n[...] += 1
        return y * 0.5

    y = lax.while_loop(lambda y: n[...] < 3, body, x)
    return y + ref[...]


def looped_values(x):
    def body(state):
        y, ref, n = state
        return y * 0.5, ref + y, n + 1

    y, ref, _ = lax.while_loop(lambda state: state[2] < 3, body, (x, x, 0))
    return y + ref


CASES = {
    f.__name__: (f, g)
    for f, g in (
        (assigned, assigned_values),
        (accumulated, accumulated_values),
        (two_refs, two_refs_values),
        (scanned, scanned_values),
        (counted, counted_values),
        (branched, branched_values),
        (jitted_inside, jitted_inside_values),
        (mapped_inside, mapped_inside_values),
        (looped, looped_values),
    )
}
FORWARD_ONLY = ("looped",)


def summed(f):
    return lambda x: (f(x) * np.arange(1.0, 4.0)).sum()


def scanned_over(f):
    return lambda x: lax.scan(lambda c, t: (f(c * t), c), x, np.arange(0.5, 2.0))


LAWS = {
    "un-jitted": lambda f: f,
    "jit": weft.jit,
    "jvp": lambda f: lambda x: weft.jvp(f, (x,), (x[::-1],)),
    "jit of jvp": lambda f: weft.jit(lambda x: weft.jvp(f, (x,), (x[::-1],))),
    "vmap": lambda f: lambda x: weft.vmap(f)(np.stack([x, x[::-1], 2 * x])),
    "jit of vmap": lambda f: weft.jit(lambda x: weft.vmap(f)(np.stack([x, x[::-1], 2 * x]))),
    "scan": scanned_over,
    "cond": lambda f: lambda x: lax.cond(x[2] > 0, f, lambda x: x, x),
    "vmap of cond": lambda f: lambda x: weft.vmap(lambda p: lax.cond(p > 0, f, lambda x: x, x))(x),
    "grad": lambda f: weft.grad(summed(f)),
    "jit of grad": lambda f: weft.jit(weft.grad(summed(f))),
    "grad of jit": lambda f: weft.grad(summed(weft.jit(f))),
    "grad of scan": lambda f: weft.grad(summed(lambda x: scanned_over(f)(x)[0])),
    "grad of checkpoint": lambda f: weft.grad(summed(weft.checkpoint(f))),
    "vmap of grad": lambda f: lambda x: weft.vmap(weft.grad(summed(f)))(np.stack([x, -x])),
    "hessian": lambda f: weft.hessian(summed(f)),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", CASES)
def test_equals_the_program_without_refs(case, law):
    if case in FORWARD_ONLY and ("grad" in law or law == "hessian"):
        pytest.skip("reverse mode needs a known number of steps")
    results = [LAWS[law](f)(np.array(X)) for f in CASES[case]]
    for x, y in zip(*map(weft.tree.leaves, results), strict=True):
        onp.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_call_has_the_same_bits_each_time(case):
    f = CASES[case][0]
    jitted = weft.jit(f)
    for call in (f, jitted, weft.grad(summed(f)) if case not in FORWARD_ONLY else f):
        first, second = call(np.array(X)), call(np.array(X))
        assert first.tobytes() == second.tobytes()


@pytest.mark.usefixtures("what_was_there_uncounted")
@pytest.mark.parametrize("case", CASES)
def test_no_traced_value_is_kept(case):
    f, values = CASES[case]
    with weft.checking_leaks():
        onp.testing.assert_allclose(weft.jit(f)(X), values(np.array(X)), rtol=2e-5)


# --- refs from outside ---


def test_jit_writes_to_refs_that_it_closes_over_and_to_arguments():
    count, table = weft.new_ref(0), weft.new_ref(np.zeros(3))
    traced = []

    @weft.jit
    def f(table, i, x):
        traced.append(1)
        count[...] += 1
        old = table[i]
        table[i] = x
        return old

    assert [float(f(table, i, x)) for i, x in ((0, 1.0), (2, 5.0), (0, 7.0))] == [0, 0, 1]
    assert table[...].tolist() == [7, 0, 5]
    assert int(count[...]) == 3
    assert len(traced) == 1
    count[...] = 10  # the value is no part of the program
    f(table, 1, 0.0)
    assert int(count[...]) == 11
    assert len(traced) == 1


def test_another_ref_is_another_call_of_the_same_program():
    traced = []

    @weft.jit
    def double(ref):
        traced.append(1)
        ref[...] *= 2.0

    refs = [weft.new_ref(np.full(2, value)) for value in (1.0, 5.0)]
    for ref in refs:
        double(ref)
    assert [ref[...].tolist() for ref in refs] == [[2, 2], [10, 10]]
    assert len(traced) == 1


def test_a_ref_and_an_array_have_different_programs():
    f = weft.jit(lambda x: x[...] + 1)
    assert int(f(weft.new_ref(1))) == 2
    assert int(f(np.array(5))) == 6


def test_the_cache_of_jit_keeps_no_ref_alive():
    held = {"ref": weft.new_ref(np.zeros(3))}

    @weft.jit
    def f():
        held["ref"][...] += 1.0

    f()
    gone = weakref.ref(held["ref"])
    held["ref"] = weft.new_ref(np.full(3, 5.0))
    gc.collect()
    assert gone() is None
    f()  # it was traced for a ref that is gone
    assert held["ref"][...].tolist() == [6, 6, 6]


def test_a_ref_from_outside_in_loops_and_branches():
    total, seen = weft.new_ref(0.0), weft.new_ref(np.zeros(4))

    def body(carry, x):
        total[...] += x
        lax.cond(x > 1, lambda: seen.set(total[...], carry), lambda: None)
        return carry + 1, total[...]

    def run():
        return lax.scan(body, 0, np.arange(4.0))

    for f in (run, weft.jit(run)):
        total[...], seen[...] = 0.0, np.zeros(4)
        _, ys = f()
        assert ys.tolist() == [0, 1, 3, 6]
        assert float(total[...]) == 6
        assert seen[...].tolist() == [0, 0, 3, 6]


def test_vmap_of_a_ref_argument():
    out = weft.new_ref(np.zeros((2, 3)))
    bias = weft.new_ref(10.0)

    def f(x, row, bias):
        row[...] = x * np.ones(2) + bias[...]
        return x

    weft.vmap(f, in_axes=(0, 1, None))(np.arange(3.0), out, bias)
    assert out[...].tolist() == [[10, 11, 12], [10, 11, 12]]
    weft.jit(weft.vmap(f, in_axes=(0, 1, None)))(np.arange(3.0) + 1, out, bias)
    assert out[...].tolist() == [[11, 12, 13], [11, 12, 13]]
    weft.vmap(weft.jit(f), in_axes=(0, 1, None))(np.arange(3.0), out, bias)
    assert out[...].tolist() == [[10, 11, 12], [10, 11, 12]]


def test_a_donated_ref_keeps_its_array():
    x = np.ones(2)
    ref = weft.new_ref(x)
    weft.jit(lambda ref: ref.set(ref[...] + 1), donate_argnums=0)(ref)
    assert x.tolist() == [1, 1]
    assert ref[...].tolist() == [2, 2]


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=("un-jitted", "jitted"))
def test_a_differentiated_function_reports_values(wrap):
    seen = weft.new_ref(0.0)

    def loss(x, seen):
        y = x * x
        seen[...] += lax.stop_gradient(y)
        return y * x

    for gradient in (weft.grad(wrap(loss)), wrap(weft.grad(loss))):
        seen[...] = 1.0
        assert float(gradient(2.0, seen)) == 12
        assert float(seen[...]) == 5


def test_the_gradient_with_respect_to_the_value_of_a_ref_from_outside_is_not_taken():
    ref = weft.new_ref(3.0)
    assert float(weft.grad(lambda x: x * ref[...])(2.0)) == 3


@weft.custom_vjp
def stash(ref, x):
    """x; the cotangent that comes back is written to the ref."""
    return x


def stash_bwd(ref, ct):
    ref[...] = ct
    return None, ct


stash.defvjp(lambda ref, x: (x, ref), stash_bwd)


def sine_of_stashed(x, ref):
    return np.sin(stash(ref, x)) * 2.0


def test_the_backward_rule_of_custom_vjp_writes_to_a_ref_argument():
    ref = weft.new_ref(0.0)
    assert float(weft.jit(sine_of_stashed)(1.0, ref)) == pytest.approx(2 * onp.sin(1.0))
    assert float(ref[...]) == 0
    for gradient in (weft.grad(sine_of_stashed), weft.jit(weft.grad(sine_of_stashed))):
        ref[...] = 0.0
        assert float(gradient(1.0, ref)) == pytest.approx(2 * onp.cos(1.0))
        assert float(ref[...]) == pytest.approx(2 * onp.cos(1.0))
    _, pullback = weft.vjp(lambda x: sine_of_stashed(x, ref), 1.0)
    pullback(10.0)
    assert float(ref[...]) == pytest.approx(20 * onp.cos(1.0))
    refs = weft.new_ref(np.zeros(3))
    weft.vmap(weft.grad(sine_of_stashed))(X, refs)
    onp.testing.assert_allclose(refs[...], 2 * onp.cos(X), rtol=1e-6)


def test_prints_and_writes_keep_their_order(capfd):
    ref = weft.new_ref(0)

    @weft.jit
    def f():
        for _ in range(3):
            ref[...] += 1
            weft.debug.print("{}", ref[...], ordered=True)

    f()
    weft.effects_barrier()
    assert capfd.readouterr().out.split() == ["1", "2", "3"]


def test_make_jaxpr_shows_values_before_and_after():
    ref = weft.new_ref(np.zeros(2))

    def f(x):
        ref[...] += x
        return x * 2

    jaxpr = weft.make_jaxpr(f)(1.0)
    assert [str(a) for a in jaxpr.in_avals] == ["float32[]", "float32[2]"]
    assert [str(a) for a in jaxpr.out_avals] == ["float32[]", "float32[2]"]
    assert weft.eval_shape(f, 1.0).shape == ()
    assert ref[...].tolist() == [0, 0]


def test_a_jitted_function_of_refs_can_be_lowered_but_not_called_as_a_program():
    ref = weft.new_ref(np.zeros(2))
    lowered = weft.jit(lambda r, x: r.set(r[...] + x)).lower(ref, 1.0)
    assert "stablehlo.add" in lowered.as_text()
    with pytest.raises(TypeError, match="reads or writes refs"):
        lowered.compile()(ref, 1.0)


# --- refusals ---


def closed_over_and_passed():
    ref = weft.new_ref(0.0)
    weft.jit(lambda r: r.set(ref[...]))(ref)


def closed_over_and_passed_later():
    ref = weft.new_ref(0.0)
    f = weft.jit(lambda r: r.set(ref[...]))
    f(weft.new_ref(1.0))
    f(ref)


def passed_twice():
    ref = weft.new_ref(0.0)
    weft.jit(lambda r, s: None)(ref, ref)


def returned():
    weft.jit(lambda x: weft.new_ref(x))(1.0)


def returned_from_scan():
    lax.scan(lambda c, x: (c, weft.new_ref(x)), 0, np.arange(2))


def frozen_argument():
    weft.jit(lambda r: weft.freeze(r))(weft.new_ref(0.0))


def frozen_outside():
    ref = weft.new_ref(0.0)
    weft.jit(lambda: weft.freeze(ref))()


def leaked():
    kept = []
    weft.jit(lambda x: kept.append(weft.new_ref(x)))(1.0)
    kept[0][...]


def mapped_value():
    ref = weft.new_ref(0.0)
    weft.vmap(lambda x: ref.set(x))(np.arange(2.0))


def differentiated_value():
    ref = weft.new_ref(0.0)

    def f(x):
        ref[...] = x
        return x

    weft.grad(f)(1.0)


def checkpointed():
    ref = weft.new_ref(0.0)
    weft.checkpoint(lambda x: x * ref[...])(1.0)


def condition_writes():
    ref = weft.new_ref(0)

    def condition(x):
        ref[...] += 1
        return x < 3

    lax.while_loop(condition, lambda x: x + 1, 0)


def in_pmap():
    weft.pmap(lambda r: r)(weft.new_ref(np.zeros((1, 2))))


def in_a_carry():
    lax.scan(lambda c, x: (c, None), weft.new_ref(0.0), np.arange(2))


def differentiated_ref():
    weft.grad(lambda r: r[...])(weft.new_ref(1.0))


def stashed_by_a_jitted_function():
    ref = weft.new_ref(0.0)
    weft.grad(weft.jit(sine_of_stashed))(1.0, ref)


def stashed_by_a_jitted_closure():
    ref = weft.new_ref(0.0)
    weft.grad(weft.jit(lambda x: sine_of_stashed(x, ref)))(1.0)


REFUSED = {
    stashed_by_a_jitted_function: r"jit\(grad\(f\)\)",
    stashed_by_a_jitted_closure: r"jit\(grad\(f\)\)",
    closed_over_and_passed: "uses it from outside too",
    closed_over_and_passed_later: "uses it from outside too",
    passed_twice: "r and s of .* are the same Ref",
    returned: "return ref",
    returned_from_scan: "got a Ref",
    frozen_argument: "only by the function that made it",
    frozen_outside: "only by the function that made it",
    leaked: "used outside of that trace",
    mapped_value: "in_axes=0",
    differentiated_value: "stop_gradient",
    checkpointed: "which checkpoint traces",
    condition_writes: "condition .* must not write",
    in_pmap: "got a Ref",
    in_a_carry: "close over it",
    differentiated_ref: "got a Ref",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_is_refused(program):
    with pytest.raises((TypeError, ValueError), match=REFUSED[program]) as caught:
        program()
    assert "fix:" in str(caught.value)
