"""The avals of leaves of arguments, and the errors for leaves that are not arrays."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from .. import dtypes
from ..core.array import as_value
from ..core.aval import Aval, aval
from ..core.ref import Ref
from ..core.source import function_line
from ..core.value import Value
from ..errors import ShapeError
from ..user_lines import noted

WITH_STATIC = frozenset(("jit", "pmap", "checkpoint", "make_jaxpr", "xla_computation"))
"""The transformations that have static arguments."""


def not_an_array(
    transform: str, function: Any, path: str, expected: str, leaf: Any, error: Exception
) -> TypeError:
    """The error for an argument that is not an array, with its type and a fix."""
    kind = type(leaf)
    if callable(leaf) and hasattr(leaf, "__name__"):
        description = f"{kind.__name__} {function_line(leaf)}"
    elif getattr(kind, "__repr__", None) is object.__repr__:
        description = kind.__name__
    else:
        description = f"{kind.__name__} {leaf!r:.60}"
    if isinstance(leaf, Ref):
        return noted(
            TypeError(
                f"{transform}: argument {path} of {function_line(function)} must be {expected}; "
                f"got a Ref of {leaf.aval}, which {transform} does not take\n"
                "  fix: close over it; or pass its value, ref[...], and return the new value"
            )
        )
    static = "bind it with functools.partial"
    if transform in WITH_STATIC:
        static = "mark it static with static_argnums or static_argnames"
    elif transform in ("custom_jvp", "custom_vjp"):
        static = "name its position in nondiff_argnums"
    if hasattr(leaf, "dtype"):  # an array of NumPy or of another library
        description += f" ({error})"
        fix = f"convert it, or {static}"
    elif kind.__module__ == "builtins" or isinstance(leaf, (Enum, type)) or callable(leaf):
        fix = f"convert it, {static}, or close over it"
    else:
        register = f"weft.tree_util.register_dataclass({kind.__name__})"
        fix = f"{static}, or {register} if its fields hold arrays"
    return noted(
        TypeError(
            f"{transform}: argument {path} of {function_line(function)} must be {expected}; got "
            f"{description}\n  fix: {fix}"
        )
    )


def add_ref(
    refs: dict[int, Ref],
    number: int,
    ref: Ref,
    transform: str,
    function: Any,
    paths: Callable[[], list[str]],
) -> None:
    """Records a ref among the leaves. Raises an error if it occurs twice."""
    for i, other in refs.items():
        if other is ref:
            raise ShapeError(
                f"{transform}: the arguments {paths()[i]} and {paths()[number]} of "
                f"{function_line(function)} are the same Ref of {ref.aval}\n"
                "  fix: pass it once"
            )
    refs[number] = ref


def argument_avals(
    transform: str,
    function: Any,
    leaves: Sequence[Any],
    paths: Callable[[], list[str]],
    refs: dict[int, Ref] | None = None,
) -> list[Aval]:
    """The avals of leaves that are arrays, scalars, or have a shape and a dtype."""
    avals = []
    for i, leaf in enumerate(leaves):
        if refs is not None and isinstance(leaf, Ref):
            add_ref(refs, i, leaf, transform, function, paths)
            avals.append(leaf.aval)
            continue
        try:
            avals.append(shaped_aval(leaf))
        except (TypeError, ValueError) as error:
            expected = "an array, a scalar, or have a shape and a dtype"
            raise not_an_array(transform, function, paths()[i], expected, leaf, error) from None
    return avals


def shaped_aval(x: Any) -> Aval:
    """The aval of an array, a scalar, or an object with a shape and a dtype."""
    if isinstance(x, Value):
        return x.aval
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return aval(
            tuple(x.shape),
            dtypes.canonicalize_dtype(x.dtype),
            bool(getattr(x, "weak_type", False)),
        )
    return as_value(x).aval
