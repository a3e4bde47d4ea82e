"""A row of the table of layers: how one is made, what it is given, which laws it is exempt from.

Rows are in `layer_cases_*.py`, a list `CASES` in each; `test_laws.py` runs every law on every row.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as onp

LAWS = ("signature", "purity", "derivative", "jit", "vmap", "remat", "bfloat16", "backends")


@dataclass(frozen=True)
class LayerCase:
    """A layer with its inputs.

    Attributes:
      name: what the row is called.
      make: makes the layer.
      inputs: the inputs: arrays, or shapes, of which arrays of numbers around 0 are made.
      exempt: laws that don't hold, each with its reason.
      gives: the dtype of outputs for inputs and weights of bfloat16.
    """

    name: str
    make: Callable[[], Any]
    inputs: tuple[Any, ...]
    exempt: dict[str, str] = field(default_factory=dict)
    gives: str = "bfloat16"

    def arrays(self) -> Any:
        """The inputs as NumPy arrays, packaged for the layer."""
        rng = onp.random.default_rng(len(self.name))
        made = tuple(
            onp.asarray(rng.normal(size=item).astype(onp.float32))
            if isinstance(item, tuple)
            else item
            for item in self.inputs
        )
        return made[0] if len(made) == 1 else made


def ids(*shape: int, high: int = 5) -> onp.ndarray:
    """Integers from 0 to high - 1, int32."""
    return onp.random.default_rng(0).integers(0, high, shape).astype(onp.int32)
