"""Loops, branches, compilation and maps in TensorFlow. See `transformations.py`.

In traced functions, loops are `tf.while_loop`s; otherwise they are Python loops.
"""

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..shapes import ShapeDtype
from ..tree_util import tree_flatten, tree_unflatten
from ..user_lines import noted
from .arguments import batch_size, scan_length, spread
from .backends import Backend, use_backend
from .tensorflow_module import numpy_dtype, tensor, tf, tnp
from .tf_trees import flat_function, same_structure, same_types, tensors_of

Function = Callable[..., Any]


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """A loop that carries a value. The first step is outside the `tf.while_loop`; it determines the
    types of the results."""
    leaves, tree = tensors_of("scan: xs", xs)
    n = scan_length("scan", leaves, length)
    last = n - 1
    carries, carry_tree = tensors_of("scan: init", init)
    forms: list[Any] = []

    def step(i: Any, carry: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        at = last - i if reverse else i
        new, y = f(tree_unflatten(carry_tree, carry), tree_unflatten(tree, [x[at] for x in leaves]))
        carried, form = tensors_of("scan: carry", new)
        ys, y_tree = tensors_of("scan: results", y)
        same_structure("scan", "the carry", carry_tree, form)
        forms[:] = [y_tree]
        return carried, ys

    if n == 0:
        zeros = [tf.zeros(x.shape[1:], x.dtype) for x in leaves]
        _, y = f(init, tree_unflatten(tree, zeros))
        ys, y_tree = tensors_of("scan: results", y)
        return init, tree_unflatten(y_tree, [tf.zeros([0, *y.shape], y.dtype) for y in ys])
    carries, first = step(0, carries)
    if tf.executing_eagerly():
        rows = [first]
        for i in range(1, n):
            carries, ys = step(i, carries)
            rows.append(ys)
        stacked = [
            tf.stack(column[::-1] if reverse else column) for column in zip(*rows, strict=True)
        ]
    else:
        arrays = [tf.TensorArray(y.dtype, n, element_shape=y.shape) for y in first]
        arrays = [a.write(last if reverse else 0, y) for a, y in zip(arrays, first, strict=True)]

        def body(i: Any, carry: Any, arrays: Any) -> Any:
            new, ys = step(i, carry)
            same_types("scan", "the carry", carry, new)
            at = last - i if reverse else i
            return i + 1, new, [a.write(at, y) for a, y in zip(arrays, ys, strict=True)]

        _, carries, arrays = tf.while_loop(
            lambda i, *_: i < n, body, (tf.constant(1), carries, arrays), maximum_iterations=last
        )
        stacked = [a.stack() for a in arrays]
    return tree_unflatten(carry_tree, carries), tree_unflatten(forms[0], stacked)


def map(f: Function, xs: Any) -> Any:
    """Applies a function to each element."""
    return scan(lambda carry, x: (carry, f(x)), None, xs)[1]


def fori_loop(lower: Any, upper: Any, body_fn: Function, init_val: Any) -> Any:
    """A loop over integers."""
    carries, tree = tensors_of("fori_loop: init_val", init_val)
    low, high = tensor(lower), tensor(upper)

    def step(i: Any, carry: Sequence[Any]) -> list[Any]:
        new, form = tensors_of("fori_loop: values", body_fn(i, tree_unflatten(tree, carry)))
        same_structure("fori_loop", "the value", tree, form)
        same_types("fori_loop", "the value", carry, new)
        return new

    if tf.executing_eagerly():
        for i in range(int(low), int(high)):
            carries = step(tf.constant(i), carries)
    else:
        _, carries = tf.while_loop(
            lambda i, *_: i < high, lambda i, carry: (i + 1, step(i, carry)), (low, carries)
        )
    return tree_unflatten(tree, carries)


def cond(pred: Any, true_fn: Function, false_fn: Function, *operands: Any) -> Any:
    """Calls one of two functions."""
    pred = tf.cast(tensor(pred), tf.bool)
    if len(pred.shape):
        raise noted(
            ValueError(f"cond: the predicate must be a scalar; got shape {tuple(pred.shape)}")
        )
    if tf.executing_eagerly():
        return (true_fn if bool(pred) else false_fn)(*operands)
    seen: list[tuple[list[Any], Any]] = []

    def branch(function: Function) -> list[Any]:
        results, form = tensors_of("cond: results", function(*operands))
        if seen:
            same_structure("cond", "the other branch's result", seen[0][1], form)
            same_types("cond", "the other branch", seen[0][0], results)
        seen.append((results, form))
        return results

    outs = tf.cond(pred, lambda: branch(true_fn), lambda: branch(false_fn))
    form = seen[0][1]
    return tree_unflatten(form, outs if isinstance(outs, list | tuple) else [outs])


# --- compilation ---


class _Forced:
    """Holds the flag that makes `jit` compile with XLA."""

    compile = False


_forced = _Forced()


def set_tf_xla_forced_compile(b: bool) -> None:
    """Sets whether `jit` makes TensorFlow compile with XLA. Source: Trax, `fastmath.tf`."""
    _forced.compile = bool(b)


def tf_xla_forced_compile_enabled() -> bool:
    """True if `jit` makes TensorFlow compile with XLA. Source: Trax, `fastmath.tf`."""
    return _forced.compile


def jit(
    f: Function,
    static_argnums: Any = (),
    static_argnames: Any = (),
    donate_argnums: Any = (),
    device: str | None = None,
) -> Function:
    """A function compiled by `tf.function`, once for each combination of structure, shapes, dtypes
    and static arguments.

    Inside another traced function it is the function itself.
    """
    programs: dict[Any, tuple[Any, list[Any]]] = {}
    statics = _static_numbers(f, static_argnums, static_argnames)
    names = frozenset([static_argnames] if isinstance(static_argnames, str) else static_argnames)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not tf.executing_eagerly():
            return f(*args, **kwargs)
        static_values = {i % len(args): args[i] for i in statics if -len(args) <= i < len(args)}
        held_names = {k: v for k, v in kwargs.items() if k in names}
        for value in (*static_values.values(), *held_names.values()):
            if getattr(value, "__hash__", None) is None:
                raise noted(
                    TypeError(f"jit: static arguments must be hashable; got {type(value).__name__}")
                )
        moving = [x for i, x in enumerate(args) if i not in static_values]
        named = {k: v for k, v in kwargs.items() if k not in names}
        leaves, tree = tensors_of("jit: arguments that aren't static", (moving, named))
        types = tuple((x.dtype, *x.shape) for x in leaves)
        constants = tuple((k, type(v), v) for k, v in (static_values | held_names).items())
        key = (tree, types, frozenset(constants), len(args), _forced.compile)
        program = programs.get(key)
        if program is None:

            def of_moving(moving: list[Any], named: dict[str, Any]) -> Any:
                traced_values = iter(moving)
                every = [
                    static_values[i] if i in static_values else next(traced_values)
                    for i in range(len(args))
                ]
                return f(*every, **named, **held_names)

            program = programs[key] = _traced("jit", of_moving, leaves, tree)
        with tf.device(device):
            outs = program[0](*leaves)
        return tree_unflatten(program[1][0], outs)

    return call


def _traced(what: str, f: Function, leaves: Sequence[Any], tree: Any) -> tuple[Any, list[Any]]:
    """A program for tensors with the given types, and the structure of its results."""
    flat, form = flat_function(what, f, tree)
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in leaves]
    compiled = tf.function(flat, autograph=False, jit_compile=_forced.compile or None)
    return compiled.get_concrete_function(*specs), form


