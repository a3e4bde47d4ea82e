"""Tables of `lax`: functions and arguments in source text."""

REAL = ("int8", "uint8", "int32", "float16", "bfloat16", "float32")
KINDS = ("bool", *REAL, "complex64")

UNARY = {
    "float16 bfloat16 float32": "abs neg sign floor ceil is_finite sqrt rsqrt cbrt square exp exp2 "
    "expm1 log log1p logistic sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc "
    "bessel_i0e bessel_i1e reciprocal zeros_like",
    "int8 uint8 int32": "neg sign bitwise_not clz population_count square",
    "bool": "bitwise_not",
}
UNARY_COMPLEX = (
    "neg abs sign sqrt exp log sin cos tan tanh sinh cosh logistic square real imag conj"
)
BINARY = {
    "float16 bfloat16 float32": "add sub mul div rem max min pow atan2 nextafter eq ne lt le",
    "int8 uint8 int32": "add sub mul div rem max min bitwise_and bitwise_xor shift_left "
    "shift_right_logical shift_right_arithmetic eq gt ge",
    "bool": "bitwise_or bitwise_xor eq max min",
    "complex64": "add sub mul div pow eq ne",
}
CONVERTED = (*KINDS, "int4", "uint4", "float8_e4m3fn", "float8_e5m2")

SHAPED = """
reshape(x, (24,)); reshape(x, (4, 6)); reshape(x, (12, 2), (2, 0, 1)); transpose(x, (2, 0, 1));
broadcast(x, (2, 0)); broadcast_in_dim(x, (5, 2, 3, 4), (1, 2, 3)); broadcast_to_rank(x, 5);
collapse(x, 0, 2); collapse(x, 1); expand_dims(x, (-1, 0)); squeeze(x[None], (0,));
tile(x, (2, 0, 1)); rev(x, (0, 2)); concatenate([x, x], 1); split(x, (1, 0, 3), axis=2);
slice(x, (1, 0, 1), (2, 2, 4), (1, 1, 2));
pad(x, x[0, 0, 0], ((1, -1, 2), (-2, 3, 0), (-1, -1, 1))); slice_in_dim(x, -3, None, 2, -1);
index_in_dim(x, -1, 2, False); dynamic_slice(x, (9, -1, -9), (1, 2, 2));
dynamic_slice(x, (np.int8(-1), np.int8(99), np.int8(0)), (2, 1, 3));
dynamic_slice_in_dim(x, 3, 2, -1); dynamic_index_in_dim(x, -1, 1);
dynamic_update_slice(x, x[:1, :2], (1, -1, 9)); dynamic_update_slice_in_dim(x, x[:, :1], 5, 1);
dynamic_update_index_in_dim(x, x[0], -1, 0); argmax(x, 1, np.int32); argmin(x, 2, np.uint8);
sort(x, dimension=1); sort((x, x[::-1]), num_keys=2);
sort_key_val(x, np.arange(24).reshape(2, 3, 4)); reduce_max(x, (0, 2)); reduce_min(x, ());
select(x == x[0], x, x[::-1]); select_n(np.full(x.shape, 7), x, x[::-1], x);
select_n(np.array(True), x, x[::-1]); full_like(x, 1); full_like(x, 1, shape=(2,))
"""
OF_NUMBERS = """
reduce_sum(x, (0, 2)); reduce_prod(x, (1,)); cumsum(x, 1); cumprod(x, 2, reverse=True);
integer_pow(x, 3);
reduce_window(x, lax.convert_element_type(0, x.dtype), lax.add, (1, 2, 3), (1, 1, 2), 'SAME');
reduce_window(x, lax.convert_element_type(1, x.dtype), lax.mul, (2, 2, 2), (1, 1, 1), ((0, 1), (1,
    0), (2, 1)), (1, 2, 1), (1, 1, 2));
reduce(x, lax.convert_element_type(0, x.dtype), lax.add, (0, 2));
dot_general(x, x, (((1, 2), (1, 2)), ((), ()))); dot(x[0], x[1].T);
dot_general(x, x, (((2,), (2,)), ((0,), (0,)))); dot_general(x, x, (((), ()), ((0, 1), (0, 1))));
batch_matmul(x, x.transpose(0, 2, 1));
conv(x[None], x[:, :2, :2].reshape(1, 2, 2, 2), (1, 1), 'SAME');
conv_general_dilated(x, x[:, :3, :2], (2,), ((1, 2),), (2,), (3,));
conv_general_dilated(x, x[:, :, :2], (1,), 'VALID', batch_group_count=2);
conv_transpose(x, x[:, :1].reshape(1, 4, 2), (2,), 'SAME');
conv_general_dilated_patches(x, (2,), (1,), 'SAME');
scatter_add(x[0], np.asarray([[1], [9], [1]]), x[1], lax.ScatterDimensionNumbers((1,), (0,),
    (0,)));
scatter_mul(x[0], np.asarray([[1], [0]]), x[1, :2], lax.ScatterDimensionNumbers((1,), (0,), (0,)),
    mode='clip')
"""
OF_REAL = """
clamp(x[0, 0, 0], x, x[0, 1, 0]); cummax(x, 1); cummin(x, 2, reverse=True); top_k(x, 3);
reduce_window(x, x[0, 0, 0], lax.max, (1, 2, 2), (1, 2, 1), 'VALID');
scatter_max(x[0], np.asarray([[1], [-1], [1]]), x[1], lax.ScatterDimensionNumbers((1,), (0,),
    (0,)));
gather(x[0], np.asarray([[0], [9], [-1]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4));
gather(x[0], np.asarray([[0], [9]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4),
    mode='fill');
gather(x[0], np.asarray([[0], [3]]), lax.GatherDimensionNumbers((1, 2), (), (1,)), (2, 2),
    mode='clip')
"""

