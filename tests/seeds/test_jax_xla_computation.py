"""JAX documentation, `xla_computation` and `make_jaxpr`: the programs that it prints.

XLA names and numbers instructions otherwise today; operations, types, operands and groups are as
printed.
"""

import re
import types

import numpy as np

import weft
import weft.numpy as jnp
from weft import lax, make_jaxpr, xla_computation


def instructions(text):
    """`(type, operation, attributes)` of each instruction of the entry, without layouts."""
    entry = re.sub(r"\{[\d,]*\}(?= )", "", text.partition("ENTRY")[2])
    return re.findall(r" = (\([^=]*?\)|\S+) ([a-z-]+)\([^)]*\)(?:, (.*))?", entry)


def test_a_program_of_two_operations():
    def f(x):
        return jnp.sin(jnp.cos(x))

    c = xla_computation(f)(3.0)
    text = c.as_hlo_text()
    assert text.startswith("HloModule xla_computation_f")
    assert [(t, op) for t, op, _ in instructions(text)] == [
        ("f32[]", "parameter"),
        ("f32[]", "cosine"),
        ("f32[]", "sine"),
        ("(f32[])", "tuple"),
    ]
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    assert xla_computation(f)(scalar).as_hlo_text() == text


def test_a_collective():
    def f(x):
        return x - lax.psum(x, "i")

    text = xla_computation(f, axis_env=[("i", 4)])(2).as_hlo_text()
    _, reduction, difference, _ = instructions(text)
    assert reduction[:2] == ("s32[]", "all-reduce")
    assert reduction[2].startswith("replica_groups={{0,1,2,3}}, to_apply=")
    assert difference[:2] == ("s32[]", "subtract")
    assert re.search(r"ROOT \S+ = s32\[\] add\(", text)


def test_replica_groups():
    def g(x):
        rowsum = lax.psum(x, "i")
        colsum = lax.psum(x, "j")
        allsum = lax.psum(x, ("i", "j"))
        return rowsum, colsum, allsum

    axis_env = [("i", 4), ("j", 2)]
    c = xla_computation(g, axis_env=axis_env)(5.0)
    rows = [rest for _, op, rest in instructions(c.as_hlo_text()) if op == "all-reduce"]
    assert [row.partition(", to_apply")[0] for row in rows] == [
        "replica_groups={{0,2,4,6},{1,3,5,7}}",
        "replica_groups={{0,1},{2,3},{4,5},{6,7}}",
        "replica_groups={{0,1,2,3,4,5,6,7}}",
    ]


def test_make_jaxpr_with_named_axes_and_shapes():
    f = lambda x, n: (lax.psum(x, "i") / lax.psum(1, "i"), lax.axis_index("i") + n)  # noqa: E731
    maker = make_jaxpr(f, static_argnums=1, axis_env=[("i", 4)], return_shape=True)
    jaxpr, (mean, index) = maker(np.ones(3, np.float32), 7)
    assert [e.primitive.name for e in jaxpr.eqns] == ["psum", "div", "axis_index", "add"]
    assert (mean.shape, mean.dtype, index.shape, index.dtype) == ((3,), np.float32, (), np.int32)
    assert mean.named_shape == {}
    assert index.named_shape == {"i": 4}
    assert isinstance(mean, weft.ShapeDtypeStruct)
