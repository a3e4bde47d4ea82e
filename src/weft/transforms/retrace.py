"""Why a function was traced again: the last signatures, and what changed against the nearest.

Knows signatures; knows nothing of tracing.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from ..config import thread
from ..core.messages import tell
from ..core.source import function_line, user_line


class History:
    """The last signatures that a function was traced for."""

    __slots__ = ("count", "function", "signatures")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.signatures: deque[Any] = deque(maxlen=8)
        self.count = 0

    def note(self, tree: Any, avals: Any, statics: Any, paths: Callable[[], list[str]]) -> None:
        """Remembers a signature about to be traced; explains it if a switch asks for that."""
        self.count += 1
        if thread.log_compiles or "retrace" in thread.debug:
            tell(self.explain(tree, avals, statics, paths))
        self.signatures.append((tree, avals, statics, thread.key))

    def explain(self, tree: Any, avals: Any, statics: Any, paths: Callable[[], list[str]]) -> str:
        """One or more lines on what is new in a signature."""
        head = f"jit: tracing {function_line(self.function)}, called at {user_line()}"
        if not self.signatures:
            return f"{head}: for the first time, on ({', '.join(map(str, avals))})"
        nearest = max(self.signatures, key=lambda s: _likeness(s, tree, avals, statics))
        lines = list(_differences(nearest, tree, avals, statics, paths))
        return (
            f"{head} for the {self.count}. time; against the nearest earlier call:\n"
            + "\n".join(f"  {line}" for line in lines)
        )


def _likeness(signature: Any, tree: Any, avals: Any, statics: Any) -> int:
    old_tree, old_avals, old_statics, _ = signature
    same: int = sum(a is b for a, b in zip(old_avals, avals, strict=False))
    return 1000 * bool(old_tree == tree) + 100 * bool(old_statics == statics) + same


def _differences(
    signature: Any, tree: Any, avals: Any, statics: Any, paths: Callable[[], list[str]]
) -> Any:
    old_tree, old_avals, old_statics, old_key = signature
    if old_tree != tree:
        yield f"the arguments' structure was {old_tree}, is {tree}"
    elif old_avals != avals:
        for path, a, b in zip(paths(), old_avals, avals, strict=True):
            if a is not b:
                weak = " (weak type)" if a.weak_type != b.weak_type and a.shape == b.shape else ""
                yield f"argument {path} was {a}, is {b}{weak}"
    if old_statics != statics:
        for a, b in zip(old_statics, statics, strict=False):
            if a != b:
                yield f"static argument {b[0]} was {a[-1]!r}, is {b[-1]!r}"
    if old_key is not thread.key:
        yield "a switch of weft.config was turned"
