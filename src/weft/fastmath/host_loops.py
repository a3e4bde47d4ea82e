"""Loops, branches and maps in Python, for NumPy. `transformations.py` documents them."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as onp

from ..shapes import ShapeDtype
from ..tree_util import tree_flatten, tree_map, tree_unflatten
from ..user_lines import noted
from .arguments import batch_size, scan_length, spread

Function = Callable[..., Any]


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """A loop that carries a value."""
    leaves, tree = tree_flatten(tree_map(onp.asarray, xs))
    n = scan_length("scan", leaves, length)
    if n == 0:  # the shapes of zero results come from calling the function on zeros
        _, y = f(init, tree_map(lambda x: onp.zeros(x.shape[1:], x.dtype), xs))
        return init, tree_map(lambda y: onp.zeros((0, *onp.shape(y)), onp.asarray(y).dtype), y)
    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, tree_unflatten(tree, [x[i] for x in leaves]))
        ys.append(y)
    return carry, _stacked(ys[::-1] if reverse else ys)


def _stacked(results: list[Any]) -> Any:
    return tree_map(lambda *leaves: onp.stack(leaves), *results)


def map(f: Function, xs: Any) -> Any:
    """Applies a function to each element."""
    return scan(lambda carry, x: (carry, f(x)), None, xs)[1]


def fori_loop(lower: Any, upper: Any, body_fn: Function, init_val: Any) -> Any:
    """A loop over integers."""
    value = init_val
    for i in range(int(lower), int(upper)):
        value = body_fn(i, value)
    return value


def cond(pred: Any, true_fn: Function, false_fn: Function, *operands: Any) -> Any:
    """Calls one of two functions."""
    return (true_fn if bool(pred) else false_fn)(*operands)


def jit(
    f: Function,
    static_argnums: Any = (),
    static_argnames: Any = (),
    donate_argnums: Any = (),
    device: Any = None,
) -> Function:
    """The function itself, because the options have no effect on NumPy."""
    if device is not None:
        raise noted(
            ValueError(f"jit: the backend 'numpy' has no devices to choose; got {device!r}")
        )
    return f


def vmap(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """Loops over the elements of a batch."""

    def batched(*args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        leaves = [onp.asarray(x) for x in leaves]
        axes = spread("vmap", "in_axes", in_axes, args)
        n = batch_size("vmap", leaves, axes)
        if n == 0:
            raise noted(ValueError("vmap: the backend 'numpy' can't map over an axis of length 0"))
        arguments = [
            x if axis is None else onp.moveaxis(x, axis, 0)
            for x, axis in zip(leaves, axes, strict=True)
        ]
        results = []
        for i in range(n):
            element = [x if axis is None else x[i] for x, axis in zip(arguments, axes, strict=True)]
            results.append(f(*tree_unflatten(tree, element)))
        out = _stacked(results)
        out_leaves, out_tree = tree_flatten(out)
        places = spread("vmap", "out_axes", out_axes, out)
        return tree_unflatten(
            out_tree,
            [
                x[0] if axis is None else onp.moveaxis(x, 0, axis)
                for x, axis in zip(out_leaves, places, strict=True)
            ],
        )

    return batched


def pmap(f: Function, axis_name: Any = None, in_axes: Any = 0, out_axes: Any = 0, **_: Any) -> Any:
    """A map over the only device."""
    mapped = vmap(f, in_axes, out_axes)

    def on_device(*args: Any) -> Any:
        leaves = [onp.asarray(x) for x in tree_flatten(args)[0]]
        n = batch_size("pmap", leaves, spread("pmap", "in_axes", in_axes, args))
        if n != 1:
            raise noted(ValueError(f"pmap: the backend 'numpy' has one device; got {n} elements"))
        before = _axes.names
        _axes.names = (*before, axis_name)
        try:
            return mapped(*args)
        finally:
            _axes.names = before

    return on_device


class _Axes(threading.local):
    """The names of the surrounding mapped axes, in this thread."""

    names: tuple[Any, ...] = ()


_axes = _Axes()


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over the only device."""
    if axis_name not in _axes.names:
        raise noted(ValueError(f"psum: no pmap around it has an axis {axis_name!r}"))
    return x


def abstract_eval(f: Function) -> Function:
    """Runs a function on zeros to find the shapes and dtypes of its results."""

    def signatures(*args: Any, **kwargs: Any) -> Any:
        zeros = tree_map(lambda s: onp.zeros(s.shape, s.dtype), args)
        with onp.errstate(all="ignore"):  # NumPy would warn of 0/0 and log(0)
            out = f(*zeros, **kwargs)
        return tree_map(lambda y: ShapeDtype(onp.shape(y), onp.asarray(y).dtype), out)

    return signatures
