"""pure_callback, io_callback, effects_barrier: Python functions that a program calls with its
values.

`call` and `tap` serve `weft.debug` and `weft.experimental` too. `primitives/callbacks.py` has the
primitives.
"""

from collections.abc import Callable, Hashable, Sequence
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
from ..primitives.prng_keys import random_unwrap, random_wrap
from ..runtime import client
from ..runtime.callback import flush
from ..tree_util import PyTreeDef, tree_flatten, tree_leaves
from ..treedef import shown
from ..typing import PyTree
from .arguments import TreeFunction, check_callable, described, leaf_paths, name_of
from .leaf_values import argument_avals

__all__ = ["effects_barrier", "pure_callback"]


def refuse_batch(base: HostFunction, mask: tuple[bool, ...], size: int) -> HostFunction:
    """Raises the error for `vmap` of a pure_callback that has no `vmap_method`."""
    raise errors.MissingRuleError(
        f"pure_callback: {base} is under vmap for {size} elements, and has no vmap_method"
        "\n  fix: pass vmap_method='sequential' (one call per element), 'expand_dims' or "
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
    """Calls a pure Python function, even from compiled code.

    The call may be omitted if its result is unused, and repeated if that saves memory.

    Args:
      callback: called with arrays in the structure of `args` and `kwargs`; returns arrays (of weft
        or NumPy) that match `result_shape_dtypes`. It has no derivative: define one with custom_jvp
        or custom_vjp.
      result_shape_dtypes: the tree of results, with objects that have a shape and a dtype, such as
        `ShapeDtypeStruct`, at its leaves.
      args, kwargs: arrays, scalars and containers of them.
      sharding: must be None, because the call is made where the program runs.
      vmap_method: how `vmap` calls it. 'sequential': once for each element; 'expand_dims': once,
        with a new first axis, which has length 1 in arguments that are not mapped; 'broadcast_all':
        once, with a first axis of full length in all arguments; 'legacy_vectorized': once, with
        arguments that are not mapped unchanged. Without it, `vmap` raises an error.
      vectorized: an older option: True means 'legacy_vectorized', False means 'sequential'.
    Returns: the results of the callback, as arrays.
    Raises: TypeError: the results do not match `result_shape_dtypes`. Exceptions in the callback
      are raised to the caller.
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
        names = ", ".join(repr(m) for m in METHODS if m is not None)
        raise ValueError(f"pure_callback: vmap_method must be one of {names}; got {vmap_method!r}")
    return call(
        "pure_callback", pure_callback_p, callback, result_shape_dtypes, args, kwargs, sharding,
        METHODS[vmap_method],
    )  # fmt: skip


@located
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function that has effects.

    It is called each time the program reaches it, in program order, even if its result is unused.
    Under `vmap` it is called for each element, in order; under derivatives in the forward pass.

    Args:
      callback: called with arrays in the structure of `args` and `kwargs`; returns arrays (of weft
        or NumPy) of the declared types. It has no derivative; define one with custom_jvp or
        custom_vjp.
      result_shape_dtypes: the type of its result: a tree of objects with a shape and a dtype, such
        as `ShapeDtypeStruct`; None if it returns None.
      args, kwargs: arrays, scalars and containers of them.
      sharding: must be None, because the call is made where the program runs.
      ordered: has no effect: all calls are made in program order.
    Returns: the callback's result, as weft's arrays.
    Raises: TypeError: the result does not have the declared type. Exceptions of the callback are
      raised to the caller.
    Example:
      >>> import numpy, weft
      >>> rng = numpy.random.default_rng(0)
      >>> def draw(scale):
      ...     return scale * rng.integers(10, size=2, dtype=numpy.int32)
      >>> two = weft.ShapeDtypeStruct((2,), "int32")
      >>> f = weft.jit(lambda s: weft.experimental.io_callback(draw, two, s))
      >>> f(1), f(10)
      (Array([8, 6], dtype=int32), Array([50, 20], dtype=int32))
    Source: JAX's documentation, `jax.experimental.io_callback`.
    """
    return call("io_callback", io_callback_p, callback, result_shape_dtypes, args, kwargs, sharding)


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
      with_device: if True, the function gets an additional argument `device`, where the program
        runs.
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
                f"{operation}: {function_line(callback)} must return the given structure, "
                f"{shown(out_tree)}; it returned {shown(tree)}"
            )
        return _unwrapped(results)

    key = (operation, callback, in_tree, out_tree, batching, with_device, *keys)
    host = HostFunction(function, types, name_of(callback), batching, key)
    results = primitive(*_unwrapped(leaves), function=host)
    wraps = [a.dtype if is_extended(a.dtype) else None for a in outs]
    return out_tree.unflatten(_wrapped(results, wraps))


