"""Foreign functions: jaxlib's LAPACK kernels, called by name, against NumPy."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import errors
from weft.extend import ffi
from weft.runtime import versions

S = weft.ShapeDtypeStruct
LOWER = onp.uint8(ord("L"))
RNG = onp.random.RandomState(0)
STACK = RNG.randn(4, 3, 3).astype("f")
STACK = STACK @ STACK.transpose(0, 2, 1) + onp.eye(3, dtype="f")


def cholesky(target="lapack_spotrf_ffi", **options):
    results = S((3, 3), "float32"), S((), "int32")
    layouts = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0), None]}
    call = ffi.ffi_call(target, results, **layouts, **options)
    return lambda a: np.tril(call(a, uplo=LOWER)[0])


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("aliases", [None, {0: 0}], ids=["", "aliased"])
def test_a_call_computes_what_the_native_function_does(wrap, aliases):
    f = wrap(cholesky(input_output_aliases=aliases))
    for a in STACK:
        onp.testing.assert_allclose(f(a), onp.linalg.cholesky(a), rtol=1e-5)


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap_goes_the_way_that_was_chosen(method):
    f = cholesky(vmap_method=method)
    expected = onp.linalg.cholesky(STACK)
    onp.testing.assert_allclose(weft.vmap(f)(STACK), expected, rtol=1e-5)
    onp.testing.assert_allclose(weft.jit(weft.vmap(f))(STACK), expected, rtol=1e-5)
    calls = str(weft.make_jaxpr(weft.vmap(f))(STACK))
    assert ("scan" in calls) == (method == "sequential")


@pytest.mark.parametrize("method", ["sequential", "broadcast_all"])
def test_arguments_that_are_not_mapped_are_repeated(method):
    solve = ffi.ffi_call(
        "lapack_strsm_ffi", S((3, 2), "float32"),
        input_layouts=[(1, 0), (1, 0)], output_layouts=[(1, 0)], vmap_method=method,
    )  # fmt: skip
    flags = {name: onp.uint8(ord(c)) for name, c in
             {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"}.items()}  # fmt: skip
    a = onp.linalg.cholesky(STACK[0])
    b = RNG.randn(4, 3, 2).astype("f")
    out = weft.vmap(lambda b: solve(a, b, **flags))(b)
    onp.testing.assert_allclose(out, onp.linalg.solve(a, b), rtol=1e-4)


def test_vmap_without_a_method_is_refused():
    with pytest.raises(errors.MissingRuleError, match="vmap_method='sequential'"):
        weft.vmap(cholesky())(STACK)


def test_a_rule_of_the_user_s_makes_it_differentiable():
    def log_det(a):
        return 2 * np.sum(np.log(np.diagonal(cholesky()(a))))

    f = weft.custom_vjp(log_det)
    f.defvjp(lambda a: (log_det(a), a), lambda a, ct: (ct * inverse(a),))
    inverse = lambda a: onp.linalg.inv(onp.asarray(a))  # noqa: E731
    onp.testing.assert_allclose(weft.grad(f)(STACK[0]), onp.linalg.inv(STACK[0]), rtol=1e-4)


def test_a_registered_target_is_called_under_its_own_name():
    capsule = versions.lapack_kernels()["lapack_spotrf_ffi"]
    with pytest.raises(ValueError, match="no target 'my_cholesky' is registered"):
        cholesky("my_cholesky")(STACK[0])
    ffi.register_ffi_target("my_cholesky", capsule)
    ffi.register_ffi_target("my_cholesky", capsule)
    onp.testing.assert_allclose(
        cholesky("my_cholesky")(STACK[0]), onp.linalg.cholesky(STACK[0]), rtol=1e-5
    )
    other = versions.lapack_kernels()["lapack_dpotrf_ffi"]
    with pytest.raises(ValueError, match="already belongs to another function"):
        ffi.register_ffi_target("my_cholesky", other)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ffi.register_ffi_target("x", object()), "expected a PyCapsule"),
        (lambda: ffi.register_ffi_target("x", None, platform="gpu"), "platform must be 'cpu'"),
        (lambda: ffi.register_ffi_target("x", None, api_version=0), "api_version must be 1"),
        (lambda: ffi.ffi_call("x", 3), "must be a tree of objects with a shape and a dtype"),
        (lambda: ffi.ffi_call("x", (), vmap_method="no"), "vmap_method must be one of"),
        (lambda: ffi.ffi_call("x", (), input_layouts=[(1, 1)])(STACK[0]), "is not an order"),
        (lambda: ffi.ffi_call("x", (), input_layouts=[])(STACK[0]), "must have 1 entries; got 0"),
        (lambda: ffi.ffi_call("x", ())(STACK[0], a=object()), "attributes must be numbers"),
    ],
)
def test_wrong_calls_are_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize(
    ("method", "shape"),
    [("expand_dims", (1, 3)), ("broadcast_all", (4, 3)), ("legacy_vectorized", (3,))],
)
def test_the_method_says_what_an_argument_that_is_not_mapped_looks_like(method, shape):
    call = ffi.ffi_call("x", S((2,), "float32"), vmap_method=method)
    jaxpr = weft.make_jaxpr(weft.vmap(call, in_axes=(0, None)))(onp.ones((4, 2)), onp.ones(3))
    equation = jaxpr.equations[-1]
    assert [v.aval.shape for v in equation.inputs] == [(4, 2), shape]
    assert [a.shape for a in jaxpr.out_avals] == [(4, 2)]


def test_aliases_go_from_arguments_to_results():
    results = S((), "int32"), S((3, 3), "float32")
    call = ffi.ffi_call("lapack_spotrf_ffi", results, input_output_aliases={0: 1})
    text = weft.jit(lambda a: call(a, uplo=LOWER)).lower(STACK[0]).as_text()
    assert "output_tuple_indices = [1], operand_index = 0," in text
