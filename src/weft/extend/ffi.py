"""ffi_call: native code that compiled programs call by the name of a target.

register_ffi_target registers a target, a handler of XLA's typed FFI in a PyCapsule; `pycapsule`
makes one from a function of a library. `runtime/custom_calls.py` passes targets to XLA.
"""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from .. import errors
from ..core.array import as_value
from ..core.aval import Aval
from ..core.primitive import Primitive
from ..core.source import located
from ..core.value import Value
from ..lax.loops import map as sequential_map
from ..primitives.structural import broadcast_in_dim
from ..runtime import custom_calls
from ..stablehlo.attributes import string, value_attribute
from ..stablehlo.block import Block, Operand
from ..transforms.arguments import TreeFunction, described
from ..transforms.leaf_values import shaped_aval
from ..tree_util import tree_flatten
from ..typing import ArrayLike, PyTree

__all__ = ["ffi_call", "pycapsule", "register_ffi_target"]

Layout = tuple[int, ...]
"""The axes of an array, major to minor: (0, 1) is row by row, (1, 0) column by column."""

VMAP_METHODS = ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized")


@located
def register_ffi_target(
    name: str, fn: object | Mapping[str, object], platform: str = "cpu", api_version: int = 1
) -> None:
    """Registers a native function with XLA, under a name for `ffi_call`.

    Args:
      name: the target's name. Registering the same function again does nothing.
      fn: a PyCapsule of an XLA FFI handler, or a dict of them by stage ("execute", …).
      platform: 'cpu'. The plugins of GPUs register their own targets.
      api_version: 1, the typed FFI.
    Raises: ValueError: an unknown platform or version.
    Example::

        library = ctypes.cdll.LoadLibrary("librms_norm.so")          # a handler of XLA's FFI in it
        ffi.register_ffi_target("rms_norm", ffi.pycapsule(library.RmsNorm))
        rms_norm = ffi.ffi_call("rms_norm", weft.ShapeDtypeStruct((8,), "float32"))
        rms_norm(x, eps=numpy.float32(1e-5))

    Source: JAX documentation, `jax.ffi.register_ffi_target`.
    """
    if platform != "cpu":
        raise ValueError(
            f"register_ffi_target: platform must be 'cpu'; got {platform!r}\n"
            "  fix: targets for other platforms come with their PJRT plugin"
        )
    if api_version != 1:
        raise ValueError(f"register_ffi_target: api_version must be 1; got {api_version!r}")
    custom_calls.register_target(name, fn)


def pycapsule(function: Any) -> object:
    """A PyCapsule of a function in a library that `ctypes` has loaded.

    Example:
      >>> import ctypes
      >>> type(pycapsule(ctypes.pythonapi.Py_GetVersion)).__name__
      'PyCapsule'
    Source: JAX documentation, `jax.ffi.pycapsule`.
    """
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    builder = ctypes.pythonapi.PyCapsule_New
    builder.restype = ctypes.py_object
    builder.argtypes = (ctypes.c_void_p, ctypes.c_char_p, destructor)
    capsule: object = builder(ctypes.cast(function, ctypes.c_void_p), None, destructor(0))
    return capsule


def ffi_call(
    target_name: str,
    result_shape_dtypes: PyTree,
    *,
    vmap_method: str | None = None,
    input_layouts: Sequence[Sequence[int] | None] | None = None,
    output_layouts: Sequence[Sequence[int] | None] | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
) -> TreeFunction:
    """A function that calls a native function from compiled code.

    It has no derivative unless `custom_jvp` or `custom_vjp` defines one.

    Args:
      target_name: the registered name.
      result_shape_dtypes: the results' tree, of objects with a shape and a dtype.
      vmap_method: how `vmap` calls it. 'sequential': once for each element; 'expand_dims': once,
        with a new first axis, which has length 1 in arguments that aren't mapped; 'broadcast_all':
        once, with a first axis of full length in all arguments; 'legacy_vectorized': once, with
        arguments that aren't mapped unchanged. Without it, `vmap` raises an error.
      input_layouts, output_layouts: for each argument and result the order of its axes in memory,
        major to minor; None is row by row. (1, 0) is the order of LAPACK's matrices.
      input_output_aliases: a dict from the number of an argument to the number of the result that
        may use its memory.
    Returns: a function of arrays, and of attributes by keyword: NumPy's and Python's numbers
      (Python's are int64 and float64), strings, arrays of one axis, and dicts of them.
    Raises: ValueError: no such target is registered; a layout is not an order of an array's axes.
    Example:
      >>> import weft, weft.numpy as np, numpy
      >>> from weft.extend import ffi
      >>> matrix = weft.ShapeDtypeStruct((2, 2), "float32")
      >>> info = weft.ShapeDtypeStruct((), "int32")
      >>> call = ffi.ffi_call("lapack_spotrf_ffi", (matrix, info), input_layouts=[(1, 0)],
      ...                     output_layouts=[(1, 0), None])
      >>> cholesky = weft.jit(lambda a: np.tril(call(a, uplo=numpy.uint8(ord("L")))[0]))
      >>> print(cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])))
      [[2. 0.]
       [1. 2.]]
    Source: JAX documentation, `jax.ffi.ffi_call`.
    """
    if vmap_method not in (None, *VMAP_METHODS):
        raise ValueError(
            f"ffi_call: vmap_method must be one of {', '.join(map(repr, VMAP_METHODS))}; got "
            f"{vmap_method!r}"
        )
    shapes, out_tree = tree_flatten(result_shape_dtypes)
    for shape in shapes:
        if not (hasattr(shape, "shape") and hasattr(shape, "dtype")):
            raise TypeError(
                "ffi_call: result_shape_dtypes must be a tree of objects with a shape and a dtype; "
                f"got {described(shape)}"
            )
    outs = tuple([shaped_aval(s).strong() for s in shapes])

    @located
    def call(*args: ArrayLike, **attributes: Any) -> PyTree:
        values = [as_value(x) for x in args]
        results = foreign(
            *values,
            target=target_name,
            outs=outs,
            attributes=tuple((k, value_attribute(x)) for k, x in sorted(attributes.items())),
            in_layouts=layouts("input_layouts", input_layouts, [v.aval for v in values]),
            out_layouts=layouts("output_layouts", output_layouts, outs),
            aliases=tuple(sorted((input_output_aliases or {}).items())),
            vmap_method=vmap_method,
        )
        return out_tree.unflatten(results)

    return call


