"""Every switch of weft, declared once: name, type, default, environment variable, meaning.

Three ways to set a switch, strongest first:

    with enable_x64(True): ...             this thread, inside the block
    config.update("enable_x64", True)      every thread that is in no such block
    WEFT_ENABLE_X64=1                      the environment, read once at import

and two ways to read it: `config.enable_x64`, and in hot code an attribute of `thread`.
`thread.x64` is `enable_x64`, and `thread.key` is the tuple of all values that change traced
programs, which is part of the keys of their caches. It is interned: equal keys are one object.

Its last entry is not a switch: the named axes in scope (`scope.py`). `thread.switches` is the key
without them, for caches that do not depend on axes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import Any

from .switch_options import HINTS, SETTLED, in_command_line, is_settled, plain, tell_absl, unknown
from .switch_state import (
    _lock,
    _merge_caches,
    _overriding,
    _register,
    _Thread,
    _update_key,
    caches as caches,
    set_axes as set_axes,
    thread,
    traced_attributes,
)
from .switch_values import (
    GUARDS,
    device,
    flag,
    integer,
    integer_or_none,
    one_of,
    precision,
    seconds,
    text_or_none,
    words_of,
)

_switches: dict[str, Switch] = {}

callbacks: list[Callable[[], None]] = []
"""Called, in order and without arguments, after a change of a value in `thread.key`."""


class Switch:
    """One switch; calling it returns a context manager and decorator that sets it in this thread.

    Args:
      name: its name; `WEFT_<NAME>` is its environment variable.
      parse: from a user's value to the stored value; raises ValueError with the expected value.
      default: the value without environment variable or update.
      meaning: its effect, for `config.describe()`.
      traced: whether it changes traced programs, and so is part of `thread.key`.
      block: the value set by a call without a value; None if a value is required.
      attribute: its attribute of `thread`.
      aliases: further names that `config` accepts.
      keyword: the name of the value as a keyword argument.
      shown: the value in the example of its docstring; None is `block`, "" makes no example, for
        a switch that `weft` does not export.
    """

    def __init__(
        self,
        name: str,
        parse: Callable[[Any], Any],
        default: object,
        meaning: str,
        *,
        traced: bool = False,
        block: object = None,
        attribute: str = "",
        aliases: tuple[str, ...] = (),
        keyword: str = "new_val",
        shown: object = None,
    ) -> None:
        self.name = name
        self.parse = parse
        self.default = default
        self.meaning = meaning
        self.traced = traced
        self.block = block
        self.attribute = attribute or name
        self.aliases = aliases
        self.keyword = keyword
        self.variable = "WEFT_" + name.upper()
        self.__doc__ = f"{meaning[0].upper()}{meaning[1:]}."
        shown = block if shown is None else shown
        if shown not in (None, ""):
            self.__doc__ += (
                f"\n\nExample:\n  >>> with weft.{name}({shown!r}):\n"
                f"  ...     weft.config.{name}\n  {shown!r}"
            )
        text = os.environ.get(self.variable)
        where = f"environment variable {self.variable}"
        value = default if text is None else self.checked(text, where)
        setattr(_Thread, self.attribute, value)
        for alias in (name, *aliases):
            _switches[alias] = self
        if traced:
            traced_attributes.append(self.attribute)

    def checked(self, value: object, where: str) -> Any:
        """`value` in the form that is kept; a ValueError that names `where` if it is not valid."""
        try:
            return self.parse(value)
        except ValueError as error:
            raise ValueError(f"{where}: expected {error}; got {value!r}") from None

    def __call__(self, *value: object, **named: object) -> Override:
        if set(named) - {self.keyword}:
            raise TypeError(
                f"{self.name}: expected its value, {self.keyword}=…; got {', '.join(named)}"
            )
        values = [*value, *named.values()]
        if len(values) > 1 or (not values and self.block is None):
            raise TypeError(f"{self.name}: expected one value; got {len(values)}")
        return Override(self, self.checked(values[0] if values else self.block, self.name))

    def __repr__(self) -> str:
        return f"<switch {self.name}={getattr(thread, self.attribute)!r}>"


class Override(ContextDecorator):
    """A switch with a value: sets it in the current thread for a `with` block or a call."""

    def __init__(self, switch: Switch, value: object) -> None:
        self.switch = switch
        self.value = value
        self._outer: list[tuple[dict[str, Any], bool, Any]] = []

    def _recreate_cm(self) -> Override:  # ContextDecorator's hook: each call has its own state
        return Override(self.switch, self.value)

    def __enter__(self) -> None:
        own, name = thread.__dict__, self.switch.attribute
        self._outer.append((own, name in own, own.get(name)))
        try:
            _set_local(own, self.switch, True, self.value)
        except BaseException:  # from a callback: the block is not entered, so undo it here
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        here = thread.__dict__  # one override may be entered in several threads
        entries = [i for i, (own, _, _) in enumerate(self._outer) if own is here]
        own, present, value = self._outer.pop(entries[-1] if entries else -1)
        _set_local(own, self.switch, present, value)


def _set_local(own: dict[str, Any], switch: Switch, present: bool, value: object) -> None:
    """Sets or clears the override of `switch` in `own`, a thread's attributes."""
    with _lock:
        if switch.traced:
            caches.split()
        if present:
            own[switch.attribute] = value
        else:
            own.pop(switch.attribute, None)
        changed = switch.traced and _update_key(own)
        _register(own)
        if switch.traced:
            _merge_caches()
    if changed:
        _announce()


