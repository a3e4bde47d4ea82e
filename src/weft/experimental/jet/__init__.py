"""Taylor mode: derivatives of high order along a path, without nesting first derivatives."""

from .transformation import jet, zero_series

__all__ = ["jet", "zero_series"]
