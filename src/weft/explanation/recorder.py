"""Recorder records the events of a program: traces, compilations, calls, transfers.

It is the listener of `core/events.py`. It keeps no arrays alive, only small samples of arguments
that come from the host.
"""

import statistics
import threading
import weakref
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..compiler.optimized import Line
from ..core.array import Array
from ..core.events import (
    CallBegins,
    Compilation,
    EagerOperation,
    Event,
    FunctionCall,
    Tracing,
    Transfer,
)
from ..core.source import unwrapped
from .equations import flat_scopes
from .profiler import Profiler
from .source_lines import Sources

LARGE = 1 << 20
"""Bytes: only copies and arrays of a mebibyte or more are reported."""

SAMPLE = 4096

PROFILED = 2
"""The number of calls of a program that are profiled, beginning with the second."""

SHORT = 0.2
"""Seconds. Longer calls with loops are not profiled: a loop of small kernels takes about 25 times
as long under the profiler."""


@dataclass
class Called:
    """A jitted function at one signature, and its calls.

    Attributes:
      traced: the traced program; `name`: the name of the function.
      lines: the lines of the calls, with the number of calls.
      seconds: the time of each call that was not profiled, until its results were ready.
      profiles: for each profiled call, the seconds of each kernel, by the name of its instruction.
      fed_back: for (argument leaf, output leaf), how often the output of an earlier call was the
        argument.
      freed: for each argument leaf, how often the array of the call before had been freed.
      unused: for each output leaf, how many arrays were freed without being used.
      used: the output leaves of which an array was used.
      from_host: for each argument leaf, how often it came from the host; `same_host`: how often
        with the same values as before.
    """

    traced: Any
    name: str
    function: Any
    lines: Counter[Line] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    profiles: list[dict[str, float]] = field(default_factory=list)
    fed_back: Counter[tuple[int, int]] = field(default_factory=Counter)
    freed: Counter[int] = field(default_factory=Counter)
    unused: Counter[int] = field(default_factory=Counter)
    used: set[int] = field(default_factory=set)
    same_host: Counter[int] = field(default_factory=Counter)
    from_host: Counter[int] = field(default_factory=Counter)
    samples: dict[int, Any] = field(default_factory=dict)
    arguments: dict[int, Any] = field(default_factory=dict)  # weak references to the latest ones

    @property
    def count(self) -> int:
        """The number of calls."""
        return len(self.seconds) + len(self.profiles)

    @property
    def typical_seconds(self) -> float:
        """The median time of the calls, without profiled calls and without the first call, which
        compiles, unless it is the only one."""
        return statistics.median(self.seconds[1:] or self.seconds)


class _Origin(NamedTuple):
    """The call that made an array: the program, and the number of the output."""

    called: Called
    output: int
    reference: Any


@dataclass
class Moves:
    """The transfers between host and devices at a line, of arrays of one type, in one direction.

    Attributes:
      rounds: how often a jitted function was called between two transfers.
      in_operations: the number of transfers for an operation outside `jit`.
    """

    direction: str
    aval: Any
    line: Line
    count: int = 0
    rounds: int = 0
    in_operations: int = 0
    last_call: int = 0
    first_call: int = 0


