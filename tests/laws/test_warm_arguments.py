"""An argument is refused, or accepted, when a function is warm as it was when it was cold.

Plans and types are found in caches by what equals their keys, and 1 == 1.0 == True: a function that
has worked for axis=1 must go on refusing axis=1.0.
"""

from decimal import Decimal

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax, random
from weft.config import caches
from weft.core.jaxpr import Jaxpr

SHAPE = (13, 11)  # of no other test: what is cached for it is cached here
X = np.arange(143, dtype="f").reshape(SHAPE) / 71 - 1
ONE = np.array([[1]])
WHOLE = np.arange(143, dtype="i").reshape(SHAPE)


def functions(module, names):
    return [(name, getattr(module, name)) for name in names.split()]


def numpy_rows():
    """(name, function of values and the argument, a good argument)."""
    for name, f in functions(
        wnp,
        "sum prod max min all any mean var std ptp argmax argmin count_nonzero cumsum cumprod amax "
        "amin median nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian nanargmax "
        "nanargmin nancumsum nancumprod sort argsort flip unstack expand_dims average "
        "cumulative_sum cumulative_prod",
    ):
        yield name, lambda x, a, f=f: f(x, axis=a), 1
    for name, f in functions(
        wnp, "sum prod max min all any mean var std ptp flip median nansum expand_dims"
    ):
        yield f"{name} of two", lambda x, a, f=f: f(x, axis=a), (0, 1)
    for name, f in functions(wnp, "quantile percentile nanquantile nanpercentile"):
        yield name, lambda x, a, f=f: f(x, 0.5, axis=a), 1
    for name, f in functions(wnp, "concatenate stack"):
        yield name, lambda x, a, f=f: f([x, x], axis=a), 1
        yield f"{name} of one", lambda x, a, f=f: f([x], axis=a), 1
    yield "concat", lambda x, a: wnp.concat([x, x], axis=a), 1
    for name, f in functions(wnp, "split array_split"):
        yield f"{name} axis", lambda x, a, f=f: f(x, [1], axis=a), 1
        yield f"{name} at", lambda x, a, f=f: f(x, [a]), 1
        yield name, lambda x, n, f=f: f(x, n), 1
    for name, f in functions(wnp, "hsplit vsplit"):
        yield name, lambda x, n, f=f: f(x, n), 1
    yield "append", lambda x, a: wnp.append(x, x, axis=a), 1
    yield "delete", lambda x, a: wnp.delete(x, 0, axis=a), 1
    yield "delete at", lambda x, i: wnp.delete(x, i, axis=1), 1
    yield "insert", lambda x, a: wnp.insert(x, 0, 1.0, axis=a), 1
    yield "diff", lambda x, a: wnp.diff(x, axis=a), 1
    yield "diff order", lambda x, n: wnp.diff(x, n), 1
    yield "gradient", lambda x, a: wnp.gradient(x, axis=a), 1
    yield "trapezoid", lambda x, a: wnp.trapezoid(x, axis=a), 1
    yield "take", lambda x, a: wnp.take(x, np.array([1, 2]), axis=a), 1
    yield "take_along_axis", lambda x, a: wnp.take_along_axis(x, np.zeros(SHAPE, int), axis=a), 1
    yield "compress", lambda x, a: wnp.compress(np.ones(2, bool), x, axis=a), 1
    yield "repeat", lambda x, n: wnp.repeat(x, n), 1
    yield "repeat axis", lambda x, a: wnp.repeat(x, 2, axis=a), 1
    yield "tile", lambda x, n: wnp.tile(x, n), 1
    yield "tile of two", lambda x, n: wnp.tile(x, n), (2, 1)
    yield "roll", lambda x, n: wnp.roll(x, n), 1
    yield "roll axis", lambda x, a: wnp.roll(x, 1, axis=a), 1
    yield "reshape", lambda x, s: wnp.reshape(x, s), (1, -1)
    yield "reshape to one", lambda x, n: wnp.reshape(x, n), 143
    yield "reshape in Fortran's order", lambda x, s: wnp.reshape(x, s, "F"), (1, -1)
    yield "x.reshape", lambda x, n: wnp.asarray(x).reshape(n, 1), 143
    yield "transpose", lambda x, a: wnp.transpose(x, a), (1, 0)
    yield "swapaxes", lambda x, a: wnp.swapaxes(x, 0, a), 1
    yield "moveaxis", lambda x, a: wnp.moveaxis(x, 0, a), 1
    yield "rollaxis", lambda x, a: wnp.rollaxis(x, a), 1
    yield "squeeze", lambda x, a: wnp.squeeze(x[:, :1], axis=a), 1
    yield "broadcast_to", lambda x, s: wnp.broadcast_to(x[0], s), (1, 11)
    yield "rot90", lambda x, k: wnp.rot90(x, k), 1
    yield "rot90 axes", lambda x, a: wnp.rot90(x, 1, a), (0, 1)
    yield "resize", lambda x, s: wnp.resize(x, s), (1, 143)
    yield "diagonal", lambda x, k: wnp.diagonal(x, k), 1
    yield "diagonal axis", lambda x, a: wnp.diagonal(x, 0, 0, a), 1
    yield "trace", lambda x, k: wnp.trace(x, k), 1
    yield "tril", lambda x, k: wnp.tril(x, k), 1
    yield "triu", lambda x, k: wnp.triu(x, k), 1
    yield "diag", lambda x, k: wnp.diag(x, k), 1
    yield "vander", lambda x, n: wnp.vander(x[0], n), 1
    yield "pad", lambda x, n: wnp.pad(x, n), 1
    yield "partition", lambda x, n: wnp.partition(x, n), 1
    yield "argpartition", lambda x, n: wnp.argpartition(x, n), 1
    yield "tensordot", lambda x, n: wnp.tensordot(x, x.T, n), 1
    yield "cross", lambda x, a: wnp.cross(x[:3, :3], x[:3, :3], axis=a), 1
    yield "apply_along_axis", lambda x, a: wnp.apply_along_axis(wnp.sum, a, x), 1
    yield "nonzero", lambda x, n: wnp.nonzero(x, size=n), 1
    yield "unique", lambda x, n: wnp.unique(x, size=n), 1
    yield "bincount", lambda x, n: wnp.bincount(WHOLE[0], length=n), 1
    yield "histogram", lambda x, n: wnp.histogram(x, n), 1
    yield "x[i]", lambda x, i: wnp.asarray(x)[i], 1
    yield "x[i, j]", lambda x, i: wnp.asarray(x)[i], (1, 0)
    yield "x[:i]", lambda x, i: wnp.asarray(x)[:i], 1
    yield "x.at[i]", lambda x, i: wnp.asarray(x).at[i].set(2.0), 1
    yield "packbits", lambda x, a: wnp.packbits(WHOLE.astype("u1"), axis=a), 1
    yield "x ** n", lambda x, n: wnp.asarray(WHOLE) ** n, 1
    yield "power", lambda x, n: wnp.power(WHOLE, n), 1
    for name, f in functions(wnp, "zeros ones empty"):
        yield name, lambda x, s, f=f: f(s), (13, 1)
        yield f"{name} of one", lambda x, n, f=f: f(n), 13
    yield "full", lambda x, s: wnp.full(s, 2.0), (13, 1)
    yield "eye", lambda x, n: wnp.eye(n), 1
    yield "identity", lambda x, n: wnp.identity(n), 1
    yield "linspace", lambda x, n: wnp.linspace(0, 1, n), 1
    yield "logspace", lambda x, n: wnp.logspace(0, 1, n), 1
    yield "geomspace", lambda x, n: wnp.geomspace(1, 2, n), 1
    yield "indices", lambda x, s: wnp.indices(s), (2, 1)
    yield "tri", lambda x, n: wnp.tri(n), 1
    yield "zeros_like", lambda x, s: wnp.zeros_like(x, shape=s), (13, 1)
    reductions = "sum prod max min mean var std ptp nansum nanmax nanmean median count_nonzero"
    for name, f in functions(wnp, f"{reductions} argmax argmin nanargmax"):
        yield f"{name} keepdims", lambda x, b, f=f: f(x, 1, keepdims=b), True
        yield f"{name} not keepdims", lambda x, b, f=f: f(x, 1, keepdims=b), False
    for name, f in functions(wnp, "sum prod max min"):
        yield f"{name} initial", lambda x, v, f=f: f(WHOLE, 1, initial=v), 1
        yield f"{name} initial zero", lambda x, v, f=f: f(x[:0], 0, initial=v), 0
        yield f"{name} where", lambda x, b, f=f: f(x, 1, initial=1, where=b), True
    for name, f in functions(wnp, "sum prod cumsum cumprod mean var std"):
        yield f"{name} dtype", lambda x, d, f=f: f(WHOLE % 3, 1, dtype=d), np.float32
    for name, f in functions(wnp, "var std nanvar nanstd"):
        yield f"{name} ddof", lambda x, n, f=f: f(x, 1, ddof=n), 1
        yield f"{name} ddof of int", lambda x, n, f=f: f(WHOLE, 1, ddof=n), 1
    for name, f in functions(wnp, "zeros ones empty"):
        yield f"{name} dtype", lambda x, d, f=f: f((2,), d), np.int32
    yield "full value", lambda x, v: wnp.full((2,), v), 1
    yield "full value and dtype", lambda x, v: wnp.full((2,), v, "int32"), 1
    yield "full_like value", lambda x, v: wnp.full_like(WHOLE, v), 1
    yield "asarray of", lambda x, v: wnp.asarray(v), 1
    yield "asarray", lambda x, d: wnp.asarray(WHOLE, d), np.float32
    yield "astype", lambda x, d: x.astype(d), np.int32
    yield "view", lambda x, d: x.view(d), np.int32
    yield "x + v", lambda x, v: wnp.asarray(WHOLE) + v, 1
    yield "v - x", lambda x, v: v - wnp.asarray(WHOLE), 1
    yield "where", lambda x, v: wnp.where(x > 0, WHOLE, v), 1
    yield "clip", lambda x, v: wnp.clip(WHOLE, v, 5), 1
    yield "maximum", lambda x, v: wnp.maximum(WHOLE, v), 1
    yield "round", lambda x, n: wnp.round(x, n), 1
    yield "round of int", lambda x, n: wnp.round(WHOLE, n), 1
    yield "x.round", lambda x, n: x.round(n), 1
    yield "nan_to_num", lambda x, v: wnp.nan_to_num(x / 0 * 0, nan=v), 1
    yield "pad value", lambda x, v: wnp.pad(WHOLE, 1, constant_values=v), 1
    yield "x.at[].set", lambda x, v: wnp.asarray(WHOLE).at[0].set(v), 1
    yield "arange", lambda x, n: wnp.arange(n), 13
    yield "arange from", lambda x, n: wnp.arange(n, 3), 1
    yield "linspace from", lambda x, n: wnp.linspace(n, 3, 4), 1
    yield "linspace endpoint", lambda x, b: wnp.linspace(0, 1, 4, endpoint=b), True
    yield "linspace dtype", lambda x, d: wnp.linspace(0, 9, 4, dtype=d), np.int32
    yield "eye offset", lambda x, k: wnp.eye(3, k=k), 1
    yield "sort stable", lambda x, b: wnp.sort(x, stable=b), True
    yield "sort descending", lambda x, b: wnp.sort(x, descending=b), True
    yield "argsort descending", lambda x, b: wnp.argsort(x, descending=b), True
    yield "searchsorted", lambda x, v: wnp.searchsorted(WHOLE[0], v), 1
    yield "unique counts", lambda x, b: wnp.unique(x, return_counts=b), True
    yield "vander increasing", lambda x, b: wnp.vander(x[0], 3, b), True
    yield "average returned", lambda x, b: wnp.average(x, 1, returned=b), True
    yield "histogram density", lambda x, b: wnp.histogram(x, 3, density=b), True
    yield "cov bias", lambda x, b: wnp.cov(x, bias=b), True
    yield "cov ddof", lambda x, n: wnp.cov(x, ddof=n), 1
    yield "cov rowvar", lambda x, b: wnp.cov(x, rowvar=b), True
    yield "isclose equal_nan", lambda x, b: wnp.isclose(x, x / 0 * 0, equal_nan=b), True
    yield "allclose tolerance", lambda x, v: wnp.allclose(x, x + 1, atol=v), 1
    yield "quantile at", lambda x, q: wnp.quantile(x, q, axis=1), 1
    yield "quantile keepdims", lambda x, b: wnp.quantile(x, 0.5, axis=1, keepdims=b), True
    yield "ldexp", lambda x, n: wnp.ldexp(x, n), 1
    yield "divmod", lambda x, n: wnp.divmod(WHOLE, n), 1
    yield "left_shift", lambda x, n: wnp.left_shift(WHOLE, n), 1
    yield "rollaxis to", lambda x, a: wnp.rollaxis(x, 0, a), 1
    yield "tri offset", lambda x, k: wnp.tri(3, k=k), 1
    yield "ediff1d", lambda x, v: wnp.ediff1d(WHOLE, to_end=v), 1
    yield "nanquantile at", lambda x, q: wnp.nanquantile(x, q, axis=1), 1
    yield "interp", lambda x, v: wnp.interp(v, x[0], x[0]), 1
    yield "trapezoid step", lambda x, v: wnp.trapezoid(WHOLE, dx=v), 1
    yield "gradient step", lambda x, v: wnp.gradient(WHOLE, v, axis=1), 1
    yield "heaviside", lambda x, v: wnp.heaviside(x, v), 1
    yield "float_power", lambda x, v: wnp.float_power(WHOLE, v), 1


