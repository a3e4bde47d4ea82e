"""Every switch of weft, declared once: name, type, default, environment variable, meaning.

Knows nothing of what the switches do: the code that obeys one reads it here.

Three ways to set a switch, strongest first:

    with enable_x64(True): ...             this thread, inside the block
    config.update("enable_x64", True)      every thread that is in no such block
    WEFT_ENABLE_X64=1                      the environment, read once at import

and two to read it: `config.enable_x64`, and in hot code an attribute of `thread`, one look-up.
`thread.x64` is `enable_x64`, and `thread.key` is the tuple of all values that change traced
programs: what caches of traced programs have in their keys. It is interned: equal keys are one
object.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import TYPE_CHECKING, Any


class _Thread(threading.local):
    """The values in effect in the current thread.

    Class attributes are the global values; a thread inside a `with` block has instance attributes
    over them, which is all that there is to inheritance. So a global update is seen by all threads
    at once, except where they override that switch. `key` depends on all of them: see `_rekey`.
    """

    key: tuple[Any, ...] = ()
    x64: bool = False

    if TYPE_CHECKING:  # one attribute a switch, made by `Switch.__init__`

        def __getattr__(self, name: str) -> Any: ...


thread = _Thread()

_switches: dict[str, Switch] = {}
_lock = threading.RLock()
_keys: dict[tuple[Any, ...], tuple[Any, ...]] = {}
# The attribute dicts of threads inside a `with` block: a global update renews their keys too.
_overriding: list[dict[str, Any]] = []

callbacks: list[Callable[[], None]] = []
"""Called, in order and without arguments, after a change of a value in `thread.key`."""


class Switch:
    """One switch; calling it gives a context manager and decorator that sets it in this thread.

    Args:
      name: its name; `WEFT_<NAME>` is its environment variable.
      parse: from a given value to the value kept; raises ValueError saying what was expected.
      default: the value without environment variable or update.
      meaning: what it does, for `config.describe()`.
      traced: whether it changes traced programs, and so is part of `thread.key`.
      block: the value set by calling it with none; None if a value must be given.
      attribute: its attribute of `thread`.
      aliases: further names that `config` accepts.
    """

    def __init__(
        self,
        name: str,
        parse: Callable[[Any], Any],
        default: Any,
        meaning: str,
        *,
        traced: bool = False,
        block: Any = None,
        attribute: str = "",
        aliases: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.parse = parse
        self.default = default
        self.meaning = meaning
        self.traced = traced
        self.block = block
        self.attribute = attribute or name
        self.aliases = aliases
        self.variable = "WEFT_" + name.upper()
        self.__doc__ = meaning
        text = os.environ.get(self.variable)
        where = f"environment variable {self.variable}"
        value = default if text is None else self.checked(text, where)
        setattr(_Thread, self.attribute, value)
        for known in (name, *aliases):
            _switches[known] = self

    def checked(self, value: Any, where: str) -> Any:
        """`value` in the form that is kept; a ValueError that names `where` if it is not valid."""
        try:
            return self.parse(value)
        except ValueError as error:
            raise ValueError(f"{where}: expected {error}; got {value!r}") from None

    def __call__(self, *value: Any) -> Override:
        if len(value) > 1 or (not value and self.block is None):
            raise TypeError(f"{self.name}: expected one value; got {len(value)}")
        return Override(self, self.checked(value[0] if value else self.block, self.name))

    def __repr__(self) -> str:
        return f"<switch {self.name}={getattr(thread, self.attribute)!r}>"


class Override(ContextDecorator):
    """A switch with a value: sets it in the current thread for a `with` block or a call."""

    def __init__(self, switch: Switch, value: Any) -> None:
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
        except BaseException:  # from a callback: the block isn't entered, so nothing else undoes it
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        here = thread.__dict__  # one override may be entered in several threads
        mine = [i for i, (own, _, _) in enumerate(self._outer) if own is here]
        own, had, value = self._outer.pop(mine[-1] if mine else -1)
        _set_local(own, self.switch, had, value)


def _set_local(own: dict[str, Any], switch: Switch, present: bool, value: Any) -> None:
    """Sets or clears the override of `switch` in `own`, a thread's attributes."""
    with _lock:
        if present:
            own[switch.attribute] = value
        else:
            own.pop(switch.attribute, None)
        overrides = any(name != "key" for name in own)
        known = any(each is own for each in _overriding)
        if overrides and not known:
            _overriding.append(own)
        elif known and not overrides:
            _overriding[:] = [each for each in _overriding if each is not own]
        changed = switch.traced and _rekey(own)
        if not overrides:
            own.pop("key", None)
    if changed:
        _announce()


def _rekey(own: dict[str, Any] | None) -> bool:
    """Renews the key of one thread, or the global one; tells whether it became another."""
    values = (own or {}).get
    key = tuple(values(s.attribute, getattr(_Thread, s.attribute)) for s in _traced)
    # 1 == True, but every parser gives values of one type: equal keys are the same keys.
    key = _keys.setdefault(key, key)
    if own is None:
        changed, _Thread.key = _Thread.key is not key, key
    else:
        changed, own["key"] = own.get("key", _Thread.key) is not key, key
    return changed


def _announce() -> None:
    for function in tuple(callbacks):
        function()


