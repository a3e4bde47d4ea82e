# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .difference import ProgramDifference as ProgramDifference, diff as diff
from .explain import explain as explain, explain_program as explain_program
from .findings import Finding as Finding
from .nan_trace import NanTrace as NanTrace, nan_trace as nan_trace
from .precision_trace import (
    Loss as Loss,
    PrecisionTrace as PrecisionTrace,
    precision_trace as precision_trace,
)
from .replay import Replay as Replay, replay as replay
from .report import Explanation as Explanation