def lax_rows():
    for name, f in functions(lax, "cumsum cumprod cummax cummin cumlogsumexp sort"):
        at = "dimension" if name == "sort" else "axis"
        yield name, lambda x, a, f=f, at=at: f(x, **{at: a}), 1
    for name, f in functions(lax, "argmax argmin"):
        yield name, lambda x, a, f=f: f(x, a, np.int32), 1
    for name, f in functions(lax, "reduce_sum reduce_prod reduce_max reduce_min"):
        yield name, lambda x, a, f=f: f(x, a), (1,)
    for name, f in functions(lax, "reduce_and reduce_or reduce_xor"):
        yield name, lambda x, a, f=f: f(WHOLE, a), (1,)
    yield "reduce", lambda x, a: lax.reduce(x, 0.0, lax.add, a), (1,)
    yield "reshape", lambda x, s: lax.reshape(x, s), (1, 143)
    yield "transpose", lambda x, a: lax.transpose(x, a), (1, 0)
    yield "squeeze", lambda x, a: lax.squeeze(x[:, :1], a), (1,)
    yield "expand_dims", lambda x, a: lax.expand_dims(x, a), (1,)
    yield "broadcast", lambda x, s: lax.broadcast(x, s), (1,)
    yield "broadcast_in_dim", lambda x, s: lax.broadcast_in_dim(x[0], s, (1,)), (1, 11)
    yield "broadcast_in_dim dims", lambda x, a: lax.broadcast_in_dim(x[0], (2, 11), a), (1,)
    yield "broadcast_to_rank", lambda x, n: lax.broadcast_to_rank(x[0, 0], n), 1
    yield "collapse", lambda x, a: lax.collapse(x, 0, a), 1
    yield "rev", lambda x, a: lax.rev(x, a), (1,)
    yield "concatenate", lambda x, a: lax.concatenate([x, x], a), 1
    yield "split", lambda x, s: lax.split(x, s, 1), (1, 10)
    yield "split axis", lambda x, a: lax.split(x, (1, 10), a), 1
    yield "slice", lambda x, s: lax.slice(x, s, (2, 2)), (1, 0)
    yield "slice limit", lambda x, s: lax.slice(x, (0, 0), s), (1, 1)
    yield "slice strides", lambda x, s: lax.slice(x, (0, 0), (2, 2), s), (1, 1)
    yield "slice_in_dim", lambda x, i: lax.slice_in_dim(x, i, 3), 1
    yield "slice_in_dim axis", lambda x, a: lax.slice_in_dim(x, 0, 3, axis=a), 1
    yield "index_in_dim", lambda x, i: lax.index_in_dim(x, i), 1
    yield "index_in_dim axis", lambda x, a: lax.index_in_dim(x, 0, a), 1
    yield "dynamic_slice", lambda x, s: lax.dynamic_slice(x, (0, 0), s), (1, 1)
    yield "dynamic_slice at", lambda x, s: lax.dynamic_slice(x, s, (2, 2)), (1, 0)
    yield "dynamic_slice_in_dim", lambda x, n: lax.dynamic_slice_in_dim(x, 0, n), 1
    yield "dynamic_slice_in_dim axis", lambda x, a: lax.dynamic_slice_in_dim(x, 0, 1, a), 1
    yield "dynamic_index_in_dim", lambda x, a: lax.dynamic_index_in_dim(x, 0, a), 1
    yield "dynamic_update_slice_in_dim", lambda x, a: lax.dynamic_update_slice_in_dim(x, x, 0, a), 1
    yield "pad", lambda x, n: lax.pad(x, 0.0, [(n, 0, 0), (0, 0, 0)]), 1
    yield "iota", lambda x, n: lax.iota(np.float32, n), 1
    yield "broadcasted_iota", lambda x, s: lax.broadcasted_iota(np.float32, s, 1), (13, 1)
    yield "broadcasted_iota axis", lambda x, a: lax.broadcasted_iota(np.float32, (3, 2), a), 1
    yield "full", lambda x, s: lax.full(s, 2.0), (13, 1)
    yield "tile", lambda x, n: lax.tile(x, n), (2, 1)
    yield "top_k", lambda x, k: lax.top_k(x, k), 1
    yield "approx_max_k", lambda x, k: lax.approx_max_k(x, k), 1
    yield "sort_key_val", lambda x, a: lax.sort_key_val(x, x, a), 1
    yield "integer_pow", lambda x, n: lax.integer_pow(x, n), 1
    yield "dot_general", lambda x, a: lax.dot_general(x, x, (((a,), (a,)), ((), ()))), 1
    yield (
        "reduce_window",
        lambda x, s: lax.reduce_window(x, 0.0, lax.add, s, (1, 1), "VALID"),
        (2, 1),
    )
    yield "reduce_precision", lambda x, n: lax.reduce_precision(x, 5, n), 1
    yield "associative_scan", lambda x, a: lax.associative_scan(lax.add, x, axis=a), 1
    yield "approx_min_k", lambda x, k: lax.approx_min_k(x, k), 1
    yield "approx_min_k axis", lambda x, a: lax.approx_min_k(x, 2, a), 1
    yield "approx_max_k axis", lambda x, a: lax.approx_max_k(x, 2, a), 1
    yield "top_k axis", lambda x, a: lax.top_k(x, 2, axis=a), 1
    yield "argmax dtype", lambda x, d: lax.argmax(x, 1, d), np.int32
    yield "index_take", lambda x, a: lax.index_take(x, [np.array([1, 2])], a), (1,)
    yield "dynamic_update_slice", lambda x, s: lax.dynamic_update_slice(x, x[:2, :2], s), (1, 0)
    yield (
        "dynamic_update_index_in_dim",
        lambda x, a: lax.dynamic_update_index_in_dim(x, x[:, 0], 0, a),
        1,
    )
    yield "slice_in_dim stride", lambda x, n: lax.slice_in_dim(x, 0, 3, n), 1
    yield "full_like", lambda x, s: lax.full_like(x, 2.0, shape=s), (13, 1)
    yield "full value", lambda x, v: lax.full((2,), v, np.int32), 1
    yield "full of a value", lambda x, v: lax.full((2,), v), 1
    yield "broadcast_shapes", lambda x, s: wnp.zeros(lax.broadcast_shapes(s, (13, 1))), (13, 1)
    yield "reshape dimensions", lambda x, a: lax.reshape(x, (143,), a), (0, 1)
    yield "convert_element_type", lambda x, d: lax.convert_element_type(x, d), np.int32
    yield "bitcast_convert_type", lambda x, d: lax.bitcast_convert_type(x, d), np.int32
    yield "reduce_precision exponent", lambda x, n: lax.reduce_precision(x, n, 5), 1
    yield "map", lambda x, n: lax.map(lambda r: r * 2, x, batch_size=n), 1
    for name in ("scan", "fori_loop"):
        yield f"{name} unroll", loop(name), 1
    yield "scan length", lambda x, n: lax.scan(lambda c, _: (c + 1, c), x[0], None, length=n), 1
    yield "scan reverse", lambda x, r: lax.scan(lambda c, y: (c + y, c), x[0], x, reverse=r), True
    for name, f in functions(lax, "cumsum cumprod cummax cummin cumlogsumexp"):
        yield f"{name} reverse", lambda x, r, f=f: f(x, 1, reverse=r), True
    yield "sort stable", lambda x, b: lax.sort(x, is_stable=b), True
    yield "sort keys", lambda x, n: lax.sort((x, x), num_keys=n), 1
    yield "index_in_dim keepdims", lambda x, b: lax.index_in_dim(x, 0, 1, b), True
    image, kernel = X[None, None], X[None, None, :2, :2]
    rows = X[:, :, None, None][:, :5].reshape(1, 13, 5, 1)
    yield "conv", lambda x, s: lax.conv(image, kernel, s, "VALID"), (1, 1)
    for word in ("lhs_dilation", "rhs_dilation"):
        yield f"conv {word}", convolved(image, kernel, word), (1, 1)
    for word in ("feature_group_count", "batch_group_count"):
        yield f"conv {word}", convolved(image, kernel, word), 1
    yield "conv padding", convolved(image, kernel, "padding", by_pairs=True), (1, 1)
    yield (
        "conv_transpose",
        lambda x, s: lax.conv_transpose(rows, rows[0, :4].reshape(2, 2, 1, 5)[..., :1], s, "VALID"),
        (1, 1),
    )
    yield (
        "conv_general_dilated_patches",
        lambda x, s: lax.conv_general_dilated_patches(image, s, (1, 1), "VALID"),
        (2, 1),
    )
    for word in ("window_strides", "base_dilation", "window_dilation"):
        yield f"reduce_window {word}", windows(word), (1, 1)
    yield "reduce_window padding", windows("padding", by_pairs=True), (1, 1)
    numbers = lax.GatherDimensionNumbers((0,), (1,), (1,))
    yield "gather sizes", lambda x, s, n=numbers: lax.gather(x, ONE, n, s), (2, 1)
    for word, good in zip(numbers._fields[:3], ((0,), (1,), (1,)), strict=True):
        yield f"gather {word}", gathered(numbers, word), good
    yield "gather unique", gathered(numbers, "unique_indices"), True
    numbers = lax.ScatterDimensionNumbers((1,), (1,), (1,))
    for word, good in zip(numbers._fields[:3], ((1,), (1,), (1,)), strict=True):
        yield f"scatter_add {word}", scattered(numbers, word), good
    for name in ("all_gather", "psum_scatter", "pswapaxes"):
        yield name, along_axis(name), 1
    yield "all_gather tiled", mapped(lambda r, b: lax.all_gather(r, "i", tiled=b)), True
    yield "all_to_all", mapped(lambda r, a: lax.all_to_all(square(r), "i", a, 0)), 1
    yield "all_to_all to", mapped(lambda r, a: lax.all_to_all(square(r), "i", 0, a)), 1
    yield "ppermute", mapped(lambda r, n: lax.ppermute(r, "i", [(0, n)])), 1


