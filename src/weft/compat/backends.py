"""`jax.extend.backend`: XLA's clients, by platform."""

import contextlib
import functools
from typing import Any

from ..runtime.client import Client, Device, chosen_device, default_device, devices
from ..runtime.failures import PlatformError
from ..runtime.plugins import discover


@functools.cache
def get_backend(platform: Any = None) -> Client:
    """XLA's client of a platform, or of the default device."""
    return platform if isinstance(platform, Client) else devices(platform)[0].client


def backends() -> dict[str, Client]:
    """XLA's clients that can be opened, by the name of their platform: 'cpu', 'cuda', …"""
    found = {}
    for name in dict.fromkeys([*(plugin.name for plugin in discover()), "cpu"]):
        with contextlib.suppress(PlatformError):
            found[name] = devices(name)[0].client
    return found


def get_default_device() -> Device:
    """The device of arrays for which no other device is named."""
    return chosen_device() or default_device()
