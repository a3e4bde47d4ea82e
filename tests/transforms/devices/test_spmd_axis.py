"""vmap(spmd_axis_name=…): the mapped axis is divided over an axis of the mesh."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

pytestmark = pytest.mark.devices(8)

DEVICES = (weft.devices() * 8)[:8]  # where there are fewer, tests are skipped
MESH = (
    Mesh(np.array(DEVICES, object).reshape(2, 4), ("a", "b")) if weft.device_count() >= 8 else None
)
BY_B = P("b")
X = np.arange(32, dtype=np.float32).reshape(4, 8)


def divided(x, spec=BY_B):
    return lax.with_sharding_constraint(x * 2, NamedSharding(MESH, spec))


def division(x):
    """How many parts each axis of a result is cut into, as its pieces say."""
    return tuple(n // m for n, m in zip(x.shape, x.addressable_shards[0].data.shape, strict=True))


@pytest.mark.parametrize(
    ("name", "spec", "parts"),
    [
        ("a", P("b"), (2, 4)),
        ("b", P("a"), (4, 2)),
        (("b",), P(), (4, 1)),
        (("a", "b"), P(), (4, 1)),
    ],
)
@pytest.mark.parametrize("wrap", [weft.jit, lambda f: f], ids=["jit", "eager"])
def test_a_constraint_inside_divides_the_mapped_axis(name, spec, parts, wrap):
    f = wrap(weft.vmap(lambda x: divided(x, spec), spmd_axis_name=name))
    x = X if name != ("a", "b") else np.concatenate([X, X])
    out = f(x)
    np.testing.assert_array_equal(out, x * 2)
    assert division(out) == (parts if name != ("a", "b") else (8, 1))


def test_the_shardings_of_a_jitted_function_inside_are_batched_likewise():
    inner = weft.jit(lambda x: x + 1, out_shardings=NamedSharding(MESH, P("b")))
    out = weft.jit(weft.vmap(inner, spmd_axis_name="a"))(X)
    np.testing.assert_array_equal(out, X + 1)
    assert division(out) == (2, 4)


def test_nested_maps_divide_an_axis_each():
    f = weft.vmap(weft.vmap(lambda x: divided(x, P()), spmd_axis_name="b"), spmd_axis_name="a")
    x = np.arange(64, dtype=np.float32).reshape(2, 4, 8)
    out = weft.jit(f)(x)
    np.testing.assert_array_equal(out, x * 2)
    assert division(out) == (2, 4, 1)


def test_derivatives_and_axis_names_are_those_of_the_map_without_it():
    def loss(x):
        return wnp.sum(divided(wnp.sin(x)) - lax.pmean(x, "batch"))

    plain = weft.vmap(weft.grad(loss), axis_name="batch")
    named = weft.vmap(weft.grad(loss), axis_name="batch", spmd_axis_name="a")
    np.testing.assert_allclose(weft.jit(named)(X), plain(X), rtol=1e-6)


def test_a_shard_map_inside_runs_on_its_part_of_the_batch():
    seen = []

    def part(x):
        seen.append(x.shape)
        return x * lax.axis_index("b")

    mapped = weft.shard_map(part, mesh=MESH, in_specs=P("b"), out_specs=P("b"))
    out = weft.jit(weft.vmap(mapped, spmd_axis_name="a"))(X)
    np.testing.assert_array_equal(out, X * np.repeat(np.arange(4, dtype=np.float32), 2))
    assert seen == [(2,)]
    assert division(out) == (2, 4)


def test_a_shard_map_inside_that_communicates_over_the_axis_keeps_its_meaning():
    def part(x):
        return x + lax.psum(1.0, "a") + lax.psum(x, "b")

    mapped = weft.shard_map(part, mesh=MESH, in_specs=P("b"), out_specs=P("b"))
    plain, named = weft.vmap(mapped)(X), weft.jit(weft.vmap(mapped, spmd_axis_name="a"))(X)
    np.testing.assert_array_equal(named, plain)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("z", r"spmd_axis_name=\('z',\) .* names 'z', which Mesh\(a=2, b=4\) does not have"),
        ("b", r"spmd_axis_name=\('b',\) .* an axis of the mesh can be named once"),
        (["a"], "axis_name must be hashable"),
    ],
)
def test_a_name_that_cannot_divide_the_axis_is_refused(name, message):
    with pytest.raises((ValueError, TypeError), match=message):
        weft.vmap(divided, spmd_axis_name=name)(X)


def test_a_length_that_is_no_multiple_is_refused():
    with pytest.raises(ValueError, match="of length 3, into 2 parts: it must be a multiple"):
        weft.vmap(divided, spmd_axis_name="a")(X[:3])
