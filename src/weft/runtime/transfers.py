"""Transfers between memories, and the switches that forbid or log them.

On the CPU the host and the device share memory, so that moving between them is not a transfer. The
transfers are:

- host to device and device to host: elements go to or come from an accelerator;
- device to device: a copy from one device to another, also between the devices of one CPU.

A transfer is explicit if `device_put`, `device_get` or `jit(device=…)` asks for it. It is implicit
if an operation needs it: an argument on the host for a program on an accelerator, an uncommitted
array for a program on another device, `numpy.asarray`, `float` and `print` of an array on an
accelerator. The switches are read once for each transfer, which takes far longer.
"""

import threading
from typing import Any

from ..config import thread
from ..core.aval import Aval
from ..core.events import Transfer, tell
from ..core.source import log_warning
from ..user_lines import noted, user_line, user_place


class _Asked(threading.local):
    explicitly = False


_asked = _Asked()


class explicitly:
    """A block in which transfers are explicit."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = _asked.explicitly
        _asked.explicitly = True

    def __exit__(self, *error: object) -> None:
        _asked.explicitly = self.before


class _Unguarded:
    """The platforms that share the host's memory; none while `weft.explain` collects transfers."""

    platforms: tuple[str, ...] = ("cpu",)


unguarded = _Unguarded()


def sending(aval: Aval, device: Any) -> None:
    """Called before elements go from the host to a device."""
    if device.platform not in unguarded.platforms:
        _guard("host_to_device", aval, "the host", device)


def fetching(aval: Aval, device: Any) -> None:
    """Called before elements come from a device to the host."""
    if device.platform not in unguarded.platforms:
        _guard("device_to_host", aval, device, "the host")


def copying(aval: Aval, source: object, device: object) -> None:
    """Called before a copy from one device to another."""
    _guard("device_to_device", aval, source, device)


def _guard(direction: str, aval: Aval, source: object, target: object) -> None:
    if not unguarded.platforms:
        tell(Transfer(direction, aval, user_place()))
        accelerator = target if direction == "host_to_device" else source
        if direction != "device_to_device" and getattr(accelerator, "platform", "") == "cpu":
            return
    level = getattr(thread, f"transfer_guard_{direction}") or thread.transfer_guard
    if level == "allow" or (_asked.explicitly and not level.endswith("explicit")):
        return
    kind = "explicit" if _asked.explicitly else "implicit"
    transfer = f"{kind} transfer of {aval} from {source} to {target}"
    if level.startswith("log"):
        log_warning(f"{transfer}, at {user_line()}")
        return
    cure = (
        "an explicit one is allowed: weft.device_put(x, device), weft.device_get(x)"
        if kind == "implicit" and level == "disallow"
        else "with weft.transfer_guard('allow'): …"
    )
    raise noted(
        RuntimeError(
            f"transfer_guard: {transfer} is disallowed ({level!r}, {direction})\n  fix: {cure}"
        )
    )