def loop(name):
    if name == "scan":
        return lambda x, n: lax.scan(lambda c, y: (c + y, c), x[0], x, unroll=n)
    return lambda x, n: lax.fori_loop(0, 3, lambda i, c: c * 2, x, unroll=n)


def by_word(word, argument, by_pairs, **options):
    """Options of which one is the argument: two numbers, or a pair of them for each axis."""
    return {**options, word: [argument, (1, 1)] if by_pairs else argument}


def convolved(image, kernel, word, by_pairs=False):
    return lambda x, a: lax.conv_general_dilated(
        image, kernel, **by_word(word, a, by_pairs, window_strides=(1, 1), padding="VALID")
    )


def windows(word, by_pairs=False):
    return lambda x, a: lax.reduce_window(
        x, 0.0, lax.add, (2, 1),
        **by_word(word, a, by_pairs, window_strides=(1, 1), padding="VALID"),
    )  # fmt: skip


def gathered(numbers, word):
    def call(x, a):
        if word in numbers._fields:
            return lax.gather(x, ONE, numbers._replace(**{word: a}), (2, 1))
        return lax.gather(x, ONE, numbers, (2, 1), **{word: a})

    return call


def scattered(numbers, word):
    return lambda x, a: lax.scatter_add(x, ONE, x[:1, :2], numbers._replace(**{word: a}))


