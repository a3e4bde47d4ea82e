"""Writes calls of LAPACK, with matrices as it wants them.

LAPACK has matrices column by column, XLA row by row: what is given as it is, LAPACK sees
transposed. Knows no decomposition.
"""

from collections.abc import Mapping, Sequence

from ...core.aval import Aval
from ...stablehlo import Block, Operand
from .native import PREFIX, nan_where_failed, native_call, turned_aval


def has_lapack(block: Block) -> bool:
    """True if the program is for a CPU."""
    return block.module.platform == "cpu"


def letter(name: str, value: str) -> str:
    """An attribute of LAPACK's that is a letter."""
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
    """A call of a routine of LAPACK for the first operand's dtype: `getrf`.

    Args:
      kinds: a letter for each operand and result, "MV>MV": M is a stack of matrices, T one that
        LAPACK sees transposed, so that nothing is moved, V anything else.
      checked: whether the last result is `info`: it is left out, and NaN takes the place of the
        others where it isn't zero.
    """
    given, _, gives = kinds.partition(">")
    x = operands[0].aval
    batch = x.ndim - (1 if given[0] == "V" else 2)
    target = f"lapack_{PREFIX[x.dtype]}{routine}_ffi"
    rows = f"{'V' * len(given)}>{'V' * len(gives)}"
    taken = [as_seen(block, kind, o) for kind, o in zip(given, operands, strict=True)]
    seen = [turned_aval(o) if kind == "T" else o for kind, o in zip(gives, outs, strict=True)]
    found = native_call(block, target, taken, seen, rows, attributes, aliases, batch)
    found = [f if k == "V" else flipped(block, f) for k, f in zip(gives, found, strict=True)]
    if checked:
        *found, info = found
        found = [nan_where_failed(block, info, f)[0] if f.aval.inexact else f for f in found]
    return [block.turn(f) if k == "M" else f for k, f in zip(gives, found, strict=False)]


def as_seen(block: Block, kind: str, x: Operand) -> Operand:
    """An operand with the axes that LAPACK is told of: elements lie row by row, and it reads them
    column by column."""
    if kind == "V":
        return x
    return flipped(block, block.turn(x) if kind == "M" else x)


def flipped(block: Block, x: Operand) -> Operand:
    """The same elements in memory, with the lengths of the last two axes exchanged."""
    return block.reshape(x, turned_aval(x.aval).shape)
