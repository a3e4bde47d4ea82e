"""device_memory_profile and save_device_memory_profile: profiles of the memory of devices."""

import os

from ..core.source import located
from ..runtime import profiling

__all__ = ["device_memory_profile", "save_device_memory_profile"]


@located
def device_memory_profile(backend: str | None = None) -> bytes:
    """The current content of the devices' memory: buffers and compiled programs.

    Small arrays outside `jit` are on the host, and are not included.

    Args:
      backend: a platform, 'cpu' or 'gpu'; by default the platform of computations.
    Returns: bytes in the format of pprof, https://github.com/google/pprof.
    Raises: PlatformError (a RuntimeError): there is no such platform.
    Example:
      >>> from weft import profiler
      >>> isinstance(profiler.device_memory_profile(), bytes)
      True
    Source: JAX documentation, `jax.profiler.device_memory_profile`.
    """
    return profiling.memory_profile(backend)


@located
def save_device_memory_profile(
    filename: str | os.PathLike[str], backend: str | None = None
) -> None:
    """Writes `device_memory_profile` to a file.

    Args:
      filename: the file; `pprof --web filename` shows it.
      backend: as in `device_memory_profile`.
    Raises: OSError: the file cannot be written.
    Example:
      >>> from weft import profiler
      >>> profiler.save_device_memory_profile("memory.prof")
    Source: JAX documentation, `jax.profiler.save_device_memory_profile`.
    """
    content = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(content)
