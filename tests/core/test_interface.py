"""`weft.core` by JAX's names: a program is walked through as other people's interpreters do it."""

import copy
import pickle

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import core, lax
from weft.util import safe_map

X = onp.linspace(-1, 1, 3, dtype="float32")


def inverse_of(jaxpr, consts, *args):
    """An interpreter like that of JAX's tutorial: values in an environment, rules by primitive."""
    env = {}

    def read(v):
        return v.val if type(v) is core.Literal else env[v]

    safe_map(env.__setitem__, jaxpr.constvars, consts)
    safe_map(env.__setitem__, jaxpr.invars, args)
    for eqn in jaxpr.eqns:
        invals = safe_map(read, eqn.invars)
        outvals = eqn.primitive.bind(*invals, **eqn.params)
        if not eqn.primitive.multiple_results:
            outvals = [outvals]
        safe_map(env.__setitem__, eqn.outvars, outvals)
    return safe_map(read, jaxpr.outvars)


PROGRAMS = {
    "arithmetic": lambda x: np.sin(x) * 2.0,
    "parameters": lambda x: x.reshape(3, 1).sum(0) + np.arange(1.0),
    "constants": lambda x: (x + onp.ones(3, "float32"), 1.0, x),
    "several results": lambda x: lax.split(x, (1, 2)),
    "programs inside": lambda x: weft.jit(lambda y: lax.scan(lambda c, z: (c + z, z), 0.0, y))(x),
    "cond": lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: -x, x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_read_by_an_interpreter_from_outside(name):
    f = PROGRAMS[name]
    closed = weft.make_jaxpr(f)(X)
    expected = weft.tree.leaves(f(np.asarray(X)))
    assert isinstance(closed, core.ClosedJaxpr)
    assert isinstance(closed.jaxpr, core.Jaxpr)
    for run in (
        lambda: inverse_of(closed.jaxpr, closed.consts, np.asarray(X)),
        lambda: core.eval_jaxpr(closed.jaxpr, closed.literals, X),
        lambda: weft.jit(core.jaxpr_as_fun(closed))(X),
    ):
        for x, y in zip(run(), expected, strict=True):
            onp.testing.assert_allclose(x, y, rtol=1e-6)


def test_equations_have_the_parts_that_jax_gives_them():
    closed = weft.make_jaxpr(weft.jit(lambda x: np.sum(x, 0) * 2.0))(X)
    (outer,) = closed.eqns
    inner = outer.params["jaxpr"]
    assert isinstance(inner, core.ClosedJaxpr)
    first, second = inner.jaxpr.eqns
    assert (first.primitive.name, first.params) == ("reduce_sum", {"axes": (0,)})
    assert isinstance(first.primitive, core.Primitive)
    assert isinstance(first, core.JaxprEqn)
    assert [type(v) for v in second.invars] == [core.Var, core.Literal]
    assert second.invars[1].val == 2.0
    assert second.invars[1].aval.weak_type
    assert second.outvars[0] is inner.jaxpr.outvars[0]
    assert second.source_info.operation == "mul"
    assert closed.jaxpr == closed.jaxpr
    assert hash(closed.jaxpr) == hash(closed.jaxpr)
    assert str(closed.jaxpr) == str(closed)


@pytest.mark.parametrize("transform", [weft.jit, weft.grad, weft.vmap], ids=["jit", "grad", "vmap"])
def test_values_are_tracers_while_a_function_is_traced(transform):
    seen = []

    def f(x):
        seen.append(isinstance(x, core.Tracer))
        return x * 1.0

    transform(f)(X if transform is weft.vmap else 1.0)
    assert seen == [True]
    assert not isinstance(np.ones(2), core.Tracer)


def test_avals_of_values_and_by_hand():
    for x, shape, dtype, weak in [(X, (3,), "float32", False), (1.0, (), "float32", True)]:
        for a in (core.get_aval(x), weft.typeof(x)):
            assert (a.shape, a.dtype.name, a.weak_type) == (shape, dtype, weak)
            assert isinstance(a, core.ShapedArray)
            assert core.ShapedArray(shape, dtype, weak) is a
            assert copy.deepcopy(a) is a
            assert pickle.loads(pickle.dumps(a)) is a
    assert str(weft.typeof(np.ones((2, 3), "int8"))) == "int8[2,3]"
    assert weft.jit(lambda x: np.zeros(weft.typeof(x).shape))(X).shape == (3,)
    assert core.ShapedArray([2], np.float32) is core.get_aval(onp.ones(2, "float32"))
    assert core.ShapedArray([2], np.float32, sharding=None) is core.ShapedArray([2], "float32")
    stated = core.ShapedArray([2], np.float32).sharding
    assert stated.spec == (None,)
    assert stated.mesh.empty
    assert stated.update(spec=weft.sharding.PartitionSpec()).spec == ()
    assert stated.is_fully_replicated
    assert core.ShapedArray([2], np.float32, sharding=stated) is core.ShapedArray([2], np.float32)
    lowered = weft.jit(lambda x: x + 1).lower(core.ShapedArray([2], np.float32))
    assert lowered.compile()(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="over no devices"):
        weft.device_put(np.ones(2), stated)
    with pytest.raises(TypeError, match=r"no shardings; got sharding='x'"):
        core.ShapedArray([2], np.float32, sharding="x")


@pytest.mark.parametrize("function", [core.get_aval, weft.typeof])
def test_what_is_no_array_has_no_aval(function):
    with pytest.raises(TypeError, match=r"expected an array or a scalar( for x)?; got a str"):
        function("text")


@pytest.mark.parametrize(("consts", "args", "message"), [
    ([], [X], "has 1 constants; got 0"),
    ([X], [], "has 1 arguments; got 0"),
])  # fmt: skip
def test_eval_jaxpr_counts_what_it_is_given(consts, args, message):
    closed = weft.make_jaxpr(lambda x: x + X)(X)
    with pytest.raises(TypeError, match=message):
        core.eval_jaxpr(closed.jaxpr, consts, *args)


def test_both_namespaces_have_the_same_classes():
    of_traces = {"OpaqueTraceState", "get_opaque_trace_state"}  # JAX has it in `extend` only
    assert set(weft.extend.core.__all__) == {*core.__all__, *of_traces}
    for name in core.__all__:
        assert getattr(weft.extend.core, name) is getattr(core, name)
