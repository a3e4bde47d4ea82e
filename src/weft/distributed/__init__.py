"""Several processes that compute together: on one machine, or on the hosts of a cluster.

`python -m weft.distributed.run -n 4 script.py` starts them on this machine.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "membership": "initialize is_initialized shutdown",
    },
)
