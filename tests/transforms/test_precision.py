"""default_matmul_precision: in the jaxpr and StableHLO of products and convolutions."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import errors, lax, switch_values

SPELLINGS = {
    "default": "DEFAULT", "fastest": "DEFAULT", "bfloat16": "DEFAULT",
    "high": "HIGH", "bfloat16_3x": "HIGH", "tensorfloat32": "HIGH",
    "highest": "HIGHEST", "float32": "HIGHEST",
}  # fmt: skip
X, Y = np.ones((2, 3)), np.ones((3, 4))
IMAGE, KERNEL = np.ones((1, 3, 8, 8)), np.ones((2, 3, 3, 3))
PRODUCTS = {
    "@": (lambda x, y: x @ y, X, Y),
    "matmul": (np.matmul, X, Y),
    "dot": (np.dot, X, Y),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), X, Y),
    "einsum": (lambda x, y: np.einsum("ij,jk", x, y), X, Y),
    "lax.dot": (lax.dot, X, Y),
    "conv": (lambda x, k: lax.conv(x, k, (1, 1), "SAME"), IMAGE, KERNEL),
    "gradient": (weft.grad(lambda x, y: np.sum(x @ y)), X, Y),
}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_is_seen_in_the_programs(product, spelling):
    f, x, y = PRODUCTS[product]
    word = SPELLINGS[spelling]
    with weft.default_matmul_precision(spelling):
        assert f"precision=({word}, {word})" in str(weft.make_jaxpr(f)(x, y))
        text = weft.jit(f).lower(x, y).as_text()
    assert f"#stablehlo<precision {word}>" in text


@pytest.mark.parametrize("product", PRODUCTS)
def test_none_states_nothing(product):
    f, x, y = PRODUCTS[product]
    assert "#stablehlo<precision" not in weft.jit(f).lower(x, y).as_text()


def test_what_is_stated_wins():
    f = lambda x, y: np.matmul(x, y, precision="highest")  # noqa: E731
    with weft.default_matmul_precision("bfloat16"):
        text = weft.jit(f).lower(X, Y).as_text()
    assert "HIGHEST" in text
    assert "DEFAULT" not in text


def test_it_is_a_part_of_the_key():
    count = []
    f = weft.jit(lambda x, y: count.append(1) or x @ y)
    for _ in range(2):
        f(X, Y)
        with weft.default_matmul_precision("highest"):
            onp.testing.assert_allclose(f(X, Y), onp.full((2, 4), 3.0))
    assert len(count) == 2


# --- algorithms ---

ON_CPU = {
    "F16_F16_F16": ("float16", 1), "F32_F32_F32": ("float32", 1), "F64_F64_F64": ("float64", 1),
    "BF16_BF16_F32": ("bfloat16", 1), "BF16_BF16_F32_X3": ("bfloat16", 3),
    "BF16_BF16_F32_X6": ("bfloat16", 6),
}  # fmt: skip
OTHERS = sorted({p.name for p in lax.DotAlgorithmPreset} - {*ON_CPU, "DEFAULT"})
WORDS = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "tf32": "tf32"}


def spelled(name):
    """A preset in each of the forms that `precision` takes."""
    preset = lax.DotAlgorithmPreset[name]
    narrow, products = ON_CPU[name]
    wide = name.split("_")[2].lower().replace("f", "float")
    return [
        name, preset, preset.value,
        lax.DotAlgorithm(narrow, narrow, wide, num_primitive_operations=products),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ON_CPU)
def test_an_algorithm_is_seen_in_the_programs(name):
    narrow, products = ON_CPU[name]
    for precision in spelled(name):
        for f in (np.dot, np.matmul, lambda x, y, **p: np.einsum("ij,jk", x, y, **p), lax.dot):
            lowered = weft.jit(lambda x, y, f=f, p=precision: f(x, y, precision=p)).lower(X, Y)
            text = lowered.as_text()
            assert f"lhs_precision_type = {WORDS[narrow]}" in text
            assert f"rhs_precision_type = {WORDS[narrow]}" in text
            assert f"num_primitive_operations = {products}," in text
            assert "allow_imprecise_accumulation = false" in text
            onp.testing.assert_array_equal(lowered.compile()(X, Y), onp.full((2, 4), 3.0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ON_CPU)
def test_operands_are_rounded_and_the_result_has_their_dtype(name, dtype):
    rng = onp.random.default_rng(3)
    x, y = [np.asarray(rng.normal(size=s).astype("f"), dtype) for s in ((5, 16), (16, 4))]
    narrow, products = ON_CPU[name]
    kept = products > 1 or dtype == narrow or (narrow, dtype) == ("bfloat16", "float32")
    wide = [onp.asarray(v, dtype if kept else narrow).astype(float) for v in (x, y)]
    expected = wide[0] @ wide[1]
    eps = max(
        float(np.finfo(dtype).eps), float(np.finfo(narrow).eps) if narrow != "bfloat16" else 0
    )
    for out in (lax.dot(x, y, precision=name), weft.jit(lambda x, y: lax.dot(x, y, name))(x, y)):
        assert out.dtype == dtype
        assert abs(onp.asarray(out, float) - expected).max() < 8 * max(eps, 1e-6)


def test_the_result_may_be_of_the_wider_dtype():
    x = np.full((1, 64), 1.01, "bfloat16")
    sums = lax.dot(x, x.T, "BF16_BF16_F32", preferred_element_type="float32")
    assert sums.dtype == "float32"
    assert float(sums[0, 0]) == 64 * float(x[0, 0]) ** 2


def test_derivatives_have_the_algorithm_too():
    loss = lambda x, y: lax.dot(x, y, "F32_F32_F32").sum()  # noqa: E731
    program = str(weft.make_jaxpr(weft.grad(loss, (0, 1)))(X, Y))
    assert program.count("precision=F32_F32_F32") == 3
    one_sided = lax.DotAlgorithm("float16", "bfloat16", "float32")
    loss = lambda x, y: lax.dot(x, y, one_sided).sum()  # noqa: E731
    algorithm = "lhs_precision_type=dtype('float16'), rhs_precision_type=dtype(bfloat16)"
    for operand in (0, 1):  # ct · yᵀ and xᵀ · ct: x, or what stands for it, is on the left
        program = str(weft.make_jaxpr(weft.grad(loss, operand))(X, Y))
        assert program.count("dot_general") == program.count(algorithm) == 2


def test_the_switch_names_an_algorithm_for_products_of_floats():
    with weft.default_matmul_precision("BF16_BF16_F32_X3"):
        assert "num_primitive_operations = 3" in weft.jit(np.matmul).lower(X, Y).as_text()
        ints, turns = np.arange(12).reshape(3, 4), 1j * np.arange(3)
        onp.testing.assert_array_equal(ints.T @ ints, onp.asarray(ints).T @ onp.asarray(ints))
        onp.testing.assert_array_equal(weft.jit(np.dot)(turns, turns), -5)
        assert lax.conv(IMAGE, KERNEL, (1, 1), "SAME").shape == (1, 2, 8, 8)
    with pytest.raises(ValueError, match="DotAlgorithmPreset"):
        weft.config.update("default_matmul_precision", "F1_F1_F1")


def test_the_switch_knows_every_preset():
    assert {*switch_values.DOT_ALGORITHMS} == {p.name for p in lax.DotAlgorithmPreset} - {"DEFAULT"}


@pytest.mark.parametrize("name", [n for n in OTHERS if "F8" not in n])
@pytest.mark.parametrize("form", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_what_the_cpu_cannot_do_is_an_error(name, form):
    with pytest.raises(
        ValueError, match=rf"the CPU can't multiply by the algorithm {name}; it has"
    ):
        form(lambda x, y: lax.dot(x, y, precision=name))(X, Y)
    exported = weft.export.export(
        weft.jit(lambda x, y: lax.dot(x, y, precision=name)), platforms=["cuda"]
    )
    assert f"lhs_precision_type = {name.split('_')[0].lower()}" in (exported(X, Y).mlir_module())


@pytest.mark.parametrize("name", [n for n in OTHERS if "F8" in n])
def test_algorithms_of_float8(name):
    f = weft.jit(lambda x: lax.dot(x, x.T, precision=name))
    text = weft.export.export(f, platforms=["cuda"])(np.ones((2, 3), "float8_e5m2")).mlir_module()
    assert "lhs_precision_type = f8E5M2" in text
    assert f"allow_imprecise_accumulation = {'true' if 'FAST' in name else 'false'}" in text
    with pytest.raises(errors.ShapeError, match="for operands of a float8 dtype; got float32"):
        f(X)


WRONG = {
    "no such preset": ("F1_F1_F1", ValueError, "a lax.DotAlgorithm or the name of a preset"),
    "a pair": (("F32_F32_F32", "F32_F32_F32"), ValueError, "precision must be"),
    "integers": (lax.DotAlgorithm("int8", "int8", "int32"), TypeError, "must be a float dtype"),
    "a dtype of integers": (
        lax.DotAlgorithm("float32", onp.dtype("int8"), "float32"), TypeError, "rhs_precision_type",
    ),
    "nothing": (lax.DotAlgorithm(None, None, "float32"), TypeError, "lhs_precision_type"),
    "not known": (
        lax.DotAlgorithm("float32", "float32", "float64"), ValueError, "the CPU can't multiply",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_algorithms_are_refused(what):
    precision, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        np.matmul(X, Y, precision=precision)


def test_convolutions_have_no_algorithms():
    with pytest.raises(ValueError, match="not for convolutions"):
        lax.conv(IMAGE, KERNEL, (1, 1), "SAME", precision="F32_F32_F32")


def test_precisions_are_printed_and_found_by_name():
    assert f"{lax.Precision.HIGHEST} {lax.Precision.HIGH!r}" == "HIGHEST HIGH"
    assert lax.Precision("highest") is lax.Precision("float32") is lax.Precision.HIGHEST
    assert lax.Precision("bfloat16_3x") is lax.Precision.HIGH
    assert lax.Precision(None) is lax.Precision("fastest") is lax.Precision.DEFAULT
    for value in ("best", 3, 1.5):
        with pytest.raises(ValueError, match="is not a valid Precision"):
            lax.Precision(value)