def _static_numbers(f: Function, numbers: Any, names: Any) -> tuple[int, ...]:
    """The positions of static arguments, including those that are named."""
    numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    names = (names,) if isinstance(names, str) else tuple(names)
    if not names:
        return numbers
    parameter_names = list(inspect.signature(f).parameters)
    return (*numbers, *(parameter_names.index(name) for name in names if name in parameter_names))


def abstract_eval(f: Function) -> Function:
    """Traces a function to find the shapes and dtypes of its results."""

    def signatures(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        specs = [
            tf.TensorSpec(tuple(x.shape), tf.as_dtype(x.dtype))
            if hasattr(x, "shape")
            else tensor(x)
            for x in leaves
        ]
        program, form = _traced("abstract_eval", lambda a, k: f(*a, **k), specs, tree)
        signatures = []
        for y in program.outputs:
            if not y.shape.is_fully_defined():
                raise noted(ValueError(f"abstract_eval: a result's shape isn't known: {y.shape}"))
            signatures.append(ShapeDtype(tuple(y.shape), numpy_dtype(y)))
        return tree_unflatten(form[0], signatures)

    return signatures


# --- maps ---


def _moved(x: Any, source: int, target: int) -> Any:
    return x if source == target else tnp.moveaxis(x, source, target)


def vmap(f: Function, in_axes: Any = 0, out_axes: Any = 0) -> Function:
    """A batched function, by `tf.vectorized_map`."""

    def batched(*args: Any) -> Any:
        leaves, tree = tensors_of("vmap: arguments", args)
        axes = spread("vmap", "in_axes", in_axes, args)
        batch_size("vmap", leaves, axes)
        flat, form = flat_function("vmap", f, tree)

        def of_elements(elements: list[Any]) -> list[Any]:
            rest = iter(elements)
            return flat(
                *(x if a is None else next(rest) for x, a in zip(leaves, axes, strict=True))
            )

        mapped = [_moved(x, a, 0) for x, a in zip(leaves, axes, strict=True) if a is not None]
        outs = tf.vectorized_map(of_elements, mapped)
        places = spread("vmap", "out_axes", out_axes, tree_unflatten(form[0], outs))
        return tree_unflatten(
            form[0],
            [y[0] if a is None else _moved(y, 0, a) for y, a in zip(outs, places, strict=True)],
        )

    return batched


class Group:
    """The replicas of a `pmap`, which wait for each other in `psum`."""

    def __init__(self, axis_name: Any, size: int) -> None:
        self.axis_name = axis_name
        self.barrier = threading.Barrier(size)
        self.parts: list[Any] = [None] * size


class Replica(threading.local):
    """The replica that runs in this thread."""

    group: Group | None = None
    index = 0


_replica = Replica()


def devices() -> list[Any]:
    """The accelerators; if there are none, the logical devices of the CPU."""
    kinds = (tf.config.list_logical_devices(kind) for kind in ("TPU", "GPU", "CPU"))
    return next(kind for kind in kinds if kind)


def pmap(
    f: Function,
    axis_name: Any = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: Any = (),
    donate_argnums: Any = (),
) -> Function:
    """Runs one element of the batch on each device, in threads."""
    statics = static_broadcasted_argnums
    held = {statics} if isinstance(statics, int) else set(statics)

    def mapped(*args: Any) -> Any:
        if _replica.group is not None:
            raise noted(
                ValueError("pmap: within another pmap isn't possible on 'tensorflow-numpy'")
            )
        moving = tuple(x for i, x in enumerate(args) if i not in held)
        leaves, tree = tensors_of("pmap: arguments", moving)
        axes = spread("pmap", "in_axes", in_axes, moving)
        n = batch_size("pmap", leaves, axes)
        places = devices()
        if n > len(places):
            raise noted(ValueError(f"pmap: there are {len(places)} devices; got {n} elements"))

        def of_device(i: int) -> Any:
            parts = [
                x if a is None else tnp.take(x, i, a) for x, a in zip(leaves, axes, strict=True)
            ]
            rest = iter(tree_unflatten(tree, parts))
            with tf.device(places[i].name):
                return f(*(x if k in held else next(rest) for k, x in enumerate(args)))

        results = _on_threads(of_device, Group(axis_name, n))
        columns = [tensors_of("pmap: results", result) for result in results]
        form = columns[0][1]
        outs = spread("pmap", "out_axes", out_axes, results[0])
        rows = zip(*(leaves for leaves, _ in columns), strict=True)
        return tree_unflatten(
            form,
            [ys[0] if a is None else tf.stack(ys, a) for ys, a in zip(rows, outs, strict=True)],
        )

    return mapped


def _on_threads(function: Callable[[int], Any], group: Group) -> list[Any]:
    """Runs a function for each replica at the same time, and returns the results."""
    n = len(group.parts)
    results: list[Any] = [None] * n
    errors: list[BaseException] = []

    def run(i: int) -> None:
        _replica.group, _replica.index = group, i
        try:
            with use_backend(Backend.TFNP):
                results[i] = function(i)
        except threading.BrokenBarrierError:  # another replica failed
            pass
        except BaseException as error:
            errors.append(error)
            group.barrier.abort()
        finally:
            _replica.group = None

    if n == 1:
        run(0)
    else:
        threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return results


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over all replicas."""
    group = _replica.group
    if group is None or group.axis_name != axis_name:
        raise noted(ValueError(f"psum: no pmap around it has an axis {axis_name!r}"))
    leaves, tree = tensors_of("psum: arguments", x)
    if len(group.parts) == 1:
        return tree_unflatten(tree, leaves)
    if not tf.executing_eagerly():
        raise noted(ValueError("psum: replicas can't wait for each other in a traced function"))
    group.parts[_replica.index] = leaves
    group.barrier.wait()
    sums = [tf.add_n(list(column)) for column in zip(*group.parts, strict=True)]
    group.barrier.wait()  # parts must not be overwritten before all replicas have read them
    return tree_unflatten(tree, sums)
