"""Calls of solver libraries in StableHLO: LAPACK on CPUs, cuSOLVER on GPUs.

Where neither exists, the primitives use the algorithms in `primitives/portable`. The libraries take
stacks of matrices whose columns are contiguous. XLA stores rows, so LAPACK sees the transpose of a
matrix that is passed unchanged. No library raises an error: each returns a number, `info`, and
results with a nonzero `info` are replaced by NaN."""

import itertools
import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.aval import Aval
from ...errors import ShapeError
from ...stablehlo import Block, Operand
from ..rule_types import Avals, DType, Host

PREFIX: dict[DType, str] = {
    dtypes.float32: "s",
    dtypes.float64: "d",
    dtypes.complex64: "c",
    dtypes.complex128: "z",
}
"""LAPACK's letter for each dtype that it supports."""


# --- types ---


def check_matrices(name: str, x: Aval, square: bool = False, argument: str = "x") -> None:
    """Raises an error unless x is a stack of matrices of a dtype that LAPACK supports."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        description = "square matrices" if square else "matrices"
        raise ShapeError(
            f"{name}: {argument} must be {'a stack of ' if x.ndim > 2 else ''}{description}, with "
            f"at least two axes{' of which the last two are equal' if square else ''}; got {x}"
        )
    check_dtype(name, x, argument)


def check_dtype(name: str, x: Aval, argument: str = "x") -> None:
    """Raises an error for dtypes that LAPACK does not support."""
    if x.dtype not in PREFIX:
        raise ShapeError(
            f"{name}: {argument} must be of dtype {', '.join(d.name for d in PREFIX)}; got {x}\n"
            "  fix: convert with .astype"
        )


def aval_of_shape(x: Aval, *shape: int, dtype: DType | None = None) -> Aval:
    """An aval with x's batch in front of `shape`."""
    return x.update(shape=(*x.shape[:-2], *shape), dtype=dtype or x.dtype, weak_type=False)


def transposed_aval(x: Aval) -> Aval:
    """The aval of the transposed matrices."""
    return x.update(shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]), weak_type=False)


def integers(x: Aval, *shape: int) -> Aval:
    """An aval of int32, with x's batch in front of `shape`."""
    return aval_of_shape(x, *shape, dtype=dtypes.int32)


# --- calls ---


def native_call(
    block: Block,
    target: str,
    operands: Sequence[Operand],
    outs: Sequence[Aval],
    kinds: str,
    attributes: str = "",
    aliases: Mapping[int, int] | None = None,
    batch: int = 0,
) -> list[Operand]:
    """A call of a native function.

    Args:
      kinds: a letter for each operand and result, "MV>M-": M is a stack of matrices, stored column
        by column; V is anything else, stored row by row.
      attributes: further attributes, as MLIR text.
      aliases: results that may take the memory of operands: operand's number -> result's.
      batch: the number of leading batch axes, the same for all.
    """
    operand_kinds, _, result_kinds = kinds.partition(">")
    layouts = map(_layout, operand_kinds, [o.aval.ndim for o in operands])
    result_layouts = map(_layout, result_kinds, [o.ndim for o in outs])
    parts = [
        f'call_target_name = "{target}"',
        "api_version = 4 : i32",
        f"backend_config = {{{attributes}}}",
        f"operand_layouts = [{', '.join(layouts)}]",
        f"result_layouts = [{', '.join(result_layouts)}]",
    ]
    pairs = [
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"[{result if len(outs) > 1 else ''}], operand_index = {operand}, "
        "operand_tuple_indices = []>"
        for operand, result in (aliases or {}).items()
    ]
    if pairs:
        parts.append(f"output_operand_aliases = [{', '.join(pairs)}]")
    if block.module.meshes is not None:
        parts.append(_sharding_rule([o.aval for o in operands], outs, batch))
    call_results: list[Operand] = block.op(
        "custom_call", *operands, out=list(outs), attributes=", ".join(parts)
    )
    return call_results


