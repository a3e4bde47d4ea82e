"""The programs by name, and the numbers that they begin with."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PROGRAMS: dict[str, Callable[[], Any]] = {}


def program(f: Callable[[], Any]) -> Callable[[], Any]:
    """Takes in a program: a function without arguments that returns a tree of arrays."""
    name = f"{f.__module__.rpartition('_')[2]}: {f.__name__}"
    assert name not in PROGRAMS, name
    PROGRAMS[name] = f
    return f


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    """Normal numbers from NumPy, so that they are the same for everybody."""
    drawn = np.random.RandomState(seed).standard_normal(shape)
    return jnp.asarray((scale * drawn).astype("float32"))


def filled(tree: Any, seed: int = 0, scale: float = 0.3) -> Any:
    """A tree with numbers from NumPy in the place of its float arrays."""
    leaves, structure = jax.tree_util.tree_flatten(tree)
    random = np.random.RandomState(seed)
    new = [
        jnp.asarray((scale * random.standard_normal(leaf.shape)).astype(leaf.dtype))
        if hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)
        else leaf
        for leaf in leaves
    ]
    return jax.tree_util.tree_unflatten(structure, new)


def refusals(*calls: Callable[[], Any], error: type[Exception] = AssertionError) -> Any:
    """Which of the calls raise."""
    found = []
    for call in calls:
        try:
            call()
            found.append(False)
        except error:
            found.append(True)
    return np.array(found)
