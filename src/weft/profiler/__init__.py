"""Traces of running programs, and profiles of memory."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "events": """
            StepTraceAnnotation StepTraceContext TraceAnnotation TraceContext annotate_function
            trace_function
        """,
        "memory": "device_memory_profile save_device_memory_profile",
        "tracing": """
            ProfileData ProfileOptions register_subprocess start_server start_trace stop_server
            stop_trace trace
        """,
    },
)