def _layout(kind: str, ndim: int) -> str:
    """The order of axes in memory, the fastest first."""
    order = [*range(ndim)][::-1]
    if kind == "M":
        order[:2] = order[1::-1]
    if not order:
        return "dense<> : tensor<0xindex>"
    return f"dense<[{', '.join(map(str, order))}]> : tensor<{ndim}xindex>"


def _sharding_rule(avals: Avals, outs: Avals, batch: int) -> str:
    """Shardy's rule for a call: only the leading batch axes may be divided among devices, in the
    same way in all operands and results."""
    names = (
        f"z_{i}" if i >= 26 else string.ascii_lowercase[(8 + i) % 26] for i in itertools.count()
    )
    batch_names = [next(names) for _ in range(batch)]
    sizes: dict[str, int] = {}
    axis_lists = []
    for x in (*avals, *outs):
        axis_names = [*batch_names[: x.ndim], *[next(names) for _ in range(x.ndim - batch)]]
        sizes.update(zip(axis_names, x.shape, strict=True))
        axis_lists.append(f"[{', '.join(axis_names)}]")
    operand_axes, result_axes = (
        ", ".join(axis_lists[: len(avals)]),
        ", ".join(axis_lists[len(avals) :]),
    )
    factors = ", ".join(f"{name}={length}" for name, length in sizes.items())
    signature = f"({operand_axes})->({result_axes})"
    return f"sdy.sharding_rule = #sdy.op_sharding_rule<{signature} {{{factors}}}, custom>"


def cusolver(
    block: Block,
    target: str,
    operands: Sequence[Operand],
    outs: Sequence[Aval],
    kinds: str,
    attributes: str = "",
    aliases: Mapping[int, int] | None = None,
) -> list[Operand]:
    """A call of a function of the CUDA plugin, of any dtype."""
    batch = operands[0].aval.ndim - (2 if kinds[0] == "M" else 1)
    return native_call(block, target, operands, outs, kinds, attributes, aliases, batch)


def has_cusolver(block: Block) -> bool:
    """True if the program is for a GPU whose plugin has the kernels of cuSOLVER."""
    return block.module.solvers


# --- results ---


def nan_where_failed(block: Block, info: Operand, *results: Operand) -> list[Operand]:
    """Results with NaN for problems whose `info` is not zero."""
    flag = info.aval.update(dtype=dtypes.bool_)
    has_succeeded = block.compare("EQ", info, block.full(0, info.aval), flag)
    masked_results = []
    for x in results:
        mask = block.broadcast(has_succeeded, range(info.aval.ndim), x.aval.shape)
        masked_results.append(block.select(mask, x, block.full(np.nan, x.aval.strong())))
    return masked_results


def triangle_mask(block: Block, aval: Aval, direction: str) -> Operand:
    """A mask of where `row direction column` holds, in stacks of matrices of an aval's shape."""
    index_aval = aval.update(shape=aval.shape[-2:], dtype=dtypes.int32, weak_type=False)
    flag = index_aval.update(dtype=dtypes.bool_)
    mask = block.compare(direction, block.iota(index_aval, 0), block.iota(index_aval, 1), flag)
    return block.widen(mask, aval.shape)


def lower_triangle(block: Block, x: Operand) -> Operand:
    """Zero above the diagonal."""
    zero = block.full(0, x.aval.strong())
    return block.select(triangle_mask(block, x.aval, "GE"), x, zero)


def upper_triangle(block: Block, x: Operand) -> Operand:
    """Zero below the diagonal."""
    zero = block.full(0, x.aval.strong())
    return block.select(triangle_mask(block, x.aval, "LE"), x, zero)


def write_identity(block: Block, aval: Aval) -> Operand:
    """Ones on the diagonal, zeros elsewhere."""
    strong_aval = aval.strong()
    mask = triangle_mask(block, aval, "EQ")
    return block.select(mask, block.full(1, strong_aval), block.full(0, strong_aval))


