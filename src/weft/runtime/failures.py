"""The exceptions of the runtime, and how XLA's own become them. Knows no device.

RuntimeError
├── XlaError                 something that XLA refused; `code` is XLA's name for the kind
│   ├── XlaCompileError      the program text could not be compiled
│   └── XlaRuntimeError      a compiled program, or a transfer, failed
├── DeletedArrayError        (weft.errors) the array was donated or deleted
├── BusyDevicesError         a callback of a program on several devices ran another such program
├── ForkError                a forked child used the runtime of its parent
└── PlatformError            no such platform, or its devices could not be reached
"""

from ..errors import DeletedArrayError as DeletedArrayError


class XlaError(RuntimeError):
    """Something that XLA refused to do; `code` is XLA's name for the kind of failure."""

    def __init__(self, message: str, code: str = "UNKNOWN") -> None:
        super().__init__(message)
        self.code = code


class XlaCompileError(XlaError):
    """A program could not be compiled."""


class XlaRuntimeError(XlaError):
    """A compiled program or a transfer failed."""


class BusyDevicesError(RuntimeError):
    """A callback of a program on several devices ran a program on several devices."""


class ForkError(RuntimeError):
    """A forked child used the runtime of its parent."""


class PlatformError(RuntimeError):
    """No such platform, or its devices could not be reached."""


DELETED = (
    "Array has been deleted: it was donated to an earlier call (donate_argnums) or its delete() "
    "was called\n  fix: keep the array by not donating it, or use the call's result instead"
)


def text_of(error: BaseException) -> str:
    """XLA's message without its C++ source locations and boilerplate."""
    text = str(error).partition("=== Source Location Trace")[0].rstrip()
    lines = [line for line in text.splitlines() if "Failed to parse using StableHLO" not in line]
    return "\n".join(lines).rstrip()


def code_of(error: BaseException) -> str:
    """XLA's name for the kind of a failure, such as INVALID_ARGUMENT."""
    return str(getattr(error, "error_code_string", None) or str(error).partition(":")[0])


def fork_error() -> ForkError:
    return ForkError(
        "weft's runtime was started before this process was forked; its threads do not exist "
        "here, and using it would hang\n"
        "  fix: use multiprocessing.get_context('spawn'), or fork before the first weft computation"
    )
