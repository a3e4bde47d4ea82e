# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from ...numpy.functional import trapezoid as trapezoid
from .sampled import cumulative_trapezoid as cumulative_trapezoid, simpson as simpson