class Config:
    """The switches by name: `config.update(name, value)`, `config.<name>`, `config.describe()`.

    Names are accepted with a prefix `weft_` or `jax_` too, as older programs spell them.

    Example:
      >>> config.update("jax_log_compiles", True); config.log_compiles
      True
      >>> config.update("log_compiles", False)
    """

    def update(self, name: str, value: Any) -> None:
        """Sets a switch in every thread that does not override it just now.

        Raises:
          AttributeError: no switch of that name.
          ValueError: a value that the switch can't have.
        """
        switch = _named(name)
        value = switch.checked(value, f"config.update({name!r})")
        with _lock:
            setattr(_Thread, switch.attribute, value)
            changed = False
            if switch.traced:
                changed = _rekey(None)
                for own in _overriding:
                    changed |= _rekey(own)
        if changed:
            _announce()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(thread, _named(name).attribute)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"use config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(s.name for s in switches())})

    def on_change(self, function: Callable[[], None]) -> Callable[[], None]:
        """Has `function()` called after each change of a value that changes traced programs.

        It is called in the thread that made the change, global or by a `with` block, after it took
        effect. The list is `weft.config.callbacks`, to be edited freely. Returns `function`.
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
    def temporarily(self, **values: Any) -> Iterator[None]:
        """Several switches at once, in this thread, inside a `with` block.

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
    switch = _switches.get(name) or _switches.get(name.removeprefix("jax_").removeprefix("weft_"))
    if switch is None:
        raise AttributeError(
            f"there is no switch {name!r}; there are: " + ", ".join(s.name for s in switches())
        )
    return switch


# ---- kinds of values: each takes what was given or the text of an environment variable ----

_TRUE = ("1", "true", "on", "yes")
_FALSE = ("0", "false", "off", "no", "")


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
    elif type(value).__name__ in ("bool", "bool_", "int") and value in (0, 1):  # np.bool_ too
        return bool(value)
    raise ValueError("True or False (in the environment: 1, true, on, yes or 0, false, off, no)")


def _one_of(*choices: str | None) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        text = value.lower() if isinstance(value, str) else value
        if text in ("", "none") and None in choices:
            text = None
        if not (text is None or isinstance(text, str)) or text not in choices:
            raise ValueError("one of " + ", ".join(map(repr, choices)))
        return text

    return parse


def _words_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        words = {w.strip() for w in value.split(",")} - {""} if isinstance(value, str) else {"?"}
        if not words.issubset(choices):
            raise ValueError("'' or a comma-separated list of " + ", ".join(choices))
        return ",".join(c for c in choices if c in words)

    return parse


def _whole(least: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        text = value.strip().lstrip("-") if isinstance(value, str) else ""
        if text.isascii() and text.isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"a whole number >= {least}")
        return value

    return parse


def _text(value: Any) -> str | None:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if text is None or isinstance(text, str):
        return text
    raise ValueError("a string or None")


def _precision(value: Any) -> str | None:
    synonyms = {"bfloat16": "default", "tensorfloat32": "high", "float32": "highest"}
    plain = synonyms.get(value, value) if isinstance(value, str) else value
    precision: str | None = _one_of(None, "default", "high", "highest")(plain)
    return precision


# ---- the switches ----
# Traced is what changes the program that a function is traced to, the checks on its way, or how it
# is run; the device is a part of jit's key of its own, and logs change nothing.

enable_x64 = Switch(
    "enable_x64",
    _flag,
    False,
    "64-bit types exist, and are the default width; off, they become 32-bit ones",
    traced=True,
    block=True,
    attribute="x64",
    aliases=("x64_enabled",),
)
numpy_rank_promotion = Switch(
    "numpy_rank_promotion",
    _one_of("allow", "warn", "raise"),
    "allow",
    "what happens when operands of different rank are broadcast: allow, warn, raise",
    traced=True,
)
default_matmul_precision = Switch(
    "default_matmul_precision",
    _precision,
    None,
    "precision of matrix products and convolutions that state none: default, high, highest",
    traced=True,
)
threefry_partitionable = Switch(
    "threefry_partitionable",
    _flag,
    False,
    "random numbers come from the newer, partitionable streams, not the classic ones",
    traced=True,
    block=True,
)
disable_jit = Switch(
    "disable_jit",
    _flag,
    False,
    "jit and control flow run operation by operation, as plain Python",
    traced=True,
    block=True,
)
check_tracer_leaks = Switch(
    "check_tracer_leaks",
    _flag,
    False,
    "a tracer that outlives its trace is an error at the end of the trace (slow)",
    traced=True,
    block=True,
    aliases=("checking_leaks",),
)
enable_checks = Switch(
    "enable_checks",
    _flag,
    False,
    "every jaxpr is checked after each stage (slow; for work on weft itself)",
    traced=True,
    block=True,
)
log_compiles = Switch(
    "log_compiles",
    _flag,
    False,
    "each compilation, and why a function was traced again, is logged as a warning",
    block=True,
)
eager_tier = Switch(
    "eager_tier",
    _one_of("auto", "host", "xla"),
    "auto",
    "how operations outside jit run on the CPU: NumPy (host), compiled (xla), the faster (auto)",
    traced=True,
)
platform = Switch(
    "platform",
    _text,
    None,
    "platforms to use, the default one first, comma-separated; None is all, fastest first",
    aliases=("platforms", "platform_name"),
)
cpu_devices = Switch(
    "cpu_devices",
    _whole(1),
    1,
    "how many devices the CPU acts as; to be set before the first use of a device",
    aliases=("num_cpu_devices",),
)
cache_dir = Switch(
    "cache_dir",
    _text,
    None,
    "folder that keeps executables between runs; '' keeps none, None is the user's cache folder",
    aliases=("compilation_cache_dir",),
)
cache_size = Switch(
    "cache_size",
    _whole(0),
    2**30,
    "most bytes kept in cache_dir; the least recently used executables go first",
    aliases=("compilation_cache_max_size",),
)
debug = Switch(
    "debug",
    _words_of("jaxpr", "hlo", "retrace", "tier"),
    "",
    "what to print as it happens, comma-separated: jaxpr, hlo, retrace, tier",
)

_traced = tuple(s for s in switches() if s.traced)
_rekey(None)
