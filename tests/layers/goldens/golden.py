"""Recorded results of Trax's layers: an environment in which a case runs, and the comparison.

Each case computes, of inputs and weights that NumPy makes of its name, outputs, states, gradients
and what predict mode keeps; `*.npz` hold what Trax computed. A file `golden_cases_*.py` registers
cases; their group is the name of the npz file.
"""

import json
import pathlib
import types
import zlib

import numpy as np

from weft import fastmath, layers as tl, shapes
from weft.fastmath import numpy as jnp, tree_leaves

HERE = pathlib.Path(__file__).parent
CASES = {}  # (group, name): function

# Items that follow the documentation where Trax's code doesn't: see docs/differences.md.
DIFFERENT = {
    "activation_fns/HardSigmoid/f",
    "core/functions/log_gaussian_diag_pdf",
    "efficient_attention/EncDecAttention/masked",
    "efficient_attention/SelfAttention/masked_head",
    "rnn/GeneralGRUCell/bias",  # of HardSigmoid
}


def case(group, name=None):
    """Registers a case under a group."""

    def registered(f):
        CASES[group, name or f.__name__.strip("_")] = f
        return f

    return registered


def flat(tree):
    """The arrays of a tree, dicts by sorted keys."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in flat(tree[key])]
    if isinstance(tree, tuple | list):
        return [leaf for item in tree for leaf in flat(item)]
    return [] if tree is None else [tree]


def is_float(leaf):
    return jnp.issubdtype(leaf.dtype, jnp.floating)


class Env:
    """Hands out inputs, and collects results as '<case>/<kind>/<tag>/<number>'."""

    def __init__(self, name):
        self.tl, self.fastmath, self.shapes, self.jnp = tl, fastmath, shapes, jnp
        self.case, self.data = name, {}

    def _random(self, tag):
        return np.random.RandomState(zlib.crc32(f"{self.case}/{tag}".encode()))

    def arr(self, tag, shape, lo=-1.0, hi=1.0, dtype="float32"):
        array = self._random(tag).uniform(lo, hi, size=shape)
        if np.issubdtype(np.dtype(dtype), np.integer):
            array = np.floor(array)
        return self.const(tag, array.astype(dtype))

    def ints(self, tag, shape, lo, hi):
        return self.const(tag, self._random(tag).randint(lo, hi, size=shape).astype(np.int32))

    def const(self, tag, array):
        array = np.asarray(array)
        self.put(tag, array, "x")
        return array

    def key(self, seed=7):
        return fastmath.random.get_prng(seed)

    def put(self, tag, tree, kind="y"):
        """Keeps the arrays of a tree, or of what a function returns, numbered in order."""
        if callable(tree) and not hasattr(tree, "shape"):
            tree = tree()
        arrays = [np.asarray(leaf) for leaf in flat(tree)]
        arrays = [a.astype(np.float32) if a.dtype.name == "bfloat16" else a for a in arrays]
        for i, array in enumerate(a for a in arrays if a.dtype.kind in "fiub"):
            self.data[f"{self.case}/{kind}/{tag}/{i}"] = array

    def fill(self, weights, tag="w", scale=0.5):
        """The weights with values that NumPy makes in the place of floats."""
        count = 0

        def one(w):
            nonlocal count
            if not hasattr(w, "shape"):
                return w
            count += 1
            if not is_float(w):
                return w
            values = self._random(f"{tag}{count}").uniform(-scale, scale, size=w.shape)
            return jnp.asarray(values.astype(np.float32)).astype(w.dtype)

        return fastmath.nested_map(one, weights)

    def sig(self, x):
        return shapes.signature(x)

    def init(self, layer, x, keep_weights=False, scale=0.5, tag=""):
        layer.init(self.sig(x), rng=self.key(1))
        if not keep_weights:
            layer.weights = self.fill(layer.weights, scale=scale)
        self.put(tag + "weights", layer.weights)
        return layer

    def run(
        self, tag, layer, x, grads=True, keep_weights=False, state=True, scale=0.5, rng=None,
        n_steps=1,
    ):  # fmt: skip
        """Initializes and calls a layer; optionally keeps the gradients of <c, outputs>."""
        layer = layer() if isinstance(layer, types.FunctionType) else layer
        x = fastmath.nested_map(jnp.asarray, x)
        self.init(layer, x, keep_weights, scale, tag + ".")
        rng = self.key() if rng is None else rng
        weights, before = layer.weights, layer.state
        for _ in range(n_steps):
            y = layer(x, rng=rng)
        self.put(tag + ".out", y)
        if state:
            self.put(tag + ".state", layer.state)
        if grads:
            self.grads(tag, layer, x, weights, before, rng)
        return y

    def grads(self, tag, layer, x, weights, state, rng):
        xs = x if isinstance(x, tuple | list) else (x,)
        places = [i for i, v in enumerate(xs) if is_float(v)]
        if not places and not tree_leaves(weights):
            return

        def loss(values):
            floats, w = values
            full = [jnp.asarray(v) for v in xs]
            for i, v in zip(places, floats, strict=True):
                full[i] = v
            y, _ = layer.pure_fn(tuple(full) if isinstance(x, tuple | list) else full[0], w,
                                 state, rng)  # fmt: skip
            total = 0.0
            for i, leaf in enumerate(tree_leaves(y)):
                if is_float(leaf):
                    c = self._random(f"{tag}.ct{i}").uniform(-1, 1, size=leaf.shape)
                    total = total + jnp.sum(leaf * jnp.asarray(c.astype(np.float32)))
            return total

        of_x, of_w = fastmath.grad(loss)((tuple(jnp.asarray(xs[i]) for i in places), weights))
        self.put(tag + ".grad_x", of_x)
        self.put(tag + ".grad_w", of_w)

    def steps(self, tag, layer, x, cuts, weights=None, axis=1, rng=None, state=True, rest=()):
        """Predict mode: one slice of x along `axis` after the other."""
        layer = layer() if isinstance(layer, types.FunctionType) else layer
        rest = tuple(rest)
        layer.init(self.sig((x, *rest) if rest else x), rng=self.key(1))
        if weights is not None:
            layer.weights = weights
        for i, (start, end) in enumerate(zip([0, *cuts], cuts, strict=False)):
            part = jnp.asarray(x.take(np.arange(start, end), axis=axis))
            y = layer((part, *rest) if rest else part, rng=self.key() if rng is None else rng)
            self.put(f"{tag}.step{i}", y)
        if state:
            self.put(f"{tag}.state", layer.state)


def recorded(group):
    """The arrays that Trax computed for a group, and their dtypes by name."""
    with np.load(HERE / f"{group}.npz") as file:
        return {key: file[key] for key in file.files if key != "__meta__"}, json.loads(
            str(file["__meta__"])
        )["keys"]


def differences(group, name, tolerance=1e-5):
    """Runs a case; what differs from the recorded arrays, as lines of text."""
    env = Env(name)
    CASES[group, name](env)
    wanted, dtypes = recorded(group)
    keys = {key for key in dtypes if key.startswith(name + "/")}
    lines = [f"{key}: missing" for key in sorted(keys - set(env.data))]
    lines += [f"{key}: not among the recorded" for key in sorted(set(env.data) - keys)]
    for key in sorted(keys & set(env.data)):
        item = f"{group}/{name}/{key.split('/')[2].split('.')[0]}"
        if item in DIFFERENT:
            continue
        got, want = env.data[key], wanted[key]
        allowed = 20 * tolerance if "bfloat16" in dtypes[key] else tolerance
        if got.shape != want.shape or got.dtype.kind != want.dtype.kind:
            lines.append(f"{key}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}")
        elif not np.allclose(got, want, allowed, allowed, equal_nan=True):
            lines.append(f"{key}: differs by {np.nanmax(np.abs(got - want.astype(got.dtype)))}")
    return lines
