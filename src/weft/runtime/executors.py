"""Functions that run programs which call Python, or which several devices run together.

Each of them is an `Executable.execute`, as the plain one is (`executable.py: executor`).
"""

import contextlib
import functools
import itertools
import operator
import re
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .callback import CallbackGroup, flush, in_group_callback, take_error
from .client import process
from .failures import (
    DELETED,
    BusyDevicesError,
    DeletedArrayError,
    fork_error,
    run_failure,
)

RawBuffer: TypeAlias = Any
"""XLA's object for an array. Opaque: the functions of `buffer` work on it."""

Execute: TypeAlias = Callable[[Sequence[RawBuffer]], list[RawBuffer]]


def waiting_executor(run: Callable[[Any], Any], handlers: list[Any]) -> Execute:
    """Runs a program on one device that calls Python, and waits until it has ended.

    An exception in a callback is raised unchanged.
    """
    state = process

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        if state.forked:
            raise fork_error()
        try:
            # If its arguments are ready, XLA runs such a program in this thread. It would run it in
            # one of its own threads otherwise, one for each core: a callback that waits
            # for a program in turn would take away the thread that is to run that.
            for buffer in buffers:
                buffer.block_until_ready()
            results: list[RawBuffer] = run(buffers).consume_with_handlers(handlers)
            for result in results:
                result.block_until_ready()
            return results
        except RuntimeError as error:
            failure = take_error(error) or explain(error, buffers)
        finally:
            flush()
        try:
            raise failure  # not while XLA's error is being handled: it would be its context
        finally:
            del failure  # it refers to this frame

    return execute


# --- programs on several devices ---


# Devices run programs in the order in which they receive them. If two threads launched programs at
# once, two devices could receive them in different orders and wait for each other in a collective.
_launching = threading.RLock()


def group_executor(run: Callable[[Any], Any], handlers: list[Any]) -> Execute:
    """Runs a program on several devices, without waiting for the results."""
    launching = _launching

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        refuse_now()
        try:
            with launching:
                results = run(buffers)
            return results.consume_with_handlers(handlers)
        except RuntimeError as error:
            raise explain(error, buffers) from None

    return execute


def refuse_now() -> None:
    """Raises an error if a program on several devices, launched here, would never end."""
    if process.forked:
        raise fork_error()
    if in_group_callback.now:
        raise BusyDevicesError(
            "a callback of a program that runs on several devices has begun a program for several "
            "devices: it would wait for ever for those that are busy with the callback\n"
            "  fix: have the callback return what that program needs, and run it afterwards; "
            "programs for one device may run in callbacks"
        )


class TurnQueue:
    """Programs that run one after another.

    It waits before a program, not after it, so that the caller can go on while a program runs.
    """

    __slots__ = ("lock", "result", "taken", "tokens")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.taken = False
        self.tokens: set[Any] = set()  # of programs that were launched and not waited for
        self.result: Any = no_result  # returns one of the last results while it is in use

    def wait(self) -> None:
        """Waits until none of them runs."""
        if self.tokens:
            last = self.result()
            if last is not None:  # Ctrl-C interrupts this wait, and not that for a token
                with contextlib.suppress(RuntimeError):  # failed, or donated meanwhile
                    last.block_until_ready()
        while self.tokens:
            for token in tuple(self.tokens):
                with contextlib.suppress(RuntimeError):  # its results say so, if they are needed
                    token.block_until_ready()
                self.tokens.discard(token)

    def begin(self, launch: Callable[[Any], Any], buffers: Sequence[RawBuffer]) -> Any:
        """Begins a program when none runs; returns what XLA returns for it."""
        with self.lock:
            # A signal handler or a finalizer may run a program while this thread is in here. Such a
            # program has ended before this one continues.
            inside, self.taken = self.taken, True
            try:
                self.wait()
                # From the launch until its token is in the set, only C code runs, which Ctrl-C
                # cannot interrupt: so no running program is ever forgotten.
                first, second = itertools.tee(map(launch, (buffers,)))
                with _launching:
                    self.tokens.update(map(_token, first))
                if inside:
                    self.wait()
            finally:
                self.taken = inside
        return next(second)


def no_result() -> None:
    """Returns `None`, like a weak reference to an array that was freed."""


_token = operator.methodcaller("consume_token")
_all_collectives = TurnQueue()

_COLLECTIVE = (
    r"\b(all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute|collective-broadcast"
    r"|ragged-all-to-all|send|recv)(-start)?\("
)


def waits_across_devices(hlo: str) -> bool:
    """True if an optimised program has operations in which devices wait for each other."""
    return re.search(_COLLECTIVE, hlo) is not None


def turn_taking_executor(run: Callable[..., object], handlers: list[Any]) -> Execute:
    """Runs a program with collectives on devices that must not run two of them at once.

    On the CPU, devices are threads of one pool. Before jaxlib 0.12, two programs whose devices wait
    for each other may each get some of the threads and wait forever, even if they run on different
    devices.
    """
    turns = _all_collectives
    launch = functools.partial(run, with_tokens=True)

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        refuse_now()
        try:
            results: list[RawBuffer] = turns.begin(launch, buffers).consume_with_handlers(handlers)
            turns.result = weakref.ref(results[0])
            return results
        except RuntimeError as error:
            raise explain(error, buffers) from None

    return execute


def waiting_group_executor(
    run: Callable[..., object], handlers: list[Any], together: CallbackGroup, alone: bool
) -> Execute:
    """Runs a program on several devices that calls Python, and waits until it has ended.

    Args:
      together: the state that the callbacks share. An exception in one of them is raised unchanged.
      alone: True if no program that takes turns may run at the same time.
    """
    turns = _all_collectives if alone else TurnQueue()  # two runs would share `together`
    launch = functools.partial(run, with_tokens=True)

    def execute(buffers: Sequence[RawBuffer]) -> list[RawBuffer]:
        refuse_now()
        try:
            with turns.lock:
                turns.wait()
                before, together.failure = together.failure, None
                try:
                    ran = turns.begin(launch, buffers)
                    results: list[RawBuffer] = ran.consume_with_handlers(handlers)
                    turns.result = weakref.ref(results[0])
                    turns.wait()
                    failure = together.failure
                finally:
                    together.failure = before
            if failure is None:
                for result in results:
                    result.block_until_ready()
                return results
        except RuntimeError as error:
            failure = explain(error, buffers)
        finally:
            flush()
        try:
            raise failure
        finally:
            del failure  # it refers to this frame

    return execute


def explain(error: RuntimeError, buffers: Sequence[RawBuffer]) -> RuntimeError:
    """weft's exception for an exception that XLA raised in a run."""
    for index, buffer in enumerate(buffers):
        if buffer.is_deleted():
            return DeletedArrayError(f"argument {index} of {len(buffers)}: {DELETED}")
    return run_failure("run", error)