def layouts(
    option: str, chosen: Sequence[Sequence[int] | None] | None, avals: Sequence[Aval]
) -> tuple[Layout, ...]:
    """The layout of each array; row by row by default."""
    if chosen is None:
        return tuple(tuple(range(a.ndim)) for a in avals)
    if len(chosen) != len(avals):
        raise errors.ShapeError(
            f"ffi_call: {option} must have {len(avals)} entries; got {len(chosen)}"
        )
    layouts = []
    for a, layout in zip(avals, chosen, strict=True):
        order = tuple(range(a.ndim)) if layout is None else tuple(layout)
        if sorted(order) != list(range(a.ndim)):
            raise ValueError(f"ffi_call: {option}: {order} is not an order of the axes of {a}")
        layouts.append(order)
    return tuple(layouts)


foreign = Primitive("ffi_call", "Calls a native function.", multiple=True)
"""`attributes` are pairs of a name and the text of a value; layouts are major to minor."""


@foreign.type
def _(*avals: Aval, outs: tuple[Aval, ...], **_: Any) -> tuple[Aval, ...]:
    return outs


@foreign.lower
def _(
    block: Block,
    *operands: Operand,
    out: Sequence[Aval],
    target: str,
    outs: tuple[Aval, ...],
    attributes: tuple[tuple[str, str], ...],
    in_layouts: tuple[Layout, ...],
    out_layouts: tuple[Layout, ...],
    aliases: tuple[tuple[int, int], ...],
    vmap_method: str | None,
) -> Any:
    if block.module.platform == "cpu" and not custom_calls.is_registered(target):
        raise ValueError(
            f"ffi_call: no target {target!r} is registered\n"
            "  fix: extend.ffi.register_ffi_target(name, capsule) before the call"
        )
    config = ", ".join(f"{name} = {value}" for name, value in attributes)
    parts = [
        f"call_target_name = {string(target)}",
        "api_version = 4 : i32",
        f"backend_config = {{{config}}}",
        f"operand_layouts = [{', '.join(map(minor_to_major, in_layouts))}]",
        f"result_layouts = [{', '.join(map(minor_to_major, out_layouts))}]",
    ]
    if aliases:
        pairs = [
            "#stablehlo.output_operand_alias<output_tuple_indices = "
            f"[{result if len(outs) > 1 else ''}], operand_index = {argument}, "
            "operand_tuple_indices = []>"
            for argument, result in aliases
        ]
        parts.append(f"output_operand_aliases = [{', '.join(pairs)}]")
    return block.op("custom_call", *operands, out=list(outs), attributes=", ".join(parts))


def minor_to_major(layout: Layout) -> str:
    """A layout in StableHLO's notation."""
    numbers = ", ".join(map(str, reversed(layout)))
    return f"dense<[{numbers}]> : tensor<{len(layout)}xindex>"


@foreign.batch
def _(
    args: Sequence[Value],
    batched: Sequence[bool],
    size: int,
    *,
    outs: tuple[Aval, ...],
    in_layouts: tuple[Layout, ...],
    out_layouts: tuple[Layout, ...],
    vmap_method: str | None,
    target: str,
    **params: Any,
) -> Any:
    full_params = {"target": target, "vmap_method": vmap_method, **params}
    if vmap_method is None:
        raise errors.MissingRuleError(
            f"ffi_call: {target!r} is under vmap for {size} elements, and has no vmap_method\n"
            "  fix: vmap_method='sequential' (one call per element), 'expand_dims' or "
            "'broadcast_all' (one call with one more axis in front)"
        )
    if vmap_method == "sequential":
        full_params |= {"outs": outs, "in_layouts": in_layouts, "out_layouts": out_layouts}
        mapped = [x for x, b in zip(args, batched, strict=True) if b]

        def one(elements: list[Value]) -> Any:
            remaining = iter(elements)
            full = [next(remaining) if b else x for x, b in zip(args, batched, strict=True)]
            return foreign(*full, **full_params)

        return sequential_map(one, mapped)
    full = [
        x if b or vmap_method == "legacy_vectorized" else with_leading_axis(x, size, vmap_method)
        for x, b in zip(args, batched, strict=True)
    ]
    return foreign(
        *full,
        outs=tuple([a.update(shape=(size, *a.shape)) for a in outs]),
        in_layouts=tuple(
            layout if len(layout) == x.ndim else batched_layout(layout)
            for layout, x in zip(in_layouts, full, strict=True)
        ),
        out_layouts=tuple(map(batched_layout, out_layouts)),
        **full_params,
    )


def with_leading_axis(x: Value, size: int, vmap_method: str) -> Value:
    """An unmapped argument with a leading axis, as the method requires."""
    length = size if vmap_method == "broadcast_all" else 1
    wide: Value = broadcast_in_dim(x, shape=(length, *x.shape), dims=tuple(range(1, x.ndim + 1)))
    return wide


def batched_layout(layout: Layout) -> Layout:
    """The layout with a new first axis, which is major."""
    return 0, *[axis + 1 for axis in layout]
