"""Python functions called with the values that a program computes: pure_callback, and what the
others (weft.debug, weft.experimental) are made of.

Knows trees; `primitives/callbacks.py` knows how Python is called.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..core.aval import Aval, aval
from ..core.caching import exact
from ..core.masks import merge_lists, partition_list
from ..core.primitive import Primitive
from ..core.source import function_line, located
from ..core.value import Value
from ..extended_dtypes import host_dtype, is_extended
from ..primitives.callbacks import (
    Batching,
    HostFunction,
    as_they_are,
    io_callback as io_callback_p,
    one_by_one,
    pure_callback as pure_callback_p,
    with_axes_of_one,
    with_full_axes,
)
from ..primitives.keys import random_unwrap, random_wrap
from ..runtime import client
from ..runtime.callback import flush
from ..tree_util import PyTreeDef, tree_flatten, tree_leaves
from ..treedef import shown
from ..typing import PyTree
from .arguments import (
    TreeFunction,
    argument_avals,
    check_callable,
    described,
    leaf_paths,
    name_of,
)

__all__ = ["effects_barrier", "pure_callback"]


def refuse_batch(base: HostFunction, mask: tuple[bool, ...], size: int) -> HostFunction:
    """Refuses a `vmap` of a pure_callback that has no `vmap_method`."""
    raise errors.MissingRuleError(
        f"pure_callback: {base} is under vmap, which has to know how to call it for {size} elements"
        "\n  fix: pass vmap_method='sequential' (one call an element), 'expand_dims' or "
        "'broadcast_all' (one call with one more axis in front: of length 1 in the arguments that "
        "aren't mapped, or of full length)"
    )


METHODS: dict[str | None, Batching] = {
    None: Batching(refuse_batch),
    "sequential": one_by_one,
    "sequential_unrolled": one_by_one,
    "expand_dims": with_axes_of_one,
    "broadcast_all": with_full_axes,
    "legacy_vectorized": as_they_are,
}


@located
def pure_callback(
    callback: TreeFunction,
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: object = None,
    vmap_method: str | None = None,
    vectorized: bool | None = None,
    **kwargs: PyTree,
) -> PyTree:
    """Calls a Python function that only computes something, from compiled code too.

    The call may be dropped if nothing needs its result, and be made again where that saves memory.

    Args:
      callback: called with arrays in the structure of `args` and `kwargs`; returns arrays (NumPy's
        will do) as announced. Its derivative isn't known: state it by custom_jvp or custom_vjp.
      result_shape_dtypes: the results' tree, of objects with a shape and a dtype, such as
        `ShapeDtypeStruct`.
      args, kwargs: arrays, scalars and containers of them.
      sharding: must be None: the call is made where the program runs.
      vmap_method: what `vmap` is to do. 'sequential': call it for each element; 'expand_dims': call
        it once, with an axis in front, of length 1 in arguments that aren't mapped;
        'broadcast_all': the same, of full length in all arguments. 'legacy_vectorized': call it
        once, and leave arguments that aren't mapped as they are. Without it, `vmap` is an error.
      vectorized: an older spelling: True is 'legacy_vectorized', False is 'sequential'.
    Returns: the callback's results, as weft's arrays.
    Raises: TypeError: the callback returns something else than announced. Exceptions in the
      callback come out as they are.
    Example:
      >>> import numpy, weft
      >>> x = weft.numpy.array([3.0, 1.0, 2.0])
      >>> weft.jit(lambda x: weft.pure_callback(numpy.sort, x, x) * 10)(x)
      Array([10., 20., 30.], dtype=float32)
    Source: JAX documentation, `jax.pure_callback`.
    """
    if vectorized is not None:
        if vmap_method is not None:
            raise ValueError("pure_callback: got both vmap_method and vectorized; pass vmap_method")
        vmap_method = "legacy_vectorized" if vectorized else "sequential"
    if vmap_method not in METHODS:
        known = ", ".join(repr(m) for m in METHODS if m is not None)
        raise ValueError(f"pure_callback: vmap_method must be one of {known}; got {vmap_method!r}")
    batching = METHODS[vmap_method]
    return call(
        "pure_callback", pure_callback_p, callback, result_shape_dtypes, args, kwargs, sharding,
        batching,
    )  # fmt: skip


def call(
    operation: str,
    primitive: Primitive,
    callback: TreeFunction,
    result_shape_dtypes: PyTree,
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
    sharding: object = None,
    batching: Batching = one_by_one,
    with_device: bool = False,
) -> Any:
    """Calls a function of trees of arrays that returns a tree of arrays.

    Args:
      with_device: if True, it gets one more argument, `device`: where the program runs.
    """
    check_callable(callback, operation)
    if sharding is not None:
        raise ValueError(
            f"{operation}: sharding must be None: the callback is called where the program runs; "
            f"got {described(sharding)}"
        )
    leaves, in_tree = tree_flatten((args, kwargs))
    check_arrays(operation, callback, args, kwargs)
    outs, out_tree = announced(operation, callback, result_shape_dtypes)

    keys = [key_dtype(leaf) for leaf in leaves]
    types = [
        aval((*a.shape, host_dtype(a.dtype).itemsize // 4), np.uint32)
        if is_extended(a.dtype)
        else a
        for a in outs
    ]

    def function(arrays: list[Any], device: object) -> Sequence[Any]:
        inner, inner_kwargs = in_tree.unflatten(_wrapped(arrays, keys))
        if with_device:
            inner_kwargs["device"] = device or client.default_device()
        results, tree = tree_flatten(callback(*inner, **inner_kwargs))
        if tree != out_tree:
            raise errors.ShapeError(
                f"{operation}: {function_line(callback)} must return what result_shape_dtypes "
                f"announces, {shown(out_tree)}; it returned {shown(tree)}"
            )
        return _unwrapped(results)

    key = (operation, callback, in_tree, out_tree, batching, with_device, *keys)
    host = HostFunction(function, types, name_of(callback), batching, key)
    results = primitive(*_unwrapped(leaves), function=host)
    wraps = [a.dtype if is_extended(a.dtype) else None for a in outs]
    return out_tree.unflatten(_wrapped(results, wraps))


# Programs give callbacks numbers; a key goes as its words, and is one again inside.


def key_dtype(x: object) -> Any:
    """The dtype of an array of keys; `None` for anything else."""
    return x.dtype if isinstance(x, Value) and is_extended(x.dtype) else None


def _unwrapped(leaves: Sequence[object]) -> list[Any]:
    return [random_unwrap(x) if key_dtype(x) else x for x in leaves]


def _wrapped(leaves: Sequence[object], keys: Sequence[object]) -> list[Any]:
    return [random_wrap(x, dtype=k) if k else x for x, k in zip(leaves, keys, strict=True)]


def check_arrays(
    operation: str, callback: TreeFunction, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
) -> None:
    """Refuses arguments that aren't arrays or numbers."""
    for i, leaf in enumerate(tree_leaves((args, kwargs))):
        if not is_array(leaf) and not isinstance(leaf, NUMBERS):
            raise TypeError(
                f"{operation}: argument {leaf_paths(callback, args, kwargs)[i]} of "
                f"{function_line(callback)} must be an array or a number; got {described(leaf)}\n"
                "  fix: what isn't an array can be closed over, or bound by functools.partial"
            )


