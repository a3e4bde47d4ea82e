"""The only package that talks to XLA: devices, buffers and executables.

Importing it does not import jaxlib; the first function that needs a device does.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "buffer": """
            aligned_empty block_until_ready copy_to delete device_of dlpack_capsule is_deleted
            is_ready on_device_size put to_host unsafe_pointer
        """,
        "callback": "Callback",
        "client": """
            default_backend default_device device_count devices has_accelerator is_loaded
            local_device_count local_devices process_count process_index
        """,
        "executable": """
            Executable HloComputation Output Target compile_code compile_text load_executable
            portable_artifact text_of_artifact
        """,
        "failures": """
            BusyDevicesError DeletedArrayError ForkError PlatformError XlaCompileError XlaError
            XlaRuntimeError
        """,
        "versions": "load",
    },
)
