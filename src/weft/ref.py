"""Mutable arrays: new_ref makes a cell, which programs read and write with get, set, swap and
addupdate; freeze returns its array."""

from typing import Any

from .core.array import as_value
from .core.ref import AbstractRef, Ref, here
from .core.source import located
from .typing import ArrayLike

__all__ = ["AbstractRef", "Ref", "addupdate", "freeze", "get", "new_ref", "set", "swap"]


@located
def new_ref(init_val: ArrayLike, *, memory_space: Any = None, kind: Any = None) -> Ref:
    """Makes a mutable array with an initial value.

    Args:
      init_val: an array or a scalar; its shape and dtype are fixed.
      memory_space, kind: must be `None`.
    Raises: TypeError: the value is not an array. NotImplementedError: an option is not `None`.
    Example:
      >>> import weft
      >>> ref = weft.new_ref(weft.numpy.arange(4))
      >>> ref[1:3] += 10
      >>> ref
      Ref([ 0, 11, 12,  3], dtype=int32)
    Source: JAX documentation, `jax.new_ref`.
    """
    for name, option in (("memory_space", memory_space), ("kind", kind)):
        if option is not None:
            raise NotImplementedError(f"new_ref: {name} must be None; got {option!r}")
    value = as_value(init_val, "new_ref", "init_val")
    return here(value.astype(value.dtype) if value.weak_type else value)


@located
def freeze(ref: Ref) -> Any:
    """The final value of a ref, which cannot be used afterwards.

    Args:
      ref: a ref made by the current function, not an argument of it.
    Raises: TypeError: the ref was made elsewhere. ValueError: it is frozen already.
    Example:
      >>> import weft
      >>> ref = weft.new_ref(weft.numpy.zeros(2))
      >>> ref[0] = 1.0
      >>> print(weft.freeze(ref))
      [1. 0.]
    Source: JAX documentation, `jax.ref.freeze`.
    """
    return ref.freeze()


def get(ref: Ref, idx: Any = None) -> Any:
    """The value at an index: `ref[idx]`; the whole value for `None`.

    Example:
      >>> r = weft.new_ref(np.array([1.0, 2.0]))
      >>> weft.ref.get(r, 1)
      Array(2., dtype=float32)
    """
    return ref.get(... if idx is None else idx)


def set(ref: Ref, idx: Any, value: ArrayLike) -> None:
    """Replaces the value at an index: `ref[idx] = value`.

    Example:
      >>> r = weft.new_ref(np.array([1.0, 2.0]))
      >>> weft.ref.set(r, 1, 5.0)
      >>> r[...]
      Array([1., 5.], dtype=float32)
    """
    ref.set(value, ... if idx is None else idx)


def swap(ref: Ref, idx: Any, value: ArrayLike) -> Any:
    """Replaces the value at an index; returns the old one.

    Example:
      >>> import weft
      >>> ref = weft.new_ref(weft.numpy.arange(3))
      >>> weft.ref.swap(ref, 2, 10)
      Array(2, dtype=int32)
    Source: JAX documentation, `jax.ref.swap`.
    """
    return ref.swap(value, ... if idx is None else idx)


def addupdate(ref: Ref, idx: Any, x: ArrayLike) -> None:
    """Adds to the value at an index; all terms for a repeated index are added.

    Example:
      >>> import weft
      >>> ref = weft.new_ref(weft.numpy.zeros(2))
      >>> weft.ref.addupdate(ref, weft.numpy.array([0, 0]), 1.0)
      >>> ref
      Ref([2., 0.], dtype=float32)
    Source: JAX documentation, `jax.ref.addupdate`.
    """
    ref.addupdate(x, ... if idx is None else idx)
