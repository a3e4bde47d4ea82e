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

SHAPE = (13, 11)  # of no other test: what is cached for it is cached here
X = np.arange(143, dtype="f").reshape(SHAPE) / 71 - 1
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
    if isinstance(good, tuple):
        for i, n in enumerate(good):
            for other in equals_of(n):
                yield (*good[:i], other, *good[i + 1 :])
        return
    yield from (float(good), complex(good), np.float32(good), Decimal(good))
    if good in (0, 1):
        yield from (bool(good), np.bool_(good))


def outcome(f, x, argument):
    """The error of a call, or the shapes and dtypes that come out."""
    try:
        result = f(x, argument)
    except Exception as error:  # any: it is compared
        return type(error), str(error)
    return [(v.shape, v.dtype) for v in weft.tree_util.tree_leaves(result)]


@pytest.mark.parametrize(("f", "good"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_equals_a_good_argument_is_treated_alike_cold_and_warm(f, good):
    x = wnp.asarray(X)
    equals = list(equals_of(good))
    cold = [outcome(f, x, a) for a in equals]
    for _ in range(4):
        f(x, good)
    warm = [outcome(f, x, a) for a in equals]
    assert warm == cold


@pytest.mark.parametrize(
    ("name", "f"), functions(wnp, "sum prod max min all any mean var std argmax argmin")
)
def test_a_float_is_no_axis(name, f):
    x = wnp.ones((5, 3, 17))
    for _ in range(3):
        with pytest.raises(TypeError, match=f"{name}: axis must be an int; got float 1.0"):
            f(x, axis=1.0)
        f(x, axis=1)
