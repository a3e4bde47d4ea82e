"""Floats of 4 and 8 bits, integers of 2 and 4: every operation on the host is the compiled one, and
that of the wide dtype, rounded."""

import io

import ml_dtypes
import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import dtypes, jit, lax

FLOATS = ("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu")
INTS = ("int2", "uint2", "int4", "uint4")
ARITHMETIC = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "max": lambda x, y: np.maximum(x, y),
    "min": lambda x, y: np.minimum(x, y),
    "abs": lambda x, y: np.abs(x),
    "sign": lambda x, y: np.sign(x),
    "where": lambda x, y: np.where(x < y, x, y),
    "equal": lambda x, y: x == y,
    "less": lambda x, y: x < y,
    "greatest": lambda x, y: np.max(x),
    "least": lambda x, y: np.min(x, axis=0),
}
MOVED = {
    "take": lambda x, y: x[np.array([3, 0, 2])],
    "reversed": lambda x, y: x[::-1],
    "joined": lambda x, y: np.concatenate([x, y]),
    "padded": lambda x, y: np.pad(x, ((1, 0), (0, 2)), constant_values=1),
    "set": lambda x, y: x.at[1].set(y[0]),
    "turned": lambda x, y: x.T,
    "sorted": lambda x, y: np.sort(x, axis=0),
    "ordered": lambda x, y: np.argsort(x, axis=0),
    "largest": lambda x, y: lax.top_k(x, 2)[0],
    "highest": lambda x, y: np.argmax(x, axis=0),
}
BITS = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "not": lambda x, y: ~x,
    "left": lambda x, y: lax.shift_left(x, y),
    "right": lambda x, y: lax.shift_right_logical(x, y),
    "right, signed": lambda x, y: lax.shift_right_arithmetic(x, y),
    "ones": lambda x, y: lax.population_count(x),
    "leading zeros": lambda x, y: lax.clz(x),
}
OTHER = {
    "half": lambda x, y: x.astype("bfloat16"),
    "int8": lambda x, y: x.astype("int8"),
    "product": lambda x, y: x @ y.T,
    "sum": lambda x, y: np.sum(x, axis=1),
    "bool": lambda x, y: x.astype(bool),
    "div": lambda x, y: lax.div(x, y),
    "neg": lambda x, y: -x,
    "power": lambda x, y: lax.integer_pow(x, 2),
    "running": lambda x, y: np.cumsum(x, axis=0),
    "bits": lambda x, y: lax.bitcast_convert_type(x, f"uint{dtypes.bit_width(x.dtype)}"),
}
NEGATIVE = ("neg", "sub", "sign", "div")  # float8_e8m0fnu has no such numbers, and no zero


def operands(name):
    dtype = onp.dtype(getattr(ml_dtypes, name))
    if name in INTS:
        info = ml_dtypes.iinfo(dtype)
        numbers = onp.arange(info.min, info.max + 1)
    else:
        bits = onp.arange(1 << dtypes.bit_width(dtype), dtype="uint8")
        numbers = bits.view(dtype).astype("float64")
        numbers = numbers[onp.isfinite(numbers)]
        if name == "float8_e8m0fnu":  # products that float32 has
            numbers = numbers[onp.abs(onp.log2(numbers)) < 60]
        numbers = numbers[onp.linspace(0, len(numbers) - 1, 24).astype(int)]
    rng = onp.random.default_rng(1)
    return [rng.choice(numbers, (6, 4)).astype(dtype) for _ in range(2)]


def wrapped(x, name):
    """Integers, of which the lowest bits are kept."""
    bits = dtypes.bit_width(name)
    low = onp.asarray(x) & (1 << bits) - 1
    return (low if name[0] == "u" else (low ^ 1 << bits - 1) - (1 << bits - 1)).astype(name)


def same(found, wanted, operation, tolerance=0.0):
    found, wanted = onp.asarray(found), onp.asarray(wanted)
    assert found.dtype == wanted.dtype, operation
    wide = [x.astype("float64") for x in (found, wanted)]
    onp.testing.assert_allclose(*wide, rtol=tolerance, err_msg=operation)