LOOPS = """
while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * 2), (0, x));
while_loop(lambda v: False, lambda v: v + 1, x); fori_loop(-2, 3, lambda i, v: v * i, x);
fori_loop(3, 0, lambda i, v: v, x); fori_loop(0, 3, lambda i, v: v.at[i].set(i), x);
fori_loop(np.int8(0), 3, lambda i, v: v + i, np.int8(0));
scan(lambda c, y: (c + y, c * 2), x[0], x); scan(lambda c, y: (c + 1, c), 0, None, length=4);
scan(lambda c, y: (c + y, {'q': y}), x[0], x, reverse=True);
scan(lambda c, y: (c + y, c), x[0], x, unroll=3); scan(lambda c, y: (c + y, c), 0.0, x[:0, 0]);
scan(lambda c, y: (c * 2, 3), 1, x); map(lambda v: (v * 2, v.sum()), x);
map(lambda v: v * 2, x, batch_size=2); cond(True, lambda v: v, lambda v: -v, x);
cond(x[0, 0] > 0, lambda: 1, lambda: 2); cond(3, lambda a, b: a, lambda a, b: b, 1.0, 2.5);
switch(7, [lambda: 1, lambda: 2]); switch(-7, [lambda v: v, lambda v: 2 * v], x);
associative_scan(lax.mul, x, axis=1);
associative_scan(lambda a, b: a @ b, np.stack([x[:3, :3] / 3] * 5), reverse=True)
"""

REFUSED = """
add(x, 'a'); add(x, x[0]); add(x, np.ones((3, 4), int)); add(1, 2.0); reshape(x, (5, 1));
reshape(x, (-1, -1)); transpose(x, (0, 0)); transpose(x, (0,));
broadcast_in_dim(x, (5, 7), (0, 1)); squeeze(x, (0,)); expand_dims(x, (1, 1)); tile(x, (2,));
rev(x, (0, 0)); rev(x, (5,)); concatenate([], 0); concatenate([x, x.astype('int8')], 0);
concatenate([x, x[:, :1]], 0); split(x, (1, 1)); slice(x, (0, 0), (9, 9));
slice(x, (2, 0), (1, 1)); slice(x, (0, 0), (1, 1), (0, 1)); dynamic_slice(x, (0,), (1,));
dynamic_slice(x, (0, 0), (9, 1)); dynamic_slice(x, (0.5, 0), (1, 1));
dynamic_update_slice(x, x.astype('int8'), (0, 0)); pad(x, x, ((1, 1, 0),) * 2);
pad(x, 1.0, ((1, 1, 0),)); pad(x, 1.0, ((0, 0, -1),) * 2); argmax(x, 7, 'int32');
argmax(x, 0, np.float32); argmax(np.zeros((0, 2)), 0, 'int32'); sort((x, x), num_keys=3);
sort((x, x[0])); top_k(x, 9); top_k(x, -1); select(x, x, x); select_n(np.array(1.0), x, x);
clamp(x[0], x, x[1]); reduce_sum(x, (2,)); reduce_sum(x, (0, 0)); reduce_and(x, (0,));
cumsum(x, 7); dot(x, x); dot_general(x, x, (((1,), (0,)), ((), ())));
dot_general(x, x, (((5,), (1,)), ((), ()))); batch_matmul(x, x);
conv(x[None, None], x[None, :2, :2], (1, 1), 'SAME');
conv(x[None, None], x[None, None], (1,), 'SAME');
conv_general_dilated(x[None], x[None], (1,), 'SOME');
conv_general_dilated(x[None], x[None], (0,), 'SAME');
conv_general_dilated(x[None], x[None, :2], (1,), 'SAME', feature_group_count=2);
reduce_window(x, 0.0, lax.add, (2,), (1, 1), 'SAME');
reduce_window(x, 0.0, lax.add, (0, 1), (1, 1), 'SAME'); while_loop(lambda v: v, lambda v: v, x);
while_loop(lambda v: True, lambda v: (v, v), 0.0); while_loop(lambda v: 1, lambda v: v, 0.0);
fori_loop(0, 3, lambda i, v: i * x, x[0]); scan(lambda c, y: c, 0, x);
scan(lambda c, y: (c, c), 0, x, length=9); scan(lambda c, y: (c, c), 0, (x, x[:2]));
scan(lambda c, y: (y[:2], c), x[0], x); scan(lambda c, y: (c, y), 0, None);
scan(lambda c, y: (c, y), 0, 5); map(lambda v: v, 3.0); cond(x, lambda: 1, lambda: 2);
cond(True, lambda: 1, lambda: 2.0); cond(True, lambda: x, lambda: x[0]);
cond(True, lambda: (x, 1), lambda: x); cond(None, lambda: 1, lambda: 2);
switch(1.0, [lambda: 1, lambda: 2]); switch(0, []); switch(0, [lambda: 1, lambda: x]);
associative_scan(lax.max, x, axis=4); associative_scan(3, x); full((2,), 1j, 'float32');
full((-1,), 2); full((2,), x); iota(bool, 3); iota('int32', -1); convert_element_type(x, 'text');
convert_element_type(1j, 'int8'); bitcast_convert_type(x.astype(complex), 'int32');
bitcast_convert_type(x[:, :3].astype('int8'), 'int32'); bitwise_not(x); shift_left(x, x);
exp(3 + x.astype(int)); lt(x * 1j, x * 1j); erf(x * 1j); clz(x); conj(x.astype(int)); real(x);
integer_pow(x.astype(int), -1); reduce_precision(x, 0, 3); reduce_precision(x, 5, -1);
rem(x * 1j, x * 1j); population_count(x); nextafter(x.astype(int), x.astype(int));
lgamma(x.astype(int)); igamma(x, x.astype('bfloat16'))
"""


