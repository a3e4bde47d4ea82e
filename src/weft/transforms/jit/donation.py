"""Donated arguments (`donate_argnums`): a program may use their memory for its results."""

import warnings
from collections.abc import Sequence
from typing import Any

from ... import errors
from ...compiler.compiled import CompiledProgram
from ...compiler.lowered import LoweredProgram
from ...core.array import Array, is_shared, unshared
from ...core.source import function_line
from ...runtime import buffer as buffers
from ...user_lines import levels_to_user


def owned(program: CompiledProgram, values: Sequence[Array]) -> list[Array]:
    """The arguments, with copies of donated literals that are shared. Raises an error for an array
    that is donated and also passed as another argument.
    """
    values = [*values]
    for i in program.donated:
        values[i] = unshared(values[i])
    first_uses: dict[int, int] = {}
    donated = {*program.donated}
    for i, v in enumerate(values):
        first = first_uses.setdefault(id(v), i)
        if first != i and not donated.isdisjoint((first, i)):
            raise errors.ShapeError(
                f"jit: {program.name} donates an array that is passed twice, {v.aval} as "
                f"argument leaves {first} and {i}\n  fix: pass a copy, or don't donate it"
            )
    return values


def may_donate(donated: Sequence[int], leaves: Sequence[Any]) -> bool:
    """True if arguments can be donated without a copy: each is on a device, and is passed once.

    Args:
      donated: the numbers of the donated leaves.
    """
    if len({*map(id, leaves)}) < len(leaves):
        return False
    for i in donated:
        x = leaves[i]
        if x.__class__ is not Array or x._buffer is None or (not x.aval.ndim and is_shared(x)):
            return False
    return True


def unusable_donations(program: LoweredProgram) -> list[int]:
    """The donated arguments whose memory no result can use."""
    free = list(program.result_types)
    unusable = []
    for n in program.donated:
        a = program.in_avals[program.live[n]]
        if (a.shape, a.stored) in free:
            free.remove((a.shape, a.stored))
        else:
            unusable.append(program.live[n])
    return unusable


def warn_of_unusable(program: LoweredProgram, transform: str) -> None:
    """Warns about donated arguments whose memory no result can use."""
    program.warned = True
    unusable = unusable_donations(program)
    if unusable:
        avals = ", ".join(str(program.in_avals[i]) for i in unusable)
        warnings.warn(
            f"Some donated buffers were not usable: {avals}\n"
            f"  {transform}: no result that {program.name} computes has their shape and dtype\n"
            "  fix: donate only arguments whose memory a result can use",
            stacklevel=levels_to_user(),
        )


def release(array: Array) -> None:
    """Marks a donated array as deleted, even if XLA did not use its memory."""
    if array._buffer is not None and not buffers.is_deleted(array._buffer):
        buffers.delete(array._buffer)
    array._host = array._buffer = None


def deleted(function: Any, path: str, array: Any) -> errors.DeletedArrayError:
    """The error for an argument whose memory was freed or donated."""
    return errors.DeletedArrayError(
        f"jit: argument {path} of {function_line(function)}, {array.aval}, has been deleted or "
        "donated: its memory is gone\n  fix: don't use an array after passing it in "
        "donate_argnums or calling delete()"
    )