def announced(
    operation: str, callback: TreeFunction, result_shape_dtypes: PyTree
) -> tuple[list[Aval], PyTreeDef]:
    """The announced types of a callback's results, and their structure."""
    shapes, tree = tree_flatten(result_shape_dtypes)
    for shape in shapes:
        if not (hasattr(shape, "shape") and hasattr(shape, "dtype")):
            raise TypeError(
                f"{operation}: result_shape_dtypes must be a tree of objects with a shape and a "
                f"dtype (ShapeDtypeStruct(shape, dtype)); got {described(shape)}, for "
                f"{function_line(callback)}"
            )
    avals = argument_avals(operation, callback, shapes, list)
    return [a.strong() for a in avals], tree


def tap(
    operation: str,
    callback: TreeFunction,
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
    name: str = "",
    key: Hashable = None,
) -> None:
    """Calls a function for what it does. What isn't an array among its arguments stays as it is.

    Args:
      name: what jaxprs call it, if not by its name.
      key: what it is known by, if not by itself.
    """
    check_callable(callback, operation)
    leaves, tree = tree_flatten((args, kwargs))
    traced = [is_array(leaf) for leaf in leaves]
    values, rest = partition_list(leaves, traced)
    statics = exact(tuple(rest))
    keys = [key_dtype(x) for x in values]

    def function(arrays: list[Any], device: object) -> Sequence[Any]:
        whole = merge_lists(_wrapped(arrays, keys), rest, traced)
        inner, inner_kwargs = tree.unflatten(whole)
        callback(*inner, **inner_kwargs)
        return ()

    known = (operation, callback if key is None else key, tree, tuple(traced), statics, *keys)
    host = HostFunction(function, (), name or name_of(callback), one_by_one, known)
    io_callback_p(*_unwrapped(values), function=host)


NUMBERS = (bool, int, float, complex)


def is_array(x: object) -> bool:
    """True if a leaf is an array of weft's or NumPy's, or a number of NumPy's."""
    if isinstance(x, Value):
        return True
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufcV"


def effects_barrier() -> None:
    """Waits until all callbacks of the programs begun so far have run, and flushes their output.

    A program that calls Python ends with its last callback, so that they have run when it has
    returned; nothing else is there to wait for.

    Example:
      >>> import weft
      >>> weft.jit(lambda x: weft.debug.print("x is {}", x))(1.0)
      x is 1.0
      >>> weft.effects_barrier()
    Source: JAX documentation, `jax.effects_barrier`.
    """
    flush()
