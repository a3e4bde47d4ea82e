"""Several processes that compute together: on one machine, or on the hosts of a cluster.

`python -m weft.distributed.run -n 4 script.py` starts them on this machine.
"""

from .membership import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
