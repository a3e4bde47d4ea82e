"""`batching.register_vmappable`: the classes for which libraries have their own rules of `vmap`."""

from typing import Any

VMAPPABLE: dict[type, tuple[type, type]] = {}
"""The registered classes: class -> (class of entries of in_axes, class of sizes)."""


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, *rules: Any) -> None:
    """Registers a class. `vmap` does not use its rules: it maps over all arrays of a tree."""
    VMAPPABLE[data_type] = spec_type, axis_size_type


def unregister_vmappable(data_type: type) -> None:
    """Undoes `register_vmappable`."""
    del VMAPPABLE[data_type]


def is_vmappable(x: object) -> bool:
    """True for an object of a registered class."""
    return type(x) in VMAPPABLE