class Recorder:
    """The record of a program's events."""

    def __init__(self) -> None:
        self.sources = Sources()
        self.tracings: list[Tracing] = []
        self.compilations: list[Compilation] = []
        self.calls: dict[int, Called] = {}
        self.moves: dict[Any, Moves] = {}
        self.operations: Counter[tuple[Line, str]] = Counter()
        self.operation_bytes: defaultdict[tuple[Line, str], int] = defaultdict(int)
        self.profiler = Profiler()
        self.only_times = False  # calls are repeated for timing
        self.n_calls = 0
        self._origins: dict[int, _Origin] = {}
        self._latest_move: Moves | None = None
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Records an event."""
        with self._lock:
            if isinstance(event, FunctionCall):
                self._call(event)
            elif isinstance(event, CallBegins):
                self._begin(event.traced)
            elif isinstance(event, EagerOperation):
                self._operation(event)
            elif isinstance(event, Transfer):
                self._transfer(event)
            elif isinstance(event, Tracing):
                self.sources.at(event.place)
                self.tracings.append(event)
            else:
                self.compilations.append(event)

    # --- calls ---

    def _begin(self, traced: Any) -> None:
        called = self.calls.get(id(traced))
        if called is not None and len(called.profiles) < PROFILED and is_short(called):
            self.profiler.begin()

    def _call(self, event: FunctionCall) -> None:
        profile = self.profiler.end()
        key = id(event.traced)
        called = self.calls.get(key)
        if called is None:
            called = Called(event.traced, event.traced.fun_name, event.function)
            self.calls[key] = called
        if profile is not None:
            called.profiles.append(profile)
        else:
            called.seconds.append(event.seconds)
        if self.only_times:
            return
        called.lines[self.sources.at(event.place)] += 1
        self.n_calls += 1
        for number, leaf in enumerate(event.leaves):
            self._argument(called, number, leaf)
        for number, x in enumerate(event.results):
            self._result(called, number, x)

    def _argument(self, called: Called, number: int, leaf: Any) -> None:
        before = called.arguments.get(number)
        if before is not None and before() is None:
            called.freed[number] += 1
        called.arguments[number] = weakref.ref(leaf) if isinstance(leaf, Array) else None
        origin = self._use(leaf)
        if origin is not None and same_function(origin.called, called):
            called.fed_back[number, origin.output] += 1
        host = leaf if isinstance(leaf, np.ndarray) else getattr(leaf, "_host", None)
        if origin is not None or not isinstance(host, np.ndarray):
            return
        # the same `Array` is sent once; the same NumPy array at each call
        if not isinstance(leaf, np.ndarray) and before is not None and before() is leaf:
            return
        called.from_host[number] += 1
        if host.nbytes >= LARGE:
            sample = host.reshape(-1)[:: max(1, host.size // SAMPLE)].copy()
            earlier = called.samples.get(number)
            if earlier is not None and np.array_equal(earlier, sample):
                called.same_host[number] += 1
            called.samples[number] = sample

    def _result(self, called: Called, number: int, x: Any) -> None:
        key = id(x)

        def gone(_: object) -> None:
            origin = self._origins.pop(key, None)
            if origin is not None:
                called.unused[number] += 1

        self._origins[key] = _Origin(called, number, weakref.ref(x, gone))

    def _use(self, x: Any) -> _Origin | None:
        """Marks an array as used; returns the call that made it."""
        origin = self._origins.get(id(x))
        if origin is None or origin.reference() is not x:
            return None
        origin.called.used.add(origin.output)
        return origin

    # --- operations outside jit, and moves ---

    def _operation(self, event: EagerOperation) -> None:
        if self.only_times:
            return
        line = self.sources.at(event.place)
        self.operations[line, event.name] += 1
        self.operation_bytes[line, event.name] += sum(x.nbytes for x in event.results)
        for x in event.inputs:
            self._use(x)
        move, self._latest_move = self._latest_move, None
        if move is not None and move.line == line:
            move.in_operations += 1

    def _transfer(self, event: Transfer) -> None:
        if self.only_times:
            return
        line = self.sources.at(event.place)
        key = event.direction, event.aval, line
        moves = self.moves.get(key)
        if moves is None:
            moves = self.moves[key] = Moves(event.direction, event.aval, line)
            moves.first_call = self.n_calls
        elif moves.last_call < self.n_calls:
            moves.rounds += 1
        moves.count += 1
        moves.last_call = self.n_calls
        self._latest_move = moves
        if event.direction == "device_to_host":
            for origin in list(self._origins.values()):  # what is read is used
                x = origin.reference()
                if x is not None and x.aval is event.aval:
                    origin.called.used.add(origin.output)

    # --- questions ---

    def compile_seconds(self, called: Called) -> float:
        """The compilation time of a function's program; 0 if it was compiled before."""
        program = called.traced.program()
        return sum(c.seconds for c in self.compilations if c.program is program)


def is_short(called: Called) -> bool:
    """True if a call may be profiled: it is short, or has no loop, which the profiler would slow
    down."""
    return called.typical_seconds < SHORT or len(flat_scopes(called.traced.jaxpr)) == 1


def same_function(a: Called, b: Called) -> bool:
    """True for two signatures of one function."""
    if a.traced is b.traced:
        return True
    return a.function is not None and unwrapped(a.function) is unwrapped(b.function)
