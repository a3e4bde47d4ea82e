"""The data stack as text: what lies on it before each of several layers, for error messages.

Knows the names, `n_in` and `n_out` of layers; nothing of arrays.
"""

from collections.abc import Sequence
from typing import Any


def arity(layers: Sequence[Any]) -> tuple[int, int]:
    """(n_in, n_out) of layers that work one after the other on a stack."""
    depth = needed = 0
    for layer in layers:
        depth += layer.n_in
        needed = max(needed, depth)
        depth -= layer.n_out
    return needed, needed - depth


def drawn(layers: Sequence[Any], n_items: int) -> str:
    """A line for each layer: the stack before it, with what it takes in brackets.

    The stack's top is on the left. `x0` is the first input of all; `a0` is the first output of the
    first layer, `b0` that of the second. The last line is the first layer that takes more items
    than there are, if there is one, or the stack at the end.
    """
    stack = [f"x{i}" for i in range(n_items)]
    rows = []
    for number, layer in enumerate(layers):
        taken, rest = stack[: layer.n_in], stack[layer.n_in :]
        shown = " ".join([f"[{' '.join(taken)}]", *rest])
        what = str(layer).partition("\n")[0].rstrip("[")
        if len(taken) < layer.n_in:
            rows.append((shown, f"{what} takes {layer.n_in} items, and there are {len(taken)}"))
            break
        rows.append((shown, f"{what}: {layer.n_in} -> {layer.n_out}"))
        letter = chr(ord("a") + number) if number < 26 else f"y{number}."
        stack = [f"{letter}{i}" for i in range(layer.n_out)] + rest
    else:
        rows.append((" ".join(stack) or "(nothing)", "at the end"))
    width = min(max(len(shown) for shown, _ in rows), 48)
    lines = [f"    {shown:{width}}  {what}" for shown, what in rows]
    return "\n".join(["  the stack, its top on the left:", *lines])