def expressions(text):
    """The expressions between semicolons."""
    return " ".join(text.split()).split("; ")


def of(dtype, shape=(2, 3, 4), phase=0):
    return f"np.asarray(samples.wave({shape}, {phase}, '{dtype}'))"


def elementwise():
    for kinds, names in UNARY.items():
        for name in names.split():
            f = f"lax.{name}" if name != "zeros_like" else "lambda x: lax.full_like(x, 0)"
            for dtype in kinds.split():
                yield f, (f"np.asarray(samples.special('{dtype}'))",)
                yield f, (of(dtype, 9),)
    for name in UNARY_COMPLEX.split():
        yield f"lax.{name}", (of("complex64", 9),)
    for kinds, names in BINARY.items():
        for name in names.split():
            for dtype in kinds.split():
                yield f"lax.{name}", (of(dtype, 9), of(dtype, 9, 1))
                if dtype != "complex64":
                    every = f"samples.pairs(samples.special('{dtype}'), '{dtype}')"
                    yield f"lambda xy: lax.{name}(*map(np.asarray, xy))", (every,)


def conversions():
    for dtype in CONVERTED:
        for other in CONVERTED:
            if dtype == "complex64" and other == "bool":
                continue  # JAX looks at the real part alone
            yield (
                f"lambda x: lax.convert_element_type(x, samples.named('{other}'))",
                (of(dtype, 9),),
            )
    for dtype in REAL:
        for other in ("int8", "uint32", "bfloat16", "float32"):
            f = f"lambda x: lax.convert_element_type(x, samples.named('{other}'))"
            yield f, (f"np.asarray(samples.special('{dtype}'))",)
            yield f"lambda x: lax.bitcast_convert_type(x, np.{other})", (of(dtype, (3, 4)),)
    for dtype in ("float16", "bfloat16", "float32"):
        for sizes in ("5, 2", "8, 7", "1, 5", "3, 0"):
            f = f"lambda x: lax.reduce_precision(x, {sizes})"
            yield f, (f"np.asarray(samples.special('{dtype}'))",)


def structure():
    for text, kinds in ((SHAPED, KINDS), (OF_NUMBERS, (*REAL, "complex64")), (OF_REAL, REAL)):
        for e in expressions(text):
            for dtype in kinds[:: 2 if text is SHAPED else 1]:
                yield f"lambda x: lax.{e}", (of(dtype),)


def empty():
    for e in ("cumsum(x, 1)", "cummax(x, 0)", "sort(x)", "rev(x, (0,))", "reduce_sum(x, (1,))",
              "reduce_max(x, (0,))", "dot_general(x, x, (((0,), (0,)), ((), ())))", "top_k(x, 2)",
              "pad(x, 1.0, ((1, 0, 1), (0, 1, 0)))", "scan(lambda c, r: (c + r, r), x.sum(0), x)",
              "argmax(x, 1, 'int32')", "concatenate([x, x], 0)", "map(np.sum, x)",
              "conv_general_dilated(x[None], x[None, :, :2], (1,), 'SAME')"):  # fmt: skip
        yield f"lambda x: lax.{e}", ("np.zeros((0, 3))",)


def loops():
    for e in expressions(LOOPS):
        yield f"lambda x: lax.{e}", (of("float32", (3, 4)),)
        yield f"lambda x: api.jit(lambda x: lax.{e})(x)", (of("float32", (3, 4)),)


def refused():
    for e in expressions(REFUSED):
        yield f"lambda x: lax.{e}", (of("float32", (3, 4)),)


TABLES = (elementwise, conversions, structure, empty, loops, refused)
