"""The only package that talks to XLA: devices, buffers, executables. Knows nothing of tracing.

Importing it does not import jaxlib; the first function that needs a device does.
"""

from .buffer import (
    aligned_empty,
    block_until_ready,
    copy_to,
    delete,
    device_of,
    dlpack_capsule,
    is_deleted,
    is_ready,
    on_device_size,
    put,
    to_host,
    unsafe_pointer,
)
from .callback import Callback
from .client import (
    default_backend,
    default_device,
    device_count,
    devices,
    has_accelerator,
    is_loaded,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from .executable import (
    Executable,
    HloComputation,
    Output,
    Target,
    compile_code,
    compile_text,
    load_executable,
)
from .failures import (
    BusyDevicesError,
    DeletedArrayError,
    ForkError,
    PlatformError,
    XlaCompileError,
    XlaError,
    XlaRuntimeError,
)
from .portable import portable_artifact, text_of_artifact
from .versions import load

__all__ = [
    "BusyDevicesError",
    "Callback",
    "DeletedArrayError",
    "Executable",
    "ForkError",
    "HloComputation",
    "Output",
    "PlatformError",
    "Target",
    "XlaCompileError",
    "XlaError",
    "XlaRuntimeError",
    "aligned_empty",
    "block_until_ready",
    "compile_code",
    "compile_text",
    "copy_to",
    "default_backend",
    "default_device",
    "delete",
    "device_count",
    "device_of",
    "devices",
    "dlpack_capsule",
    "has_accelerator",
    "is_deleted",
    "is_loaded",
    "is_ready",
    "load",
    "load_executable",
    "local_device_count",
    "local_devices",
    "on_device_size",
    "portable_artifact",
    "process_count",
    "process_index",
    "put",
    "text_of_artifact",
    "to_host",
    "unsafe_pointer",
]