# Random keys are passed to the callback as words, and wrapped again inside.


def key_dtype(x: object) -> Any:
    """The dtype of an array of keys; `None` for other objects."""
    return x.dtype if isinstance(x, Value) and is_extended(x.dtype) else None


def _unwrapped(leaves: Sequence[object]) -> list[Any]:
    return [random_unwrap(x) if key_dtype(x) else x for x in leaves]


def _wrapped(leaves: Sequence[object], keys: Sequence[object]) -> list[Any]:
    return [random_wrap(x, dtype=k) if k else x for x, k in zip(leaves, keys, strict=True)]


def check_arrays(
    operation: str, callback: TreeFunction, args: tuple[PyTree, ...], kwargs: dict[str, PyTree]
) -> None:
    """Raises an error for arguments that are not arrays or numbers."""
    for i, leaf in enumerate(tree_leaves((args, kwargs))):
        if not is_array(leaf) and not isinstance(leaf, NUMBERS):
            raise TypeError(
                f"{operation}: argument {leaf_paths(callback, args, kwargs)[i]} of "
                f"{function_line(callback)} must be an array or a number; got {described(leaf)}\n"
                "  fix: close over other objects, or bind them with functools.partial"
            )


def announced(
    operation: str, callback: TreeFunction, result_shape_dtypes: PyTree
) -> tuple[list[Aval], PyTreeDef]:
    """The avals of a callback's results, and their structure."""
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
    """Calls a function for its effects. Arguments that are not arrays are passed on unchanged.

    Args:
      name: its name in jaxprs; by default, the name of the function.
      key: identifies it in caches; by default, the function itself.
    """
    check_callable(callback, operation)
    leaves, tree = tree_flatten((args, kwargs))
    traced = [is_array(leaf) for leaf in leaves]
    values, objects = partition_list(leaves, traced)
    statics = exact(tuple(objects))
    keys = [key_dtype(x) for x in values]

    def function(arrays: list[Any], device: object) -> Sequence[Any]:
        inner, inner_kwargs = tree.unflatten(merge_lists(_wrapped(arrays, keys), objects, traced))
        callback(*inner, **inner_kwargs)
        return ()

    identity = (operation, callback if key is None else key, tree, tuple(traced), statics, *keys)
    host = HostFunction(function, (), name or name_of(callback), one_by_one, identity)
    io_callback_p(*_unwrapped(values), function=host)


NUMBERS = (bool, int, float, complex)


def is_array(x: object) -> bool:
    """True if a leaf is an array of weft or NumPy, or a NumPy scalar."""
    if isinstance(x, Value):
        return True
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufcV"


def effects_barrier() -> None:
    """Waits until all callbacks of earlier programs have run, and flushes their output.

    A program with callbacks returns after its last callback, so only the output may be pending.

    Example:
      >>> import weft
      >>> weft.jit(lambda x: weft.debug.print("x is {}", x))(1.0)
      x is 1.0
      >>> weft.effects_barrier()
    Source: JAX documentation, `jax.effects_barrier`.
    """
    flush()
