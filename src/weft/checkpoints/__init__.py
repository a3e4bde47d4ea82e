"""Checkpoints: trees of arrays on disk. A checkpoint is complete or does not exist.

`save` and `restore` write and read a checkpoint; `Checkpoints` manages those of a run.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "restoring": "read_metadata restore",
        "saving": "save",
        "series": "Checkpoints",
    },
)
