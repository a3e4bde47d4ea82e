"""Writes calls of solver libraries: LAPACK on CPUs, cuSOLVER on GPUs, else algorithms of ours.

Those are the functions of `primitives/portable`. The libraries take stacks of matrices whose
columns are contiguous. None of them raises: a number, `info`, says whether it worked, and NaN takes
the place of what didn't.
"""

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
"""The letter by which LAPACK calls a dtype: these are the ones it has."""


# --- types ---


def check_matrices(name: str, x: Aval, square: bool = False, argument: str = "x") -> None:
    """Refuses what isn't a stack of matrices of a dtype that LAPACK has."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        what = "square matrices" if square else "matrices"
        raise ShapeError(
            f"{name}: {argument} must be {'a stack of ' if x.ndim > 2 else ''}{what}, with at "
            f"least two axes{' of which the last two are equal' if square else ''}; got {x}"
        )
    check_dtype(name, x, argument)


def check_dtype(name: str, x: Aval, argument: str = "x") -> None:
    """Refuses dtypes that LAPACK hasn't."""
    if x.dtype not in PREFIX:
        raise ShapeError(
            f"{name}: {argument} must be of dtype {', '.join(d.name for d in PREFIX)}; got {x}\n"
            "  fix: convert with .astype"
        )


def reduced(x: Aval, *shape: int, dtype: DType | None = None) -> Aval:
    """An aval with x's batch in front of `shape`."""
    return x.update(shape=(*x.shape[:-2], *shape), dtype=dtype or x.dtype, weak_type=False)


def turned_aval(x: Aval) -> Aval:
    """The aval of the transposed matrices."""
    return x.update(shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]), weak_type=False)


def integers(x: Aval, *shape: int) -> Aval:
    """An aval of int32, with x's batch in front of `shape`."""
    return reduced(x, *shape, dtype=dtypes.int32)


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
        by column, V anything else, stored row by row.
      attributes: what the function is told besides, as MLIR's text.
      aliases: results that may take the memory of operands: operand's number -> result's.
      batch: how many axes in front count the problems, in all of them.
    """
    given, _, gives = kinds.partition(">")
    parts = [
        f'call_target_name = "{target}"',
        "api_version = 4 : i32",
        f"backend_config = {{{attributes}}}",
        f"operand_layouts = [{', '.join(map(_layout, given, [o.aval.ndim for o in operands]))}]",
        f"result_layouts = [{', '.join(map(_layout, gives, [o.ndim for o in outs]))}]",
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
    found: list[Operand] = block.op(
        "custom_call", *operands, out=list(outs), attributes=", ".join(parts)
    )
    return found


def _layout(kind: str, ndim: int) -> str:
    """The order of axes in memory, the fastest first."""
    order = [*range(ndim)][::-1]
    if kind == "M":
        order[:2] = order[1::-1]
    if not order:
        return "dense<> : tensor<0xindex>"
    return f"dense<[{', '.join(map(str, order))}]> : tensor<{ndim}xindex>"


def _sharding_rule(avals: Avals, outs: Avals, batch: int) -> str:
    """Shardy's rule for a call: the axes in front may be divided among devices, alike in all
    operands and results; no other axis may."""
    names = (
        f"z_{i}" if i >= 26 else string.ascii_lowercase[(8 + i) % 26] for i in itertools.count()
    )
    shared = [next(names) for _ in range(batch)]
    sizes: dict[str, int] = {}
    texts = []
    for x in (*avals, *outs):
        own = [*shared[: x.ndim], *[next(names) for _ in range(x.ndim - batch)]]
        sizes.update(zip(own, x.shape, strict=True))
        texts.append(f"[{', '.join(own)}]")
    given, gives = ", ".join(texts[: len(avals)]), ", ".join(texts[len(avals) :])
    factors = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return f"sdy.sharding_rule = #sdy.op_sharding_rule<({given})->({gives}) {{{factors}}}, custom>"


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
    """Results with NaN in the place of those of problems whose `info` isn't zero."""
    flag = info.aval.update(dtype=dtypes.bool_)
    worked = block.compare("EQ", info, block.full(0, info.aval), flag)
    found = []
    for x in results:
        which = block.broadcast(worked, range(info.aval.ndim), x.aval.shape)
        found.append(block.select(which, x, block.full(np.nan, x.aval.strong())))
    return found


def triangle_mask(block: Block, aval: Aval, direction: str) -> Operand:
    """True where `row direction column`, in stacks of matrices of an aval's shape."""
    at = aval.update(shape=aval.shape[-2:], dtype=dtypes.int32, weak_type=False)
    flag = at.update(dtype=dtypes.bool_)
    mask = block.compare(direction, block.iota(at, 0), block.iota(at, 1), flag)
    return block.widen(mask, aval.shape)


def lower_triangle(block: Block, x: Operand) -> Operand:
    """Zero above the diagonal."""
    zero = block.full(0, x.aval.strong())
    return block.select(triangle_mask(block, x.aval, "GE"), x, zero)


def upper_triangle(block: Block, x: Operand) -> Operand:
    """Zero below the diagonal."""
    zero = block.full(0, x.aval.strong())
    return block.select(triangle_mask(block, x.aval, "LE"), x, zero)


def written_identity(block: Block, aval: Aval) -> Operand:
    """Ones on the diagonal, zeros elsewhere."""
    strong = aval.strong()
    mask = triangle_mask(block, aval, "EQ")
    return block.select(mask, block.full(1, strong), block.full(0, strong))


def adjoint_of(block: Block, x: Operand) -> Operand:
    """The last two axes exchanged, and conjugated."""
    n = x.aval.ndim
    turned = block.transpose(x, [*range(n - 2), n - 1, n - 2])
    if dtypes.is_complex(x.aval.dtype):
        return block.op("chlo.conj", turned, out=turned.aval)
    return turned


# --- NumPy ---


def each(function: Any, outs: Avals, *hosts: Host) -> list[Host]:
    """NumPy's results for a stack of problems; NaN for those that it raises LinAlgError for."""
    try:
        return list(function(*hosts))
    except np.linalg.LinAlgError:
        pass
    x = hosts[0]
    results = [np.full(o.shape, np.nan, o.dtype) for o in outs]
    for place in np.ndindex(x.shape[:-2]) if x.ndim > 2 else ():
        try:
            found = function(*[h[place] for h in hosts])
        except np.linalg.LinAlgError:
            continue
        for result, value in zip(results, found, strict=True):
            result[place] = value
    return results


def work(x: Aval) -> int:
    """About how many products a decomposition takes."""
    return x.size * min(x.shape[-2:])


def products(avals: Avals, outs: Avals, **params: Any) -> int:
    """The `work` rule of decompositions, as arithmetic."""
    return work(avals[0])
