"""Public names, each called by its name: a result that is wrong there is noticed here.

Other tests reach many of these functions by another name, or use what they return only to go on.
"""

import functools
import io

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.sharding import Mesh, NamedSharding, PartitionSpec as P


def public(name):
    """What a dotted name below `weft` is, looked up now."""
    return functools.reduce(getattr, name.split("."), weft)


ALIASES = {
    "ad_checkpoint.checkpoint": "checkpoint",
    "ad_checkpoint.checkpoint_policies": "checkpoint_policies",
    "ad_checkpoint.remat": "checkpoint",
    "remat": "checkpoint",
    "custom_derivatives.closure_convert": "closure_convert",
    "custom_derivatives.custom_gradient": "custom_gradient",
    "custom_derivatives.custom_jvp": "custom_jvp",
    "custom_derivatives.custom_vjp": "custom_vjp",
    "jacobian": "jacrev",
}


@pytest.mark.parametrize("name", ALIASES)
def test_two_names_of_one_function(name):
    assert public(name) is public(ALIASES[name])


X = onp.array([1.0, 2.0, 4.0], "float32")
TREE = {"b": [1, (2, None)], "a": 3}


class Pair:
    """A container that each test registers anew, in a class of its own."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten(self):
        return (self.x,), self.y

    def tree_flatten_with_keys(self):
        return (("its x", self.x),), self.y

    @classmethod
    def tree_unflatten(cls, y, children):
        return cls(*children, y)

    @staticmethod
    def flat(pair):
        return pair.tree_flatten()

    @staticmethod
    def flat_with_keys(pair):
        return pair.tree_flatten_with_keys()


def doubled(kind, *arguments):
    """An object of a registered class through `tree_map`: (its x, its y)."""
    result = weft.tree_util.tree_map(lambda leaf: leaf * 2, kind(*arguments))
    return result.x, result.y


def registered(name):
    """What `tree_map` makes of Pair(3, 4), registered by a function."""
    register = public(f"tree_util.{name}")
    kind = type("Own", (Pair,), {})
    if name.endswith("_class"):
        assert register(kind) is kind
    elif name == "register_pytree_with_keys":
        register(kind, Pair.flat_with_keys, lambda y, xs: kind(*xs, y))
    else:
        register(kind, Pair.flat, lambda y, xs: kind(*xs, y))
    return doubled(kind, 3, 4)


def registered_dataclass(f):
    kind = type("Own", (Pair,), {"__init__": lambda self, x, y: Pair.__init__(self, x, y)})
    f(kind, data_fields=["x"], meta_fields=["y"])
    return doubled(kind, 3, 4)


def registered_static(f):
    kind = f(type("Own", (Pair,), {}))
    return weft.tree_util.tree_leaves([kind(3, 4), 5])


def converted(f):
    """A closure over a traced value, which has no value of its own afterwards."""

    def slope(y):
        closed, consts = f(lambda x: x * y, 1.0)
        return closed(2.0, *consts)

    return float(weft.grad(slope)(3.0))


def custom(f):
    square = f(lambda x: (x * x, lambda ct: (ct * 100,)))
    return float(square(3.0)), float(weft.grad(square)(3.0))


def called(f, *arguments):
    """What a callback is told, in a compiled function."""
    told = []
    weft.jit(lambda x: (f(lambda y: told.append(float(y)), x + 1), x)[1])(*arguments)
    return told


def known_while_traced(block):
    def f(x):
        with block():
            return x * float(np.sum(np.ones(3)))  # elements of a traced value would be refused

    return weft.jit(f)(2.0)


def names_within(block):
    def f(x):
        with block("a part of it"):
            return np.sin(x)

    return "a part of it" in weft.jit(f).lower(1.0).as_text()


def guarded(block):
    """An array of one device and one committed to another: a transfer nobody asked for."""
    x, there = weft.jit(lambda x: x * 3)(np.ones(3)), weft.device_put(X, weft.devices()[2])
    with block("disallow"), pytest.raises(RuntimeError, match="implicit transfer"):
        x + there
    return (x + there).tolist()


def same_devices(found, count=None):
    ids = list(range(8 if count is None else count))
    return [d.id for d in found] == ids and len({d.platform for d in found}) == 1


def mesh_of(f):
    mesh = f((2, 4), ("a", "b"))
    return isinstance(mesh, Mesh), dict(mesh.shape), [d.id for d in mesh.devices.flat]


def divided():
    return NamedSharding(Mesh(onp.array(weft.devices()[:4]).reshape(2, 2), ("a", "b")), P("b", "a"))


WHOLE = onp.arange(24, dtype="float32").reshape(4, 6)


def lies(array):
    """Whether an array is `WHOLE`, with the parts where `divided` says."""
    parts = {s.device.id: onp.asarray(s.data) for s in array.addressable_shards}
    wanted = {0: WHOLE[:2, :3], 1: WHOLE[2:, :3], 2: WHOLE[:2, 3:], 3: WHOLE[2:, 3:]}
    return (onp.asarray(array) == WHOLE).all() and all(
        (parts[i] == part).all() for i, part in wanted.items()
    )


def of_parts(f):
    indices = divided().devices_indices_map(WHOLE.shape)
    return lies(
        f(WHOLE.shape, divided(), [weft.device_put(WHOLE[i], d) for d, i in indices.items()])
    )


def summed():
    """A compiled program with a sum over eight devices, and its mesh."""
    mesh = Mesh(onp.array(weft.devices()[:8]), "d")
    f = weft.shard_map(lambda x: lax.psum(x, "d"), mesh=mesh, in_specs=P("d"), out_specs=P())
    return weft.jit(f).lower(onp.ones((8, 4), "float32")).compile(), mesh


def found_collectives(f):
    (one,) = f(*summed())
    return one.kind, one.arrays, one.axes, one.times


def written_table(f):
    lines = f(weft.experimental.communication.collectives(*summed())).splitlines()
    return [line.split()[:4] for line in lines[1:2]]


def guessed(f):
    """A model of one block: what its gradients need is a multiple of the parameters."""
    model = weft.experimental.communication.Transformer(
        layers=1, width=16, heads=2, hidden=32, length=8, vocabulary=64
    )
    alone = f(model, {"data": 1, "model": 1}, batch=4)
    two = f(model, {"data": 2, "model": 1}, batch=4)
    return sum(c.sent for c in alone), sum(c.sent for c in two if c.axes == ("data",)) > 0


def written_program(f):
    text = f(lambda x: np.sin(x) * x)(1.0).as_hlo_text()
    return "sine(" in text, "multiply(" in text


def printed(f, *arguments):
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        f(*arguments)
    return out.getvalue()


def shown(f):
    return printed(lambda: weft.jit(lambda x: (f("x is {}", x), x)[1])(onp.float32(2)))


def stopped(f):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO("p 40 + 2\nc\n"))
        return "42" in printed(lambda: weft.jit(lambda x: (f(), x)[1])(1.0))


def finished(f):
    told = []
    weft.experimental.host_callback.id_tap(lambda x, _: told.append(float(x)), 1.0)
    f()
    return told


struct, leaves = weft.ShapeDtypeStruct, weft.tree_util.tree_leaves

# fmt: off
RESULTS = {  # the public name: (what is done with it, what comes of it)
    "ad_checkpoint.saved_residuals": (
        lambda f: sorted(str(a.shape) for a, _ in f(lambda x, y: np.sin(x) * y, X, X[0])),
        ["()", "(3,)", "(3,)"]),
    "ad_checkpoint.print_saved_residuals": (
        lambda f: "cos" in printed(f, lambda x: np.sin(x), 1.0), True),
    "closure_convert": (converted, 2.0),
    "custom_gradient": (custom, (9.0, 100.0)),
    "debug.breakpoint": (stopped, True),
    "debug.callback": (lambda f: called(f, 2.0), [3.0]),
    "debug.print": (shown, "x is 2.0\n"),
    "default_backend": (lambda f: f(), weft.devices()[0].platform),
    "device_count": (lambda f: f(), len(weft.devices())),
    "devices": (lambda f: same_devices(f()), True),
    "dlpack.to_dlpack": (
        lambda f: onp.asarray(weft.dlpack.from_dlpack(f(np.asarray(X)))).tolist(), X.tolist()),
    "effects_barrier": (lambda f: (called(weft.debug.callback, 2.0), f()), ([3.0], None)),
    "ensure_compile_time_eval": (lambda f: float(known_while_traced(f)), 6.0),
    "eval_shape": (
        lambda f: f(lambda x: {"y": x[:, None] + 1}, struct((3,), np.float32)),
        {"y": struct((3, 1), np.float32)}),
    "experimental.communication.collectives": (
        found_collectives, ("all-reduce", (("f32", (1, 4)),), ("d",), 1)),
    "experimental.communication.predicted": (guessed, (0, True)),
    "experimental.communication.table": (written_table, [["all-reduce", "d", "8", "1"]]),
    "lax.dtype": (
        lambda f: [f(x).name for x in (1, 1.0, X, struct((), np.int8), np.ones(1, bool))],
        ["int32", "float32", "float32", "int8", "bool"]),
    "experimental.host_callback.barrier_wait": (finished, [1.0]),
    "experimental.multihost_utils.assert_equal": (lambda f: f({"a": X}), None),
    "experimental.multihost_utils.broadcast_one_to_all": (
        lambda f: [onp.asarray(x).tolist() for x in leaves(f({"a": X, "b": 2}))], [X.tolist(), 2]),
    "experimental.multihost_utils.process_allgather": (
        lambda f: (onp.asarray(f(X)).tolist(), onp.asarray(f(X, tiled=True)).tolist()),
        ([X.tolist()], X.tolist())),
    "experimental.multihost_utils.sync_global_devices": (lambda f: f("here"), None),
    "local_device_count": (lambda f: f(), len(weft.devices())),
    "local_devices": (lambda f: same_devices(f()), True),
    "make_array_from_callback": (
        lambda f: lies(f(WHOLE.shape, divided(), lambda index: WHOLE[index])), True),
    "make_array_from_process_local_data": (lambda f: lies(f(divided(), WHOLE)), True),
    "make_array_from_single_device_arrays": (of_parts, True),
    "make_jaxpr": (
        lambda f: [e.primitive.name for e in f(lambda x: np.sin(x) * x)(1.0).equations],
        ["sin", "mul"]),
    "make_mesh": (mesh_of, (True, {"a": 2, "b": 4}, list(range(8)))),
    "named_scope": (names_within, True),
    "transfer_guard": (guarded, [4.0, 5.0, 7.0]),
    "tree_util.keystr": (
        lambda f: [f(path) for path, _ in weft.tree_util.tree_flatten_with_path(TREE)[0]],
        ["['a']", "['b'][0]", "['b'][1][0]"]),
    "tree_util.register_dataclass": (registered_dataclass, (6, 4)),
    "tree_util.register_static": (registered_static, [5]),
    "tree_util.tree_leaves_with_path": (
        lambda f: [(len(path), leaf) for path, leaf in f(TREE)], [(1, 3), (2, 1), (3, 2)]),
    "tree_util.tree_reduce": (
        lambda f: (f(lambda a, b: 10 * a + b, TREE), f(lambda a, b: 10 * a + b, TREE, 7)),
        (312, 7312)),
    "tree_util.tree_structure": (
        lambda f: (f(TREE).num_leaves, f(TREE).unflatten("xyz"), f(TREE) == f([1])),
        (3, {"a": "x", "b": ["y", ("z", None)]}, False)),
    "tree_util.tree_unflatten": (
        lambda f: f(weft.tree_util.tree_structure(TREE), "xyz"),
        {"a": "x", "b": ["y", ("z", None)]}),
    "tree_util.treedef_children": (
        lambda f: [c.unflatten("uv"[:c.num_leaves])
                   for c in f(weft.tree_util.tree_structure(TREE))],
        ["u", ["u", ("v", None)]]),
    "tree_util.treedef_is_leaf": (
        lambda f: [f(weft.tree_util.tree_structure(t)) for t in (1, [1], None, ())],
        [True, False, False, False]),
    "tree_util.treedef_tuple": (
        lambda f: f(map(weft.tree_util.tree_structure, ([1], 2))).unflatten("xy"), (["x"], "y")),
    "xla_computation": (written_program, (True, True)),
    **{f"tree_util.{name}": (lambda f, name=name: registered(name), (6, 4)) for name in (
        "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
        "register_pytree_with_keys_class")},
}
# fmt: on


@pytest.mark.devices(8)
@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    use, expected = RESULTS[name]
    assert use(public(name)) == expected
