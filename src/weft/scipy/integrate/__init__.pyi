# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from ...numpy.calculus import trapezoid as trapezoid
from .quadrature import cumulative_trapezoid as cumulative_trapezoid, simpson as simpson
