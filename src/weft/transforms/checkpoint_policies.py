"""Policies of checkpoint: what is kept all the same. And names, for policies to speak of.

A policy is a function `policy(primitive, *avals, **params)` of an operation. It is called when a
function is traced, not when it runs.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..core.array import as_value
from ..core.primitive import Primitive
from ..core.source import located
from ..primitives.selection import name as name_primitive
from ..programs.partial_eval import Either
from ..tree_util import tree_map

__all__ = ["checkpoint_name", "checkpoint_policies"]

Policy = Callable[..., bool]


@located
def checkpoint_name(x: Any, name: str) -> Any:
    """The same value, with a name for the policies of checkpoint.

    Args:
      x: an array, or containers of them: the name is for each.
      name: the name; several values may have the same.
    Returns: the same values.
    Raises: TypeError: the name isn't a string.
    Example:
      >>> import weft, weft.numpy as np
      >>> from weft.ad_checkpoint import checkpoint_name, print_saved_residuals
      >>> policy = weft.checkpoint_policies.save_only_these_names("hidden")
      >>> f = weft.checkpoint(lambda x: np.sin(checkpoint_name(np.sin(x), "hidden")), policy=policy)
      >>> print_saved_residuals(f, 1.0)
      float32[] from the argument x
      float32[] named 'hidden'
    Source: jax.ad_checkpoint.checkpoint_name.
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: the name must be a string; got {name!r}")
    return tree_map(lambda leaf: name_primitive(as_value(leaf), name=name), x)


def everything_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps all results: as without checkpoint."""
    return True


def nothing_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps nothing: as without a policy."""
    return False


def dots_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps the results of matrix products and convolutions."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Keeps the results of matrix products without batch axes: those with weights."""
    return primitive.name == "dot_general" and params["dims"][1] == ((), ())


class _Names:
    """A policy that goes by names. Equal ones are one, so that what was derived is found again."""

    def __init__(self, kind: str, names: tuple[str, ...]) -> None:
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"{kind}: names must be strings; got {name!r}")
        self.kind, self.names = kind, frozenset(names)

    def __call__(self, primitive: Primitive, *avals: Any, **params: Any) -> bool:
        named = primitive is name_primitive
        if self.kind == "save_only_these_names":
            return named and params["name"] in self.names
        if self.kind == "save_any_names_but_these":
            return named and params["name"] not in self.names
        return not (named and params["name"] in self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and (self.kind, self.names) == (other.kind, other.names)

    def __hash__(self) -> int:
        return hash((self.kind, self.names))

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, sorted(self.names)))})"


def save_only_these_names(*names: str) -> Policy:
    """Keeps the values that `checkpoint_name` gave one of these names, and nothing else."""
    return _Names("save_only_these_names", names)


def save_any_names_but_these(*names: str) -> Policy:
    """Keeps the values that `checkpoint_name` gave another name, and nothing else."""
    return _Names("save_any_names_but_these", names)


def save_anything_except_these_names(*names: str) -> Policy:
    """Keeps everything but the values that `checkpoint_name` gave one of these names.

    What a named value was computed from is kept: so name what is cheap to compute from it.
    """
    return _Names("save_anything_except_these_names", names)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keeps what either of two policies keeps."""
    return Either(policy_1, policy_2)


checkpoint_policies = SimpleNamespace(
    checkpoint_dots=dots_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    dots_saveable=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    save_only_these_names=save_only_these_names,
)
"""What a checkpointed function keeps: functions to pass as `policy`, and makers of such."""