def adjoint_of(block: Block, x: Operand) -> Operand:
    """The last two axes exchanged, and conjugated."""
    n = x.aval.ndim
    transposed = block.transpose(x, [*range(n - 2), n - 1, n - 2])
    if dtypes.is_complex(x.aval.dtype):
        return block.op("chlo.conj", transposed, out=transposed.aval)
    return transposed


# --- NumPy ---


def each(function: Any, outs: Avals, *hosts: Host) -> list[Host]:
    """NumPy's results for a stack of problems; NaN where it raises LinAlgError."""
    try:
        return list(function(*hosts))
    except np.linalg.LinAlgError:
        pass
    x = hosts[0]
    results = [np.full(o.shape, np.nan, o.dtype) for o in outs]
    for index in np.ndindex(x.shape[:-2]) if x.ndim > 2 else ():
        try:
            single_results = function(*[h[index] for h in hosts])
        except np.linalg.LinAlgError:
            continue
        for result, value in zip(results, single_results, strict=True):
            result[index] = value
    return results


def work(x: Aval) -> int:
    """The approximate number of multiplications of a decomposition."""
    return x.size * min(x.shape[-2:])


def decomposition_cost(avals: Avals, outs: Avals, **params: Any) -> int:
    """The `work` rule of decompositions, as arithmetic."""
    return work(avals[0])


def has_lapack(block: Block) -> bool:
    """True if the program is for a CPU."""
    return block.module.platform == "cpu"


def letter_attribute(name: str, value: str) -> str:
    """An attribute of a LAPACK call that is a letter."""
    return f"{name} = {ord(value)} : ui8"


def lapack(
    block: Block,
    routine: str,
    operands: Sequence[Operand],
    outs: Sequence[Aval],
    kinds: str,
    attributes: str = "",
    aliases: Mapping[int, int] | None = None,
    checked: bool = False,
) -> list[Operand]:
    """A call of a LAPACK routine (`getrf`) for the first operand's dtype.

    Args:
      kinds: a letter for each operand and result, "MV>MV": M is a stack of matrices; T is a stack
        that LAPACK sees transposed, without a copy; V is anything else.
      checked: whether the last result is `info`. It is dropped, and the other results are NaN where
        it is not zero.
    """
    operand_kinds, _, result_kinds = kinds.partition(">")
    x = operands[0].aval
    batch = x.ndim - (1 if operand_kinds[0] == "V" else 2)
    target = f"lapack_{PREFIX[x.dtype]}{routine}_ffi"
    rows = f"{'V' * len(operand_kinds)}>{'V' * len(result_kinds)}"
    lapack_operands = [
        lapack_view(block, kind, o) for kind, o in zip(operand_kinds, operands, strict=True)
    ]
    lapack_outs = [
        transposed_aval(o) if kind == "T" else o for kind, o in zip(result_kinds, outs, strict=True)
    ]
    results = native_call(
        block, target, lapack_operands, lapack_outs, rows, attributes, aliases, batch
    )
    results = [
        f if k == "V" else exchange_lengths(block, f)
        for k, f in zip(result_kinds, results, strict=True)
    ]
    if checked:
        *results, info = results
        results = [nan_where_failed(block, info, f)[0] if f.aval.inexact else f for f in results]
    return [
        block.transpose_matrix(f) if k == "M" else f
        for k, f in zip(result_kinds, results, strict=False)
    ]


def lapack_view(block: Block, kind: str, x: Operand) -> Operand:
    """An operand with the shape that LAPACK sees: LAPACK reads by columns, and the elements are
    stored by rows."""
    if kind == "V":
        return x
    return exchange_lengths(block, block.transpose_matrix(x) if kind == "M" else x)


def exchange_lengths(block: Block, x: Operand) -> Operand:
    """The same elements in memory, with the lengths of the last two axes exchanged."""
    return block.reshape(x, transposed_aval(x.aval).shape)
