"""A function of trees as one of leaves: what comes in, what stays fixed, what comes out."""

import functools
import gc
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.core.caching import exact
from weft.sharding import PartitionSpec as P
from weft.transforms.arguments import FlatFunction


def affine(params, x, mode, *, scale, shift=0.0):
    assert mode in ("up", "down")
    sign = 1 if mode == "up" else -1
    return {"y": sign * params["w"] * x + params["b"], "z": (scale, shift)}


def flattened(**options):
    params = {"w": np.array([1.0, 2.0]), "b": 3.0}
    keywords = {"shift": 5.0, "scale": 4.0}
    return FlatFunction("test", affine, (params, 2, "up"), keywords, static=(2,), **options)


def test_the_leaves_are_those_of_the_traced_arguments_in_order():
    flat = flattened()
    assert flat.paths() == ["params['b']", "params['w']", "x", "scale", "shift"]
    assert [onp.asarray(v).tolist() for v in flat.values] == [3.0, [1.0, 2.0], 2, 4.0, 5.0]
    assert [str(a) for a in flat.avals][1:3] == ["float32[2]", "int32[]"]


def test_called_with_leaves_it_returns_the_leaves_of_the_result_and_knows_its_tree():
    flat = flattened()
    outs = flat(10.0, np.array([1.0, 1.0]), 1.0, 7.0, 8.0)
    result = flat.unflatten(outs)
    assert result["y"].tolist() == [11.0, 11.0]
    assert [float(z) for z in result["z"]] == [7.0, 8.0]


@pytest.mark.parametrize("static", [(0,), (1,), (2,), (-1,), (2, 9), (2, 0), (0, 1, 2)])
def test_static_arguments_are_put_back_into_their_positions(static):
    seen = []

    def f(*args):
        seen.append(args)
        return ()

    fixed = {n % 3 for n in static if n < 3}
    flat = FlatFunction("test", f, ["fixed" if i in fixed else float(i) for i in range(3)],
                        static=static)  # fmt: skip
    flat(*["leaf"] * len(flat.leaves))
    assert seen == [tuple("fixed" if i in fixed else "leaf" for i in range(3))]
    assert list(flat.positions) == [i for i in range(3) if i not in fixed]


def test_static_keywords_stay_as_they_are():
    def f(x, *, kind, size=1):
        return x * (2 if kind == "double" else 1) * size

    flat = FlatFunction("test", f, (3.0,), {"kind": "double", "size": 2.0}, static_names=("kind",))
    assert flat.paths() == ["x", "size"]
    assert float(flat.unflatten(flat(*flat.values))) == 12.0
    assert flat.statics == (("kind", exact("double"), "double"),)


def test_the_structure_of_all_arguments_is_that_of_a_pair():
    flat = flattened()
    args = ({"w": 0, "b": 0}, 0)
    assert flat.args_tree == weft.tree_util.tree_structure(args)
    assert flat.in_tree == weft.tree_util.tree_structure((args, {"scale": 0, "shift": 0}))
    plain = FlatFunction("test", np.sin, (1.0,))
    assert plain.in_tree == weft.tree_util.tree_structure(((0,), {}))


def test_the_key_tells_apart_what_a_trace_depends_on():
    def key(*args, static=()):
        return FlatFunction("test", lambda *xs: xs, args, static=static).key

    assert key(1.0, 2.0) == key(3.0, 4.0)
    assert key(1.0, 2.0) != key(1.0, 2)
    assert key(1.0, 2.0) != key((1.0, 2.0))
    assert key(1.0, 2, static=(1,)) != key(1.0, 2.0, static=(1,))
    assert key(1.0, True, static=(1,)) != key(1.0, 1, static=(1,))
    assert key(2, 1.0, static=(0,)) != key(1.0, 2, static=(1,))


def test_a_static_argument_without_a_hash_is_refused_when_a_key_is_asked_for():
    flat = FlatFunction("test", affine, (1.0, 2.0, ["up"]), {"scale": 1.0}, static=(2,))
    with pytest.raises(ValueError, match=r"the static argument 'mode' .* must be hashable"):
        flat.key  # noqa: B018


