"""Exported functions: what is written is what is read, and computes the same, in jit and alone."""

import hashlib
import json
import subprocess
import sys
import typing

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import export, lax, random
from weft.export.exported import check_custom_calls

X = onp.arange(3, dtype="float32")
PARAMS = {"w": onp.ones((2, 3), "float32"), "b": [None, (1.0, 2)]}


def again(exported, order=0):
    return export.deserialize(exported.serialize(vjp_order=order))


class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any


export.register_namedtuple_serialization(Point, serialized_name="tests.Point")


class Scaled:
    def __init__(self, x, by):
        self.x, self.by = x, by


weft.tree_util.register_pytree_node(
    Scaled, lambda s: ((s.x,), s.by), lambda by, xs: Scaled(*xs, by)
)
export.register_pytree_node_serialization(
    Scaled,
    serialized_name="tests.Scaled",
    serialize_auxdata=lambda by: json.dumps(by).encode(),
    deserialize_auxdata=json.loads,
)


@weft.custom_vjp
def hundred(x):
    return x * 2


hundred.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 100,))

CASES = {  # functions and arguments
    "elementwise": (lambda x: np.sin(x) * 2, (X,)),
    "trees": (lambda p, x: {"y": p["w"] @ x * p["b"][1][0], "n": p["b"][1][1]}, (PARAMS, X)),
    "no arguments": (lambda: np.arange(3), ()),
    "arguments that aren't used": (lambda x, y: x, (X, X)),
    "arguments that come out": (lambda x: (x, 1.0, x), (X,)),
    "constants": (lambda x: x + onp.arange(3, dtype="float32") + onp.float16(2), (X,)),
    "functions inside": (lambda x: weft.jit(np.tanh)(weft.jit(np.cos)(x)) + np.cos(x), (X,)),
    "loops": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, x), (X,)),
    "branches": (lambda x: lax.cond(x[0] > 1, np.sin, np.cos, x), (X,)),
    "random": (lambda x: x + random.normal(random.PRNGKey(0), (3,)), (X,)),
    "special": (lambda x: lax.erf(x) + lax.lgamma(x + 1) + np.arcsinh(x), (X,)),
    "sort": (lambda x: np.sort(x)[::-1], (X,)),
    "dtypes": (
        lambda a, b, c, d: (a.astype("bfloat16"), b * 2, ~c, d * 1j),
        (X, X.astype("int8"), X > 1, X.astype("complex64"))),
    "namedtuple": (lambda p: Point(p.y, p.x + 1), (Point(X, 2.0),)),
    "registered": (lambda s: Scaled(s.x * s.by, 3), (Scaled(X, 2),)),
    "rule": (hundred, (X,)),
    "empty": (lambda x: x.sum(), (onp.zeros((0, 2), "float32"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_computes_the_same(name):
    f, args = CASES[name]
    exported = export.export(weft.jit(f))(*args)
    found = again(exported)
    expected = f(*args)
    for call in (exported.call, found.call, weft.jit(found.call)):
        result = call(*args)
        assert weft.tree.structure(result) == weft.tree.structure(expected)
        for x, y in zip(weft.tree.leaves(result), weft.tree.leaves(expected), strict=True):
            assert (x.shape, x.dtype) == (np.shape(y), np.asarray(y).dtype)
            onp.testing.assert_allclose(
                onp.asarray(x).astype(complex), onp.asarray(y).astype(complex), rtol=1e-6, atol=1e-6
            )
    assert (found.fun_name, found.in_avals, found.out_avals, found.platforms) == (
        exported.fun_name, exported.in_avals, exported.out_avals, exported.platforms,
    )  # fmt: skip
    assert (found.in_tree, found.out_tree) == (exported.in_tree, exported.out_tree)
    assert found.serialize() == exported.serialize()


def test_an_exported_function_says_what_it_is():
    struct = weft.ShapeDtypeStruct((2, 3), "float32")

    def model(x, *, scale):
        return x * scale

    exported = export.export(weft.jit(model))(struct, scale=2.0)
    assert exported.fun_name == "model"
    assert [str(a) for a in exported.in_avals] == ["float32[2,3]", "float32[]"]
    assert [str(a) for a in exported.out_avals] == ["float32[2,3]"]
    assert exported.nr_devices == 1
    assert exported.platforms == (export.default_export_platform(),)
    assert exported.calling_convention_version == (
        export.maximum_supported_calling_convention_version
    )
    assert "func.func public @main(" in exported.mlir_module()
    assert exported.mlir_module_serialized.startswith(b"ML\xefRStableHLO"[:4])
    assert "model" in repr(exported)
    onp.testing.assert_array_equal(exported.call(onp.ones((2, 3), "float32"), scale=3), 3.0)


def test_static_arguments_are_a_part_of_the_program():
    exported = export.export(weft.jit(lambda x, n: x * n, static_argnums=1))(X, 3)
    onp.testing.assert_array_equal(again(exported).call(X), 3 * X)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_the_order_that_was_written(order):
    f = lambda x, i, y: (x[0] ** 4 * y["a"], x.sum() * 0 + i, i)  # noqa: E731
    args = (X + 1, 3, {"a": 2.0})
    derivative = lambda g: lambda x, y: g(x, 3, {"a": y})[0]  # noqa: E731
    found = again(export.export(weft.jit(f))(*args), order)
    assert found.has_vjp()
    for _ in range(order):
        derivative = (lambda d: lambda g: weft.grad(lambda x, y: d(g)(x, y).sum()))(derivative)
    onp.testing.assert_allclose(derivative(found.call)(X + 1, 2.0), derivative(f)(X + 1, 2.0))
    onp.testing.assert_allclose(
        weft.jit(derivative(found.call))(X + 1, 2.0), derivative(f)(X + 1, 2.0)
    )
    with pytest.raises(ValueError, match="serialized without a vjp"):
        weft.grad(lambda x, y: derivative(found.call)(x, y).sum())(X + 1, 2.0)


def test_a_derivative_rule_is_exported_with_the_function():
    found = again(export.export(weft.jit(hundred))(1.0), 1)
    assert weft.grad(found.call)(1.0) == 100


def test_without_a_vjp_it_has_none():
    found = again(export.export(weft.jit(np.sin))(1.0))
    assert not found.has_vjp()
    with pytest.raises(ValueError, match=r"fix: exported.serialize\(vjp_order=1\)"):
        found.vjp()


def test_two_exported_functions_and_one_twice_in_one_program():
    sine, cosine = (
        again(export.export(weft.jit(lambda x, g=g: g(x)))(X)) for g in (np.sin, np.cos)
    )
    f = weft.jit(lambda x: sine.call(cosine.call(x)) + sine.call(x))
    onp.testing.assert_allclose(f(X), onp.sin(onp.cos(X)) + onp.sin(X), rtol=1e-6)
    assert f.lower(X).as_text().count("stablehlo.sine") == 1
    twice = again(export.export(f)(X))
    onp.testing.assert_allclose(twice.call(X), f(X), rtol=1e-6)


def test_calls_inside_loops_and_branches():
    found = again(export.export(weft.jit(lambda x: x * 2))(1.0))
    assert lax.fori_loop(0, 3, lambda i, c: found.call(c), np.float32(1)) == 8
    assert lax.cond(True, found.call, lambda x: x, np.float32(1)) == 2


def test_elements_in_turn_under_vmap():
    found = export.export(weft.jit(lambda x: x * 2))(1.0)
    mapped = weft.vmap(weft.custom_batching.sequential_vmap(found.call))
    onp.testing.assert_array_equal(mapped(X), 2 * X)
    with pytest.raises(weft.errors.MissingRuleError, match="can't be mapped by vmap"):
        weft.vmap(found.call)(X)


def test_another_process_needs_no_source(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(export.export(weft.jit(lambda p, x: p["w"] @ x))(PARAMS, X).serialize())
    code = (
        "import sys, weft; blob = open(sys.argv[1], 'rb').read();"
        "f = weft.export.deserialize(blob).call; import numpy as np;"
        "p = {'w': np.ones((2, 3), 'float32'), 'b': [None, (1.0, 2)]};"
        "print(f(p, np.arange(3, dtype='float32')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[3. 3.]\n", "")


def test_platforms():
    f = weft.jit(lambda x: x * 2)
    both = again(export.export(f, platforms=["tpu", "cuda", "rocm", "cpu"])(X))
    assert both.platforms == ("tpu", "gpu", "cpu")
    onp.testing.assert_array_equal(both.call(X), 2 * X)
    other = again(export.export(f, platforms=["tpu"])(X))
    for call in (other.call, weft.jit(other.call)):
        with pytest.raises(ValueError, match="exported for tpu, and is called on cpu"):
            call(X)
    check = export.DisabledSafetyCheck.platform()
    free = again(export.export(f, platforms=["tpu"], disabled_checks=[check])(X))
    onp.testing.assert_array_equal(free.call(X), 2 * X)


def native(x):
    shapes = weft.ShapeDtypeStruct(x.shape, x.dtype), weft.ShapeDtypeStruct((), "int32")
    call = weft.extend.ffi.ffi_call(
        "lapack_spotrf_ffi", shapes, input_layouts=[(1, 0)], output_layouts=[(1, 0), None]
    )
    return call(x, uplo=onp.uint8(ord("L")))[0]


def test_native_functions_are_exported_if_somebody_vouches_for_them():
    x = onp.array([[4.0, 2.0], [2.0, 5.0]], "float32")
    with pytest.raises(ValueError, match="calls the native function 'lapack_spotrf_ffi'"):
        export.export(weft.jit(native))(x)
    check = export.DisabledSafetyCheck.custom_call("lapack_spotrf_ffi")
    exported = export.export(weft.jit(native), disabled_checks=[check])(x)
    onp.testing.assert_allclose(onp.tril(again(exported).call(x)), [[2, 0], [1, 2]])


def debugged(x):
    weft.debug.print("{}", x)
    return x


@weft.tree_util.register_pytree_node_class
class Unwritten:
    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, data, children):
        return cls(*children)


def of_sine():
    return export.export(weft.jit(np.sin))(X)


def changed(old, new, digest=True):
    blob = bytes(of_sine().serialize())
    assert old in blob
    if not digest:
        return blob.replace(old, new)
    magic, _, body = blob.split(b"\n", 2)
    body = body.replace(old, new)
    return b"\n".join([magic, hashlib.sha256(body).hexdigest().encode(), body])


WRONG = {
    "not jitted": (lambda: export.export(np.sin), TypeError, r"fix: export\(jit\(f\)\)"),
    "platform": (lambda: export.export(weft.jit(np.sin), platforms=["x"]), ValueError, "platforms"),
    "text": (lambda: export.export(weft.jit(np.sin), platforms="cpu"), ValueError, "be a list"),
    "callback": (lambda: export.export(weft.jit(debugged))(X), ValueError, "calls Python"),
    "structure": (lambda: of_sine().call((X,)), TypeError, "exported for arguments of structure"),
    "shape": (lambda: of_sine().call(X[1:]), TypeError, r"float32\[3\] as argument .*; got"),
    "dtype": (lambda: of_sine().call(X.astype(int)), TypeError, "convert them"),
    "no array": (lambda: of_sine().call("x"), TypeError, "must be an array"),
    "order": (lambda: of_sine().serialize(-1), ValueError, "vjp_order must not be negative"),
    "class": (
        lambda: export.export(weft.jit(lambda u: u.x))(Unwritten(X)).serialize(), ValueError,
        "Unwritten is among the arguments"),
    "key": (
        lambda: export.export(weft.jit(lambda d: d[1.5]))({1.5: X}).serialize(), ValueError,
        "the key 1.5 of a dict"),
    "not ours": (lambda: export.deserialize(b"PK\x03\x04"), ValueError, "aren't a function that"),
    "cut": (lambda: export.deserialize(of_sine().serialize()[:-9]), ValueError, "damaged"),
    "damaged": (lambda: export.deserialize(changed(b"sin", b"cos", False)), ValueError, "damaged"),
    "version": (
        lambda: export.deserialize(changed(b'version": 1', b'version": 9')), ValueError,
        "calling convention 9 is unknown"),
    "head": (
        lambda: export.deserialize(changed(b'"in_tree"', b'"xx_tree"')), ValueError, "head of"),
    "unknown class": (
        lambda: export.deserialize(changed(b'"in_tree": {', b'"in_tree": {"node": ["no", "", []]},'
                                           b' "x": {')), ValueError, "class 'no' isn't known"),
    "no tree": (
        lambda: export.deserialize(changed(b'"out_tree": "*"', b'"out_tree": "!"')), ValueError,
        "not a structure of a tree"),
    "no module": (
        lambda: export.deserialize(changed(b"ML\xefR", b"XXXX")), ValueError, "can't read"),
    "name taken": (
        lambda: export.register_namedtuple_serialization(
            typing.NamedTuple("Other", [("x", int)]), serialized_name="tests.Point"),
        ValueError, "is taken by Point"),
    "no namedtuple": (
        lambda: export.register_namedtuple_serialization(int, serialized_name="i"), ValueError,
        "not a namedtuple class"),
    "no node": (
        lambda: export.register_pytree_node_serialization(
            int, serialized_name="i", serialize_auxdata=repr, deserialize_auxdata=eval),
        ValueError, "int is not a pytree node"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name):
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        function()


@pytest.mark.devices(2)
def test_a_program_for_several_devices_is_refused():
    mesh = weft.make_mesh((2,), ("x",))
    sharding = weft.sharding.NamedSharding(mesh, weft.sharding.PartitionSpec("x"))
    with pytest.raises(ValueError, match="a program for several devices"):
        export.export(weft.jit(np.sin, in_shardings=sharding))(onp.ones(4))


def test_a_file_cannot_call_the_python_functions_of_a_program_around_it():
    text = "stablehlo.custom_call @xla_ffi_python_cpu_callback(%a)"
    with pytest.raises(ValueError, match="which isn't a part of the program"):
        check_custom_calls("f", text, {"custom_call:xla_ffi_python_cpu_callback"})
