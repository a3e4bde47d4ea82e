"""platform_dependent: one function for each platform, chosen when a program is compiled."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import errors, export, lax
from weft.experimental import checkify, sparse
from weft.extend import ffi

X = onp.linspace(-1, 1, 6).astype(onp.float32)


def on_cpu(x):
    return lax.platform_dependent(x, tpu=np.cos, cpu=lambda x: np.sin(x) * x, default=np.tanh)


def elsewhere(x):
    return lax.platform_dependent(x, tpu=np.cos, default=lambda x: np.sin(x) * x)


def stepped(f):
    return lambda x: lax.scan(lambda c, x: (c + f(c), f(x)), 0.5, x)[1]


def expected(x):
    return onp.sin(x) * x


def slope(x):
    return onp.cos(x) * x + onp.sin(x)


FORMS = {
    "eager": (lambda f: f, expected),
    "jit": (weft.jit, expected),
    "vmap": (weft.vmap, expected),
    "scan": (stepped, expected),
    "checkpoint": (weft.checkpoint, expected),
    "under a call": (lambda f: weft.jit(lambda x: weft.jit(f)(x)), expected),
    "under cond": (lambda f: lambda x: lax.cond(True, f, lambda x: x, x), expected),
    "disable_jit": (lambda f: weft.disable_jit()(f), expected),
    "grad": (lambda f: weft.grad(lambda x: f(x).sum()), slope),
    "grad of jit": (lambda f: weft.grad(weft.jit(lambda x: f(x).sum())), slope),
    "jvp": (lambda f: lambda x: weft.jvp(f, (x,), (onp.ones_like(x),))[1], slope),
    "vmap of grad": (lambda f: weft.vmap(weft.grad(f)), slope),
    "grad of scan": (lambda f: weft.grad(lambda x: stepped(f)(x).sum()), slope),
    "grad of checkpoint": (
        lambda f: weft.grad(lambda x: weft.checkpoint(weft.jit(f))(x).sum()), slope,
    ),
    "checkify": (lambda f: lambda x: checkify.checkify(f, errors=checkify.nan_checks)(x)[1],
                 expected),
    "sparsify": (sparse.sparsify, expected),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("function", [on_cpu, elsewhere])
def test_the_function_of_this_platform_is_applied(function, form):
    transform, value = FORMS[form]
    assert weft.default_backend() == "cpu"
    onp.testing.assert_allclose(transform(function)(X), value(X), rtol=2e-6, atol=1e-6)


def test_second_derivatives():
    found = weft.hessian(lambda x: on_cpu(x).sum())(X)
    onp.testing.assert_allclose(
        found, onp.diag(2 * onp.cos(X) - X * onp.sin(X)), rtol=2e-6, atol=1e-6
    )


def test_arguments_are_trees_and_functions_close_over_values():
    def f(scale):
        pick = lambda tree, y: {"sum": tree["a"] * scale + y}  # noqa: E731
        return lax.platform_dependent({"a": X}, 1.0, cpu=pick, tpu=lambda t, y: {"sum": t["a"]})

    onp.testing.assert_allclose(weft.jit(f)(3.0)["sum"], 3 * X + 1, rtol=1e-6)
    assert float(weft.grad(lambda s: f(s)["sum"].sum())(3.0)) == pytest.approx(X.sum(), abs=1e-5)


def test_there_may_be_no_arguments():
    assert int(lax.platform_dependent(cpu=lambda: 1, default=lambda: 2)) == 1
    assert int(weft.jit(lambda: lax.platform_dependent(default=lambda: 2))()) == 2


def test_a_collective_in_one_of_the_functions():
    f = lambda x: lax.platform_dependent(  # noqa: E731
        x, cpu=lambda x: x - lax.pmean(x, "i"), tpu=lambda x: x
    )
    onp.testing.assert_allclose(weft.vmap(f, axis_name="i")(X), X - X.mean(), atol=1e-6)
    total = lambda x: (weft.vmap(f, axis_name="i")(x) ** 2).sum()  # noqa: E731
    onp.testing.assert_allclose(weft.grad(total)(X), 2 * (X - X.mean()), atol=1e-5)


def foreign(x):
    """A call of native code that no platform here has."""
    return ffi.ffi_call("only_on_another_platform", weft.ShapeDtypeStruct(x.shape, x.dtype))(x)


def test_functions_for_other_platforms_are_not_compiled():
    f = lambda x: lax.platform_dependent(x, tpu=foreign, cpu=np.sin)  # noqa: E731
    onp.testing.assert_allclose(weft.jit(f)(X), onp.sin(X), rtol=1e-6)
    assert "custom_call" not in weft.jit(f).lower(X).as_text()


PLATFORMS = {
    "cpu": ("sine", ("cosine", "tanh", "exponential")),
    "tpu": ("cosine", ("sine", "tanh", "exponential")),
    "gpu": ("tanh", ("sine", "cosine", "exponential")),
}


def test_an_exported_program_has_the_function_of_each_platform():
    f = lambda x: lax.platform_dependent(  # noqa: E731
        x, cpu=np.sin, tpu=np.cos, cuda=np.tanh, default=np.exp
    )
    made = export.export(weft.jit(f), platforms=["cpu", "cuda", "tpu"])(X)
    assert set(made.platforms) == set(PLATFORMS)
    for platform, (there, absent) in PLATFORMS.items():
        text = made._module.texts[platform]
        assert f"stablehlo.{there}" in text
        assert not any(f"stablehlo.{name}" in text for name in absent)
    again = export.deserialize(made.serialize(vjp_order=1))
    onp.testing.assert_allclose(weft.jit(again.call)(X), onp.sin(X), rtol=1e-6)
    found = weft.grad(lambda x: again.call(x).sum())(X)
    onp.testing.assert_allclose(found, onp.cos(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("functions", "found"),
    [
        ({"gpu": np.cos, "default": np.exp}, "cosine"),
        ({"gpu": np.cos, "cuda": np.sin}, "cosine"),
        ({"cuda": np.cos, "rocm": np.sin}, "cosine"),
        ({"rocm": np.sin, "default": np.cos}, "cosine"),
    ],
)
def test_names_of_gpus(functions, found):
    f = weft.jit(lambda x: lax.platform_dependent(x, **functions))
    assert f"stablehlo.{found}" in export.export(f, platforms=["cuda"])(X).mlir_module()


REFUSED = {
    "no function for the platform": (
        lambda: lax.platform_dependent(X, tpu=np.sin), NotImplementedError,
        "no function fits the platform 'cpu'; got some for 'tpu'",
    ),
    "… when it is compiled": (
        lambda: weft.jit(lambda x: lax.platform_dependent(x, tpu=np.sin))(X), NotImplementedError,
        "pass cpu=",
    ),
    "… when it is exported": (
        lambda: export.export(
            weft.jit(lambda x: lax.platform_dependent(x, cpu=np.sin)), platforms=["cpu", "tpu"]
        )(X), NotImplementedError, "no function fits the platform 'tpu'",
    ),
    "none at all": (lambda: lax.platform_dependent(X), TypeError, "expected a function"),
    "no function": (lambda: lax.platform_dependent(X, cpu=3), TypeError, "cpu must be a function"),
    "other types": (
        lambda: lax.platform_dependent(X, cpu=np.sin, default=lambda x: 1), errors.ShapeError,
        r"float32\[6\] from cpu, int32\[\] from default",
    ),
    "other structures": (
        lambda: lax.platform_dependent(X, cpu=np.sin, tpu=lambda x: (x, x)), errors.ShapeError,
        "the same structure",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused(what):
    call, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        call()
