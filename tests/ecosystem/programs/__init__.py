"""Programs of users of jax's libraries; none of them knows of weft."""

from collections.abc import Callable
from typing import Any

from . import (
    with_chex,
    with_distrax as with_distrax,
    with_equinox,
    with_flax,
    with_haiku,
    with_optax,
    with_others as with_others,
    with_probability as with_probability,
    with_science as with_science,
    with_solvers as with_solvers,
)
from .registry import PROGRAMS

LIBRARIES = (with_chex, with_equinox, with_flax, with_haiku, with_optax)


def gather() -> dict[str, Callable[[], Any]]:
    """All of them, by name."""
    return PROGRAMS
