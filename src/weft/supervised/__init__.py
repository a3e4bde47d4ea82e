"""Supervised training: tasks and a loop, schedules, checkpoints, reports, decoding.

Source: Trax documentation, `trax.supervised`.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {},
    modules="callbacks decoding history lr_schedules nan_alarm run_log run_report training",
)
