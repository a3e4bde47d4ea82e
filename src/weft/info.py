"""`python -m weft.info` prints versions, devices, caches and switches; describe returns it."""

import sys

from .compiler import disk_cache
from .config import config
from .runtime import client, versions

__all__ = ["describe"]


def describe() -> str:
    """A description of this installation, as text.

    Example:
      >>> from weft import info
      >>> print(info.describe().splitlines()[0])
      weft        ...
    """
    cache = disk_cache.info()
    lines = [
        *[f"{name:<11} {version}" for name, version in versions.installed().items()],
        f"devices     {', '.join(map(str, client.devices()))}",
        f"disk cache  {', '.join(f'{k}: {v}' for k, v in cache.items())}",
        "",
        config.describe(),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(describe() + "\n")
