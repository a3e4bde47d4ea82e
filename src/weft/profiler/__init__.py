"""Traces of what runs, and profiles of memory."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from .events import (
        StepTraceAnnotation,
        StepTraceContext,
        TraceAnnotation,
        TraceContext,
        annotate_function,
        trace_function,
    )
    from .memory import device_memory_profile, save_device_memory_profile
    from .tracing import (
        ProfileData,
        ProfileOptions,
        register_subprocess,
        start_server,
        start_trace,
        stop_server,
        stop_trace,
        trace,
    )

__all__ = [
    "ProfileData",
    "ProfileOptions",
    "StepTraceAnnotation",
    "StepTraceContext",
    "TraceAnnotation",
    "TraceContext",
    "annotate_function",
    "device_memory_profile",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
    "trace_function",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "events": (
            "StepTraceAnnotation",
            "StepTraceContext",
            "TraceAnnotation",
            "TraceContext",
            "annotate_function",
            "trace_function",
        ),
        "memory": (
            "device_memory_profile",
            "save_device_memory_profile",
        ),
        "tracing": (
            "ProfileData",
            "ProfileOptions",
            "register_subprocess",
            "start_server",
            "start_trace",
            "stop_server",
            "stop_trace",
            "trace",
        ),
    },
)
