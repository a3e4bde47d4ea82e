# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .buffer import (
    aligned_empty as aligned_empty,
    block_until_ready as block_until_ready,
    copy_to as copy_to,
    delete as delete,
    device_of as device_of,
    dlpack_capsule as dlpack_capsule,
    is_deleted as is_deleted,
    is_ready as is_ready,
    on_device_size as on_device_size,
    put as put,
    to_host as to_host,
    unsafe_pointer as unsafe_pointer,
)
from .callback import Callback as Callback
from .client import (
    default_backend as default_backend,
    default_device as default_device,
    device_count as device_count,
    devices as devices,
    has_accelerator as has_accelerator,
    is_loaded as is_loaded,
    local_device_count as local_device_count,
    local_devices as local_devices,
    process_count as process_count,
    process_index as process_index,
)
from .executable import (
    Executable as Executable,
    HloComputation as HloComputation,
    Output as Output,
    Target as Target,
    compile_code as compile_code,
    compile_text as compile_text,
    load_executable as load_executable,
    portable_artifact as portable_artifact,
    text_of_artifact as text_of_artifact,
)
from .failures import (
    BusyDevicesError as BusyDevicesError,
    DeletedArrayError as DeletedArrayError,
    ForkError as ForkError,
    PlatformError as PlatformError,
    XlaCompileError as XlaCompileError,
    XlaError as XlaError,
    XlaRuntimeError as XlaRuntimeError,
)
from .versions import load as load
