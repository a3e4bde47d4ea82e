# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .transformation import jet as jet, zero_series as zero_series