@pytest.mark.parametrize("name", [*FLOATS, *INTS])
def test_operations_on_the_host_and_compiled(name):
    """And arithmetic is that of float32, or of int32, rounded once."""
    x, y = operands(name)
    table = ARITHMETIC | MOVED | OTHER | (BITS if name in INTS else {})
    if name == "float8_e8m0fnu":
        table = {k: f for k, f in table.items() if k not in NEGATIVE}
    with weft.config.temporarily(eager_tier="host"):
        host = {k: f(np.asarray(x), np.asarray(y)) for k, f in table.items()}
    compiled = jit(lambda x, y: {k: f(x, y) for k, f in table.items()})(x, y)
    wide = [a.astype("int32" if name in INTS else "float32") for a in (x, y)]
    for operation, found in compiled.items():
        # products of floats may be rounded twice
        tolerance = 0.15 if operation == "product" else 0.0
        same(found, host[operation], operation, tolerance)
        if operation in ARITHMETIC:
            wanted = onp.asarray(ARITHMETIC[operation](*map(np.asarray, wide)))
            if wanted.dtype != bool:
                wanted = wrapped(wanted, name) if name in INTS else wanted.astype(found.dtype)
            same(found, wanted, operation)


@pytest.mark.parametrize("name", [*FLOATS, *INTS])
def test_ways_out_and_in(name):
    """Printed, converted both ways, kept in a file, exchanged by DLPack, and never promoted."""
    x = np.asarray(operands(name)[0])
    host = onp.asarray(x)
    assert repr(x).endswith(f"dtype={name})")
    same(x.astype("float32").astype(name), host, "from float32")
    same(jit(lambda x: x.astype("float32").astype(name))(x), host, "from float32, compiled")
    file = io.BytesIO()
    np.save(file, x)
    file.seek(0)
    same(np.load(file), host, "load")
    assert weft.dlpack.is_supported_dtype(name) == (dtypes.itemsize_bits(name) == 8)
    if dtypes.bit_width(name) == 8:
        same(weft.dlpack.from_dlpack(x), host, "dlpack")
        same(jit(lambda x: x)(weft.dlpack.from_dlpack(x)), host, "dlpack, compiled")
    else:
        with pytest.raises(BufferError, match=r"(?s)__dlpack__.*fix: convert"):
            x.__dlpack__()
    assert (x + (1.0 if name in FLOATS else 1)).dtype == name
    assert np.promote_types(name, bool) == name
    for other in {"float32", "float8_e5m2", "int4" if name in FLOATS else "int8"} - {name}:
        with pytest.raises(dtypes.TypePromotionError, match="never promoted implicitly"):
            np.promote_types(name, other)


@pytest.mark.parametrize("name", [*FLOATS, *INTS])
def test_conversions_from_all_to_all(name):
    """By the compiled program and the host; from float32 to integers towards zero and clipped."""
    x = np.asarray(operands(name)[0])
    targets = [*FLOATS, *INTS, "float8_e5m2", "int32", "float32", "bool"]
    targets = [t for t in targets if not (t == "float8_e8m0fnu" and name != t)]  # it has no zero
    with weft.config.temporarily(eager_tier="host"):
        host = [x.astype(t) for t in targets]
    for target, found, wanted in zip(
        targets, jit(lambda x: [x.astype(t) for t in targets])(x), host, strict=True
    ):
        same(found, wanted, target)
        if name in FLOATS and target in INTS:
            info = dtypes.iinfo(target)
            numbers = onp.clip(onp.trunc(onp.asarray(x, "float64")), info.min, info.max)
            onp.testing.assert_array_equal(onp.asarray(found, "int8"), numbers)


PAIRS = [
    ("int2", "uint2"), ("int2", "uint8"), ("uint8", "uint2"), ("uint2", "int4"), ("int4", "uint2"),
    ("float4_e2m1fn", "uint8"), ("uint8", "float4_e2m1fn"), ("int16", "int2"), ("int2", "int16"),
    ("int4", "float32"), ("float32", "int4"), ("float8_e8m0fnu", "uint8"),
]  # fmt: skip


def test_bits_of_few_are_packed_as_by_the_compiler():
    bits = onp.random.default_rng(0).integers(0, 256, (5, 32)).astype("uint8")
    functions, values = {}, {}
    for source, target in PAIRS:
        old, new = dtypes.bit_width(source), dtypes.bit_width(target)
        value = np.asarray(bits)
        if source != "uint8":
            value = lax.bitcast_convert_type(np.asarray(bits.view("uint32")), source)
        if new > old:
            value = value.reshape(-1, new // old)
        values[source, target] = value
        functions[source, target] = lambda x, t=target: lax.bitcast_convert_type(x, t)
    run = lambda values: {k: f(values[k]) for k, f in functions.items()}  # noqa: E731
    with weft.config.temporarily(eager_tier="host"):
        host = run(values)
    for pair, found in jit(run)(values).items():
        same(found, host[pair], pair)
