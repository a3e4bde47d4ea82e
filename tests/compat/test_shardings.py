"""Shardings that programs for today's JAX state: constraints, abstract meshes, types of axes."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.compat import shardings
from weft.compat.names import names_of
from weft.compat.shardings import AbstractMesh, AxisType, Mesh
from weft.sharding import NamedSharding, PartitionSpec as P

NAMES = names_of("0.10.2")


@pytest.fixture
def mesh():
    return shardings.make_mesh((1,), ("x",), (AxisType.Explicit,))


def test_functions_take_out_sharding(mesh):
    divided = NamedSharding(mesh, P("x"))
    jnp = NAMES["jax.numpy"]
    for given in (None, divided):
        onp.testing.assert_array_equal(jnp["zeros"](4, out_sharding=given), onp.zeros(4))
        onp.testing.assert_array_equal(
            jnp["einsum"]("i,i->i", np.arange(4), np.arange(4), out_sharding=given), [0, 1, 4, 9]
        )
    assert jnp["zeros"](4, out_sharding=divided).sharding == divided
    traced = weft.make_jaxpr(lambda x: jnp["dot"](x, x, out_sharding=divided))
    assert "sharding_constraint" in str(traced(np.ones((4, 4))))


def test_every_function_of_the_list_has_the_parameter():
    for module, names in shardings.OUT_SHARDING.items():
        for name in names.split():
            owner = weft
            for part in module.split(".")[1:]:
                owner = getattr(owner, part)
            assert hasattr(owner, name) == (name in NAMES[module]), (module, name)


def test_types_of_axes_are_kept(mesh):
    assert mesh.axis_types == (AxisType.Explicit,)
    assert mesh.are_all_axes_explicit
    assert not mesh.are_all_axes_auto
    assert shardings.make_mesh((1,), ("x",)).axis_types == (AxisType.Auto,)
    with pytest.raises(ValueError, match="one type for each of the axes"):
        Mesh(weft.devices()[:1], "x", (AxisType.Auto, AxisType.Auto))


def test_an_abstract_mesh_has_sizes_and_no_devices():
    mesh = AbstractMesh((2, 3), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    assert (mesh.shape, mesh.size, mesh.axis_sizes) == ({"x": 2, "y": 3}, 6, (2, 3))
    assert mesh.shape_tuple == (("x", 2), ("y", 3))
    assert (mesh.explicit_axes, mesh.auto_axes, mesh.manual_axes) == (("x",), ("y",), ())
    assert mesh == AbstractMesh((("x", 2), ("y", 3)))
    assert mesh.update(axis_sizes=(1, 3)).size == 3
    assert mesh.update_axis_types({"y": AxisType.Manual}).manual_axes == ("y",)
    assert AbstractMesh((), ()).empty
    assert not isinstance(mesh, Mesh)
    assert isinstance(weft.make_mesh((1,), ("x",)), Mesh)


def test_the_mesh_in_scope_is_the_current_one(mesh):
    assert shardings.get_mesh().empty
    assert shardings.get_abstract_mesh().empty
    with shardings.set_mesh(mesh):
        assert shardings.get_mesh() is mesh
        assert shardings.get_abstract_mesh() == AbstractMesh((1,), ("x",))
        assert shardings.get_abstract_mesh().axis_types == (AxisType.Explicit,)
    assert shardings.get_mesh().empty


def test_a_sharding_over_an_abstract_mesh_is_one_over_the_mesh_in_scope(mesh):
    abstract = NamedSharding(mesh.abstract_mesh, P("x"))
    with shardings.set_mesh(mesh):
        assert shardings.reshard(np.ones(4), abstract).sharding == NamedSharding(mesh, P("x"))
        assert shardings.reshard(np.ones(4), P("x")).sharding == NamedSharding(mesh, P("x"))
    onp.testing.assert_array_equal(shardings.reshard(np.ones(4), abstract), onp.ones(4))


def test_axes_functions_constrain_results_and_arguments(mesh):
    divided = NamedSharding(mesh, P("x"))
    twice = shardings.auto_axes(lambda x: x * 2, out_sharding=divided)
    assert twice(np.ones(4)).sharding == divided
    same = shardings.explicit_axes(in_sharding=divided)(lambda x: x)
    assert same(np.ones(4)).sharding == divided


def test_updates_take_out_sharding(mesh):
    divided = NamedSharding(mesh, P("x"))
    x = np.arange(4.0)
    for given in (None, divided):
        assert x.at[0].set(7, out_sharding=given).tolist() == [7, 1, 2, 3]
        assert x.at[1:].divide(2, out_sharding=given).tolist() == [0, 0.5, 1, 1.5]
        assert x.at[1:3].get(out_sharding=given).tolist() == [1, 2]
    assert x.at[0].set(7, out_sharding=divided).sharding == divided


def test_thread_resources_have_the_mesh_in_scope():
    env = shardings.thread_resources.env
    assert env.physical_mesh.devices.shape == ()
    mesh = shardings.make_mesh((1,), ("x",))
    with mesh:
        assert env.physical_mesh is mesh
    assert env.physical_mesh.empty


def test_a_canonical_sharding_is_over_a_mesh_or_none(mesh):
    canonicalize = names_of("0.10.2")["jax._src.sharding_impls"]["canonicalize_sharding"]
    divided = NamedSharding(mesh, P("x"))
    assert canonicalize(divided, "map") is divided
    assert canonicalize(None, "map") is None
    assert canonicalize(weft.typeof(np.ones(2)).sharding, "map") is None
    with pytest.raises(ValueError, match=r"map: PartitionSpec.* needs a mesh"):
        canonicalize(P("x"), "map")
    with shardings.set_mesh(mesh):
        assert canonicalize(P("x"), "map").spec == P("x")