def square(r):
    return wnp.broadcast_to(r[:, None], (13, 13, *r.shape[1:]))


def mapped(f):
    return lambda x, a: weft.vmap(lambda r: f(r, a), axis_name="i")(wnp.ones((13, 13, 2)))


def along_axis(name):
    if name == "all_gather":
        return mapped(lambda r, a: lax.all_gather(r, "i", axis=a))
    if name == "psum_scatter":
        return mapped(lambda r, a: lax.psum_scatter(square(r), "i", scatter_dimension=a))
    return mapped(lambda r, a: lax.pswapaxes(square(r), "i", a))


def other_rows():
    key = random.PRNGKey(0)
    yield "random.normal", lambda x, s: random.normal(key, s), (13, 1)
    yield "random.uniform", lambda x, s: random.uniform(key, s), (13, 1)
    yield "random.split", lambda x, n: random.split(key, n), 1
    yield "random.bits", lambda x, s: random.bits(key, s), (13, 1)
    yield "random.permutation", lambda x, a: random.permutation(key, x, axis=a), 1


ROWS = [
    *[(f"numpy.{name}", f, good) for name, f, good in numpy_rows()],
    *[(f"lax.{name}", f, good) for name, f, good in lax_rows()],
    *other_rows(),
]


def equals_of(good):
    """What equals a good argument and may not be one."""
    if isinstance(good, type):
        yield from (np.dtype(good), np.dtype(good).name, np.dtype(good).newbyteorder("="))
        return
    if isinstance(good, tuple):
        for i, n in enumerate(good):
            for other in equals_of(n):
                yield (*good[:i], other, *good[i + 1 :])
        return
    yield from (float(good), complex(good), np.float32(good), Decimal(good))
    if good in (0, 1):
        yield from (bool(good), np.bool_(good))


