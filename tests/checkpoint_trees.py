"""Trees that tests save, and the comparison of two trees to the bit."""

import collections
import dataclasses

import ml_dtypes
import numpy as np

import weft
from weft import dtypes, tree_util
from weft.core.array import Array

Point = collections.namedtuple("Point", "x y")


@tree_util.register_dataclass
@dataclasses.dataclass
class Moments:
    mean: object
    variance: object


@tree_util.register_pytree_node_class
class Pair:
    """A node without names of its children."""

    def __init__(self, first, second):
        self.first, self.second = first, second

    def tree_flatten(self):
        return (self.first, self.second), None

    @classmethod
    def tree_unflatten(cls, data, children):
        return cls(*children)


DTYPES = [dtype.name for dtype in dtypes.DTYPES]


def host(dtype, shape, seed=0):
    """A NumPy array with bits of all kinds: NaN, infinities and subnormal numbers among them."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    if dtype.name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.name in ("int2", "int4", "uint2", "uint4", "float4_e2m1fn"):
        numbers = rng.integers(0, 4, shape)
        return (numbers - 2 * dtype.name.startswith("int")).astype(dtype)
    raw = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


def array(dtype, shape, seed=0):
    """One of weft's arrays, whatever the precision that is set."""
    with weft.enable_x64(True):
        return weft.numpy.asarray(host(dtype, shape, seed))


def bits(leaf):
    """The kind, dtype, shape and bytes of a leaf, which are equal if the leaves are."""
    if isinstance(leaf, Array):
        return Array, leaf.dtype.name, leaf.shape, leaf.aval.weak_type, bytes_of(leaf)
    if isinstance(leaf, np.ndarray | np.generic):
        return type(leaf), leaf.dtype, leaf.shape, bytes_of(leaf)
    return type(leaf), repr(leaf)


def bytes_of(x):
    return np.asarray(x.host() if isinstance(x, Array) else x).tobytes()


def same(a, b):
    """Asserts that two trees are equal in structure, and their leaves to the bit."""
    assert tree_util.tree_structure(a) == tree_util.tree_structure(b)
    leaves = zip(tree_util.tree_leaves(a), tree_util.tree_leaves(b), strict=True)
    for one, other in leaves:
        assert bits(one) == bits(other)


def small(step=0):
    """A tree of some kilobytes, which tells the step that it is of."""
    return {
        "params": {"dense": {"kernel": weft.numpy.ones((20, 30)) * step, "bias": np.arange(30.0)}},
        "key": weft.random.fold_in(weft.random.key(0), step),
        "step": step,
        "done": False,
    }
