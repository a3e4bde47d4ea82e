"""Errors as values: checks in compiled functions. See docs/checks.md."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "primitive": "check check_error debug_check",
        "transformation": "checkify",
        "values": """
            DivisionByZeroError Error ErrorCategory FailedCheckError JaxRuntimeError NaNError
            OOBError all_checks automatic_checks div_checks float_checks index_checks nan_checks
            user_checks
        """,
    },
)
