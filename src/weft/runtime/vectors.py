"""The length of the vectors that XLA compiles for on CPUs. Knows processors; knows no programs.

XLA takes vectors of 256 bits by default, since Intel's first processors with longer ones ran slower
when these were used. AMD's don't. On one with registers of 512 bits (Zen 5), 10⁶ float32 elements
take, in ms of the processor's time and in the order 256, 512: the gradient of tanh 0.34 and 0.18,
of gelu 0.82 and 0.43, that of a logarithm, which waits for memory, 0.11 and 0.10.
"""

import contextlib
import functools
import os

CPUINFO = "/proc/cpuinfo"
_OPTION = "xla_cpu_prefer_vector_width"


@functools.cache
def vector_options() -> dict[str, object]:
    """The compile options for this processor; what XLA_FLAGS says goes before."""
    if _OPTION in os.environ.get("XLA_FLAGS", "") or not _has_cheap_wide_vectors():
        return {}
    return {_OPTION: 512}


def _has_cheap_wide_vectors() -> bool:
    vendor, features = "", set[str]()
    with contextlib.suppress(OSError), open(CPUINFO, encoding="utf-8") as file:
        for line in file:
            key, _, text = line.partition(":")
            if key.strip() == "vendor_id":
                vendor = text.strip()
            elif key.strip() == "flags":
                features = set(text.split())
                break  # the first processor is enough
    return vendor == "AuthenticAMD" and "avx512f" in features
