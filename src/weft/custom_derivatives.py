"""Custom derivatives: `custom_jvp`, `custom_vjp`, and related functions."""

from .transforms.closures import closure_convert
from .transforms.custom_derivatives import custom_jvp, custom_vjp
from .transforms.custom_gradient import custom_gradient
from .transforms.symbolic_zeros import CustomVJPPrimal, SymbolicZero

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
]
