# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .explain import explain as explain, explain_program as explain_program
from .findings import Finding as Finding
from .report import Explanation as Explanation