AXES = "the named axes in scope"


def key_differences(
    old: tuple[object, ...], new: tuple[object, ...]
) -> Iterator[tuple[str, Any, Any]]:
    """The differences between two values of `thread.key`: (name, old value, new value)."""
    names = [*(s.name for s in _traced), AXES]
    for name, a, b in zip(names, old, new, strict=False):
        if a != b:
            yield name, a, b


def overrides() -> dict[str, Any]:
    """The switches that blocks have set in this thread, for `config.temporarily` in another one."""
    own = thread.__dict__
    return {s.name: own[s.attribute] for s in set(_switches.values()) if s.attribute in own}


def _announce() -> None:
    for function in tuple(callbacks):
        function()


def everywhere(*names: str) -> bool:
    """True if any of these switches is on for threads that don't override it."""
    return any(getattr(_Thread, _switches[name].attribute) for name in names)


class Config:
    """The switches by name: `config.update(name, value)`, `config.<name>`, `config.describe()`.

    Names may have a prefix `weft_` or `jax_`. Options of JAX that have a fixed value in weft
    (`jax_array`) accept only that value, and hints to JAX's compiler and cache accept any value
    (`switch_options.py`).

    Example:
      >>> config.update("jax_log_compiles", True); config.log_compiles
      True
      >>> config.update("log_compiles", False)
    """

    def update(self, name: str, val: object) -> None:
        """Sets a switch in every thread that does not override it in a block.

        Raises:
          AttributeError: no switch of that name.
          ValueError: a value that the switch can't have.
        """
        if is_settled(name, val):
            return
        switch = _named(name)
        value = switch.checked(val, f"config.update({name!r})")
        with _lock:
            changed = False
            if switch.traced:
                caches.split()
            setattr(_Thread, switch.attribute, value)
            if switch.traced:
                changed = _update_key(None)
                for own in _overriding:
                    changed |= _update_key(own)
                _merge_caches()
        if changed:
            _announce()

    def read(self, name: str) -> Any:
        """The value of a switch in this thread.

        Raises:
          AttributeError: no switch of that name.
        Example:
          >>> config.read("jax_enable_x64")
          False
        """
        if plain(name) in SETTLED or plain(name) in HINTS:
            return SETTLED.get(plain(name))
        return getattr(thread, _named(name).attribute)

    def parse_flags_with_absl(self) -> None:
        """Sets switches from the command line of the program: `--jax_enable_x64`, `--weft_…=…`.

        absl is not required. If the program uses absl, the options are declared to it.

        Raises:
          AttributeError: no switch of that name.
          ValueError: a value that the switch can't have.
        """
        tell_absl(tuple(_switches), _is_flag)
        for name, value in in_command_line(sys.argv[1:], _is_flag):
            if plain(name) not in SETTLED and plain(name) not in HINTS:
                self.update(name, value)

    config_with_absl = parse_flags_with_absl

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.read(name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"use config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(s.name for s in switches())})

    def on_change(self, function: Callable[[], None]) -> Callable[[], None]:
        """Registers `function()` to be called after each change of a value that affects programs.

        It is called in the thread that made the change, globally or by a `with` block, after it
        took effect. The list of functions is `weft.config.callbacks`. Returns `function`.
        """
        callbacks.append(function)
        return function

    def describe(self) -> str:
        """A table of all switches: value now, default, environment variable, meaning."""
        rows = [("switch", "value", "default", "environment variable", "meaning")]
        for s in switches():
            value = getattr(thread, s.attribute)
            rows.append((s.name, repr(value), repr(s.default), s.variable, s.meaning))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join(
            "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]])
            for row in rows
        )

    @contextmanager
    def temporarily(self, **values: object) -> Iterator[None]:
        """Sets several switches in this thread, inside a `with` block.

        Example:
          >>> with config.temporarily(enable_x64=True, log_compiles=True):
          ...     config.enable_x64, config.log_compiles
          (True, True)
        """
        overrides = [_named(name)(value) for name, value in values.items()]
        entered = []
        try:
            for override in overrides:
                override.__enter__()
                entered.append(override)
            yield
        finally:
            for override in reversed(entered):
                override.__exit__()


config = Config()


def switches() -> tuple[Switch, ...]:
    """All switches, in the order of their declaration."""
    return tuple(dict.fromkeys(_switches.values()))


def _named(name: str) -> Switch:
    switch = _switches.get(name) or _switches.get(plain(name))
    if switch is None:
        raise unknown(name, _switches)
    return switch


def _is_flag(name: str) -> bool:
    return _named(name).parse is flag


# ---- the switches ----
# `traced=True`: it changes the traced program, the checks while it is traced, or how it runs.
# fmt: off

enable_x64 = Switch("enable_x64", flag, False,
    "64-bit types exist, and are the default width; off, they become 32-bit ones",
    traced=True, block=True, attribute="x64", aliases=("x64_enabled",))
numpy_rank_promotion = Switch("numpy_rank_promotion", one_of("allow", "warn", "raise"), "allow",
    "what happens when operands of different rank are broadcast: allow, warn, raise",
    traced=True, shown="raise")
numpy_dtype_promotion = Switch("numpy_dtype_promotion", one_of("standard", "strict"), "standard",
    "what happens when operands of different dtypes meet: they are promoted (standard), or it is "
    "an error unless one is a Python scalar of that kind or a lesser one (strict)",
    traced=True, shown="strict")
default_matmul_precision = Switch("default_matmul_precision", precision, None,
    "precision of matrix products and convolutions that state none: default, high, highest; or the "
    "algorithm of products, by its name in lax.DotAlgorithmPreset",
    traced=True, shown="highest")
threefry_partitionable = Switch("threefry_partitionable", flag, False,
    "random numbers come from the newer, partitionable streams, not the classic ones",
    traced=True, block=True)
disable_jit = Switch("disable_jit", flag, False,
    "runs jit and control flow operation by operation, as plain Python",
    traced=True, block=True, keyword="disable")
check_tracer_leaks = Switch("check_tracer_leaks", flag, False,
    "a tracer that outlives its trace is an error at the end of the trace (slow)",
    traced=True, block=True, aliases=("checking_leaks",))
checking_leaks = check_tracer_leaks
enable_checks = Switch("enable_checks", flag, False,
    "every jaxpr is checked after each stage (slow; for work on weft itself)",
    traced=True, block=True)
debug_key_reuse = Switch("debug_key_reuse", flag, False,
    "a typed random key that is used twice is an error that names both lines (slow)",
    traced=True, block=True)
check_derivatives = Switch("check_derivatives", flag, False,
    "a user's derivative rule is compared with differences at its first use; a wrong one is an "
    "error (slow)",
    traced=True, block=True)
debug_nans = Switch("debug_nans", flag, False,
    "an operation that gives a NaN is an error that names it, its inputs and its line (slow)",
    traced=True, block=True)
debug_infs = Switch("debug_infs", flag, False,
    "an operation that gives an infinity is an error that names it, as debug_nans does (slow)",
    traced=True, block=True)
debug_lines = Switch("debug_lines", flag, False,
    "equations and arrays carry the user's line, so that out-of-memory errors list the largest "
    "arrays by line; weft.explain turns it on (slow)",
    traced=True, block=True, shown="")
replay_dir = Switch("replay_dir", text_or_none, None,
    "folder in which a failed call of a jitted function is saved, with its program and arguments, "
    "for weft replay; '' and None save none (slow: each call writes its file first)",
    traced=True, shown="")
log_compiles = Switch("log_compiles", flag, False,
    "each compilation, and why a function was traced again, is logged as a warning",
    block=True, aliases=("explain_cache_misses",))
traceback_filtering = Switch("traceback_filtering",
    one_of("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"), "auto",
    "weft's own frames in tracebacks: removed (auto, quiet_remove_frames), removed with a note "
    "(remove_frames), kept and hidden from pytest (tracebackhide), kept (off)")
eager_tier = Switch("eager_tier", one_of("auto", "host", "xla"), "auto",
    "how operations outside jit run on the CPU: NumPy (host), compiled (xla), the faster (auto)",
    traced=True)
default_device = Switch("default_device", device, None,
    "the device of uncommitted arrays and programs: a device, or a platform; None: the first",
    traced=True, shown="cpu")
default_prng_impl = Switch("default_prng_impl",
    one_of("threefry2x32", "rbg", "unsafe_rbg"), "threefry2x32",
    "the kind of random keys that PRNGKey and key make, and of raw words",
    traced=True, shown="rbg")
enable_custom_prng = Switch("enable_custom_prng", flag, False,
    "PRNGKey returns typed keys, which are no arrays of words, as random.key does",
    traced=True, block=True)
_transfer_guard = Switch("transfer_guard", one_of(*GUARDS), "allow",
    "transfers between host and accelerator, and between devices: allow, log, disallow the "
    "implicit ones; log_explicit, disallow_explicit all")
transfer_guard_host_to_device = Switch("transfer_guard_host_to_device", one_of(None, *GUARDS), None,
    "guards transfers to an accelerator; None takes the value of transfer_guard",
    shown="log")
transfer_guard_device_to_host = Switch("transfer_guard_device_to_host", one_of(None, *GUARDS), None,
    "guards transfers to the host; None takes the value of transfer_guard",
    shown="log")
transfer_guard_device_to_device = Switch(
    "transfer_guard_device_to_device", one_of(None, *GUARDS), None,
    "guards transfers between accelerators; None takes the value of transfer_guard",
    shown="log")
platform = Switch("platform", text_or_none, None,
    "platforms to use, the default one first, comma-separated; None is all, fastest first",
    aliases=("platforms", "platform_name"))
cpu_devices = Switch("cpu_devices", integer(1), 1,
    "how many devices the CPU acts as; to be set before the first use of a device",
    aliases=("num_cpu_devices",))
coordinator = Switch("coordinator", text_or_none, None,
    "host:port where several processes meet; process 0 listens there")
num_processes = Switch("num_processes", integer_or_none(1), None,
    "how many processes compute together, for distributed.initialize")
process_id = Switch("process_id", integer_or_none(0), None,
    "the number of this process, from 0")
fault_timeout = Switch("fault_timeout", seconds, 60.0,
    "seconds after which a lost or missing process ends the others")
cache_dir = Switch("cache_dir", text_or_none, None,
    "folder that keeps executables between runs; '' keeps none, None is the user's cache folder",
    aliases=("compilation_cache_dir",))
enable_compilation_cache = Switch("enable_compilation_cache", flag, True,
    "keeps executables between runs, in cache_dir")
cache_size = Switch("cache_size", integer(-1), 2**30,
    "maximum size of cache_dir in bytes, -1: none; the least recently used executables go first",
    aliases=("compilation_cache_max_size",))
debug = Switch("debug", words_of("jaxpr", "hlo", "retrace", "tier"), "",
    "what to print as it happens, comma-separated: jaxpr, hlo, retrace, tier")
keep_host_memory = Switch("keep_host_memory", flag, True,
    "glibc keeps up to 64 MB of freed memory for the next arrays; read at the first operation")
# fmt: on


def transfer_guard(new_val: str) -> Any:
    """Allows, logs or forbids transfers of arrays, in all directions, in this thread.

    Args:
      new_val: 'allow', 'log' or 'disallow' the implicit ones; 'log_explicit', 'disallow_explicit'
        all. `weft/runtime/transfers.py` defines transfers.
    Returns: a context manager.
    Example:
      >>> with transfer_guard("disallow"):
      ...     config.transfer_guard
      'disallow'
    """
    return config.temporarily(
        transfer_guard=new_val,
        transfer_guard_host_to_device=None,
        transfer_guard_device_to_host=None,
        transfer_guard_device_to_device=None,
    )


_traced = tuple(s for s in switches() if s.traced)
_update_key(None)
_merge_caches()