def outcome(f, x, argument):
    """The error of a call, or the arrays that come out."""
    try:
        result = f(x, argument)
    except Exception as error:  # any: it is compared
        return type(error), str(error)
    leaves = [v.host() for v in map(wnp.asarray, weft.tree_util.tree_leaves(result))]
    return [(v.shape, v.dtype, v.tobytes()) for v in leaves]


def forget():
    """Empties the caches of operations and the plans of functions: the next call is cold."""
    with weft.enable_x64(True):
        pass  # plans are dropped where a switch is turned
    for cache in caches.now:
        cache.clear()


@pytest.mark.parametrize(("f", "good"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_equals_a_good_argument_is_treated_alike_cold_and_warm(f, good):
    x = wnp.asarray(X)
    forget()
    expected = outcome(f, x, good)
    assert isinstance(expected, list), expected
    cold = []
    for a in equals_of(good):
        forget()
        cold.append(outcome(f, x, a))
        # what is not one is not kept in its place
        assert outcome(f, x, good) == expected, a
    forget()
    for _ in range(4):
        f(x, good)
    warm = [outcome(f, x, a) for a in equals_of(good)]
    assert warm == cold


def classes(value):
    """The classes in a program's parameters: what equals them is found in caches in their place."""
    if isinstance(value, Jaxpr):
        return [(e.primitive, [(n, classes(v)) for n, v in e.params]) for e in value.equations]
    if isinstance(value, tuple):
        return type(value), [classes(v) for v in value]
    return type(value)


@pytest.mark.parametrize(
    ("f", "good"),
    [row[1:] for row in ROWS if row[0].startswith("lax.")],
    ids=[row[0] for row in ROWS if row[0].startswith("lax.")],
)
def test_parameters_of_primitives_are_of_the_same_classes_for_what_equals_an_argument(f, good):
    expected = classes(weft.make_jaxpr(lambda x: f(x, good))(X))
    for a in equals_of(good):
        try:
            jaxpr = weft.make_jaxpr(lambda x, a=a: f(x, a))(X)
        except (TypeError, ValueError):  # refused
            continue
        assert classes(jaxpr) == expected, a


@pytest.mark.parametrize(
    ("name", "f"), functions(wnp, "sum prod max min all any mean var std argmax argmin")
)
def test_a_float_is_no_axis(name, f):
    x = wnp.ones((5, 3, 17))
    for _ in range(3):
        with pytest.raises(TypeError, match=f"{name}: axis must be an int; got float 1.0"):
            f(x, axis=1.0)
        f(x, axis=1)
