# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .events import (
    StepTraceAnnotation as StepTraceAnnotation,
    StepTraceContext as StepTraceContext,
    TraceAnnotation as TraceAnnotation,
    TraceContext as TraceContext,
    annotate_function as annotate_function,
    trace_function as trace_function,
)
from .memory import (
    device_memory_profile as device_memory_profile,
    save_device_memory_profile as save_device_memory_profile,
)
from .tracing import (
    ProfileData as ProfileData,
    ProfileOptions as ProfileOptions,
    register_subprocess as register_subprocess,
    start_server as start_server,
    start_trace as start_trace,
    stop_server as stop_server,
    stop_trace as stop_trace,
    trace as trace,
)