@pytest.mark.parametrize(
    ("argnums", "argnames", "expected"),
    [
        ((0,), (), [0, 1]),
        ((-2,), (), [2]),
        ((2, 7), (), []),
        ((), ("shift",), [4]),
        ((1,), ("scale", "missing"), [2, 3]),
    ],
)
def test_the_leaves_of_an_argument_are_found_by_position_and_by_keyword(
    argnums, argnames, expected
):
    assert flattened().leaves_of(argnums, argnames) == expected


def test_staging_writes_the_program_down_under_the_function_s_name():
    flat = flattened()
    jaxpr = flat.stage()
    assert jaxpr.name == "affine"
    assert [e.primitive.name for e in jaxpr.equations][-1] == "add"
    assert flat.out_tree == weft.tree_util.tree_structure({"y": 0, "z": (0, 0)})


def test_auxiliary_data_keeps_what_is_no_array_and_gets_back_what_is():
    flat = FlatFunction("test", lambda x: (x * 2, {"n": "text", "v": x}), (3.0,), has_aux=True)
    outs = flat(*flat.values)
    assert len(outs) == 2
    assert float(flat.unflatten(outs)) == 6.0
    aux = flat.aux([None, 9])
    assert aux == {"n": "text", "v": 9}


def test_auxiliary_data_that_is_missing_is_an_error():
    flat = FlatFunction("test", lambda x: x, (3.0,), has_aux=True)
    with pytest.raises(TypeError, match=r"test: with has_aux=True .* must return a pair"):
        flat(3.0)


def test_an_argument_or_a_result_that_is_no_array_is_named():
    with pytest.raises(TypeError, match=r"test: argument params\['w'\] of affine"):
        FlatFunction("test", affine, ({"w": "no"}, 1.0))
    flat = FlatFunction("test", lambda x: {"a": object()}, (1.0,))
    with pytest.raises(TypeError, match="must return arrays, scalars or containers of them"):
        flat(1.0)


def test_abstract_arguments_need_a_shape_and_a_dtype_only():
    struct = weft.ShapeDtypeStruct((3,), "float32")
    flat = FlatFunction("test", np.sin, (struct,), abstract=True)
    assert flat.values == []
    assert str(flat.stage().out_avals[0]) == "float32[3]"
    with pytest.raises(TypeError, match="have a shape and a dtype"):
        FlatFunction("test", np.sin, ("no",), abstract=True)


def test_names_for_messages_keep_no_array_alive():
    class Held:
        shape, dtype, weak_type = (2,), onp.dtype("float32"), False

    held = Held()
    seen = weakref.ref(held)
    flat = FlatFunction("test", lambda x: x, (held,), abstract=True)
    names = flat.names
    del held, flat
    gc.collect()
    assert seen() is None
    assert names() == ["x"]


@pytest.mark.parametrize("compiled", [True, False])
def test_negative_positions_count_from_the_end(compiled):
    def f(x, y, n):
        return x * n + y

    mapped = weft.pmap(f, static_broadcasted_argnums=-1, devices=weft.devices()[:1])
    x = onp.float32([2])
    with weft.disable_jit(not compiled):
        assert mapped(x, x + 1, 5).tolist() == [13]
    checkpointed = weft.checkpoint(f, static_argnums=-1)
    assert float(weft.grad(checkpointed)(2.0, 3.0, 5)) == 5


@pytest.mark.parametrize("transform", [weft.jit, weft.checkpoint])
def test_a_kept_program_belongs_to_its_switches(transform):
    f, x = transform(lambda x: x / 2), np.asarray(onp.int32(1))
    for x64 in (False, True, False, True):
        with weft.enable_x64(x64):
            assert f(x).dtype == ("float64" if x64 else "float32")


@pytest.mark.devices(2)
def test_the_specs_and_the_check_of_a_map_over_a_mesh_belong_to_its_program():
    mesh = weft.make_mesh((2,), ("d",))
    f = lambda x: x * 2  # noqa: E731
    over = functools.partial(weft.shard_map, f, mesh=mesh, in_specs=P("d"))
    x = onp.float32([1, 2])
    assert over(out_specs=P("d"))(x).tolist() == [2, 4]
    assert over(out_specs=P(), check_vma=False)(x).shape == (1,)
    with pytest.raises(ValueError, match="differs along 'd'"):
        over(out_specs=P())(x)
    assert over(out_specs=P("d"))(x).tolist() == [2, 4]
