"""`python -m weft.info` prints versions, devices, caches and switches; describe returns it."""

import platform
import sys

import ml_dtypes
import numpy

from .compiler import disk_cache
from .config import config
from .runtime import client, versions

__all__ = ["describe"]


def describe() -> str:
    """A description of this installation, as text.

    Example:
      >>> from weft import info
      >>> print(info.describe().splitlines()[0])
      python      3... on ...
    """
    lib = versions.load()
    cache = disk_cache.info()
    lines = [
        f"python      {platform.python_version()} on {platform.platform()}",
        f"numpy       {numpy.__version__}",
        f"ml_dtypes   {ml_dtypes.__version__}",
        f"jaxlib      {lib.version}",
        f"devices     {', '.join(map(str, client.devices()))}",
        f"disk cache  {', '.join(f'{k}: {v}' for k, v in cache.items())}",
        "",
        config.describe(),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(describe() + "\n")
