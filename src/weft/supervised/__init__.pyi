# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    callbacks as callbacks,
    decoding as decoding,
    history as history,
    lr_schedules as lr_schedules,
    nan_alarm as nan_alarm,
    run_log as run_log,
    run_report as run_report,
    training as training,
)
