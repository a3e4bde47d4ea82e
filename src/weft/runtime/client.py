"""Devices, and the XLA clients that own them, opened at first use.

Private to this folder: `process`, and of a Device `raw device_list sharding transfer lib`.
"""

import atexit
import itertools
import os
import re
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..config import config, thread
from ..core.source import located
from . import plugins, versions
from .failures import PlatformError, fork_error, text_of

SPARE = 2  # hidden CPU devices


def cpu_devices_wanted(lib: versions.Jaxlib) -> int:
    """The number of devices of a CPU client, including spare ones.

    Before jaxlib 0.12, devices are threads of a pool with one thread for each core, or for each
    device if there are more devices. If all threads are in callbacks of a program on all devices, a
    program that the callbacks wait for never starts. So several devices come with spare ones, for
    their threads.
    """
    flag = re.search(r"xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    count = config.cpu_devices
    if count == 1 and flag:
        count = int(flag[1])
    return count + SPARE if count > 1 and lib.block_after_collectives else count


def without_spare(lib: versions.Jaxlib, devices: Sequence[Any]) -> list[Any]:
    """The CPU devices of all processes without the spare ones, the last of each process."""
    computing: list[Any] = []
    for _, group in itertools.groupby(devices, lambda device: device.process_index):
        local = list(group)
        computing += local[:-SPARE] if len(local) > 1 and lib.block_after_collectives else local
    return computing


class Device:
    """One device that computes: a CPU, a GPU or a TPU core. Compare devices with `is` or `==`.

    As the target of a program it has the attributes of a `Group`: `devices`, `sharding_of`,
    `is_partitioned`.

    Example:
      >>> import weft
      >>> device = weft.devices("cpu")[0]
      >>> device, device.platform, device.id
      (CpuDevice(id=0), 'cpu', 0)
    """

    is_partitioned = False

    __slots__ = (
        "client",
        "device_kind",
        "device_list",
        "devices",
        "id",
        "lib",
        "local_hardware_id",
        "platform",
        "process_index",
        "raw",
        "sharding",
        "transfer",
    )

    def __init__(self, raw: Any, client: "Client", lib: versions.Jaxlib) -> None:
        self.id: int = raw.id
        self.devices = (self,)  # as the only one of a group
        self.platform = client.platform
        self.device_kind: str = raw.device_kind
        self.process_index: int = raw.process_index
        self.local_hardware_id: int | None = raw.local_hardware_id
        self.client = client
        self.lib = lib
        self.raw = raw
        self.device_list = lib.xla.DeviceList((raw,))
        self.sharding = lib.xla.GSPMDSharding(self.device_list, lib.hlo.HloSharding.replicate())
        is_here = self.process_index == client.process_index
        self.transfer = lib.xla.batched_device_put if is_here else self.refuse

    def sharding_of(self, tiling: object) -> Any:
        """XLA's object for a whole array on this device."""
        return self.sharding

    def refuse(self, *args: object, **kwargs: object) -> None:
        """Raises the error for an array put on a device of another process."""
        raise elsewhere(str(self))

    def default_memory(self) -> "Memory":
        """The memory in which arrays are."""
        return Memory(self.raw.default_memory().kind, self)

    def addressable_memories(self) -> list["Memory"]:
        """The memories in which arrays can be: the default one only."""
        return [self.default_memory()]

    def memory_stats(self) -> dict[str, int] | None:
        """The allocator's statistics, or `None` on platforms without any, such as the CPU."""
        stats = self.raw.memory_stats()
        return None if stats is None else dict(stats)

    def __repr__(self) -> str:
        name = {"cpu": "Cpu", "gpu": "Gpu", "tpu": "Tpu"}.get(self.platform, self.platform.title())
        return f"{name}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _device, (self.platform, self.id)


class Memory(NamedTuple):
    """A memory of a device: its kind, such as "device", and the device."""

    kind: str
    device: Device


def elsewhere(devices: str) -> ValueError:
    return ValueError(
        f"arrays and programs for {devices}: expected a device of this process, number "
        f"{process_index()}, among them\n  fix: local_devices(), or a sharding over the devices of "
        "all processes"
    )


def _device(platform: str, id: int) -> Device:
    for device in devices(platform):
        if device.id == id:
            return device
    raise PlatformError(f"this process has no device {id} of platform {platform!r}")


class Client:
    """An XLA client: one platform's devices, of all processes."""

    __slots__ = ("devices", "lib", "local_devices", "name", "platform", "process_index", "raw")

    def __init__(self, name: str, raw: Any, lib: versions.Jaxlib) -> None:
        self.name = name
        self.platform = platform_of(name)
        self.raw = raw
        self.lib = lib
        self.process_index: int = raw.process_index()
        seen = raw.devices()
        if name == "cpu":
            seen = without_spare(lib, seen)
        interned = {device.id: Device(device, self, lib) for device in seen}
        self.devices = list(interned.values())
        self.local_devices = [d for d in self.devices if d.process_index == self.process_index]

    @property
    def platform_version(self) -> str:
        """The version of the platform's plug-in or driver, as XLA names it."""
        return str(self.raw.platform_version)

    @property
    def runtime_type(self) -> str:
        """The kind of XLA's runtime, "pjrt_ifrt" for example."""
        return str(self.raw.runtime_type)

    def __repr__(self) -> str:
        return f"Client({self.name!r}, {len(self.devices)} devices)"


def platform_of(name: str) -> str:
    """'gpu' for 'cuda' and 'rocm'; other names stay."""
    return "gpu" if name in ("cuda", "rocm") else name


def platform_names(platform: str) -> tuple[str, ...]:
    """The names of a platform that programs may use: a GPU is also 'cuda' or 'rocm'.

    Without a GPU, where programs are only exported, it is 'cuda'.
    """
    if platform != "gpu":
        return (platform,)
    kinds = [plugin.name for plugin in plugins.discover() if platform_of(plugin.name) == "gpu"]
    return ("gpu", kinds[0] if kinds else "cuda")


class Process:
    """The clients that this process has opened. The only instance is `process`."""

    __slots__ = (
        "by_sharding",
        "clients",
        "connection",
        "default",
        "device",
        "forked",
        "lock",
        "unreachable",
    )

    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}
        self.default: Client | None = None
        self.device: Device | None = None  # the default one
        self.by_sharding: dict[int, Device] = {}  # the id of each device's sharding
        self.unreachable: dict[str, str] = {}  # a platform that failed, and why
        self.connection: Any = None  # runtime.distributed fills it
        self.forked = False  # read before every call that could hang in a forked child
        self.lock = threading.RLock()

    def client(self, name: str) -> Client:
        """The client of 'cpu' or of a plugin, opened once; raises PlatformError if it can't be."""
        if self.forked:
            raise fork_error()
        client = self.clients.get(name)
        if client is None:
            with self.lock:
                client = self.clients.get(name)
                if client is None:
                    client = self._open(name)
        return client

    def _open(self, name: str) -> Client:
        if name in self.unreachable:
            raise PlatformError(self.unreachable[name])
        lib = versions.load()
        try:
            if name == "cpu":
                raw = self._open_cpu(lib)
            else:
                raw = plugins.make_client(plugins.find(name), self.connection)
        except RuntimeError as error:
            self.unreachable[name] = text_of(error)
            raise PlatformError(self.unreachable[name]) from None
        if not self.clients:
            os.register_at_fork(after_in_child=self._poison)
            # buffers release NumPy's memory lazily, and must do so before NumPy is gone
            atexit.register(lib.xla.collect_garbage)
        client = Client(name, raw, lib)
        self.by_sharding.update((id(device.sharding), device) for device in client.devices)
        self.clients[name] = client
        return client

    def _open_cpu(self, lib: versions.Jaxlib) -> Any:
        count = cpu_devices_wanted(lib)
        connection = self.connection
        if connection is None:
            return lib.xla.get_tfrt_cpu_client(asynchronous=True, num_devices=count)
        return lib.xla.get_tfrt_cpu_client(
            asynchronous=True,
            distributed_client=connection.raw,
            node_id=connection.process_index,
            num_nodes=connection.process_count,
            collectives=lib.xla.make_gloo_tcp_collectives(
                distributed_client=connection.raw, hostname=connection.host
            ),
            num_devices=count,
        )

    def _poison(self) -> None:
        self.forked = True
        self.lock = threading.RLock()  # the other threads, which may have held it, are gone


process = Process()


def _candidates() -> list[str]:
    """The platforms that this process may use, the preferred one first; loads nothing."""
    present = [*(plugin.name for plugin in plugins.discover()), "cpu"]
    preferred = plugins.platforms_wanted()
    if not preferred:
        return present
    names = []
    for want in preferred:
        matches = [name for name in present if want in (name, platform_of(name))]
        if not matches:
            raise PlatformError(
                f"WEFT_PLATFORM: no platform {want!r} here; installed: {', '.join(sorted(present))}"
            )
        names += matches
    return names


def _default() -> Client:
    """The client that is used when none is named, chosen once."""
    if process.default is None or process.forked:
        process.default = _choose()
    return process.default


def _choose() -> Client:
    """The first platform if the user named it, else the first one that can be opened."""
    names = _candidates()
    if not plugins.platforms_wanted():
        for name in names[:-1]:
            known_to_fail = name in process.unreachable
            try:
                return process.client(name)
            except PlatformError as error:
                if not known_to_fail:
                    plugins.warn_unreachable(error)
        return process.client("cpu")
    return process.client(names[0])


def _client(platform: str | None) -> Client:
    if platform is None:
        return _default()
    names = _candidates()
    for name in names:
        if platform in (name, platform_of(name)):
            return process.client(name)
    fix = (
        "WEFT_PLATFORM leaves it out"
        if plugins.platforms_wanted()
        else "install its PJRT plugin, or name one with WEFT_PJRT_PLUGIN=name:path"
    )
    raise PlatformError(
        f"no platform {platform!r}; this process has: {', '.join(sorted(names))}\n  fix: {fix}"
    )


@located
def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform, of all processes.

    Args:
      backend: 'cpu', 'gpu' or 'tpu'; by default the preferred one, an accelerator if there is one.
    Raises: PlatformError (a RuntimeError): there is no such platform here.
    Example:
      >>> import weft
      >>> weft.devices("cpu")[0]
      CpuDevice(id=0)
    Source: JAX documentation, `jax.devices`.
    """
    return list(_client(backend).devices)


def local_devices(platform: str | None = None, process_index: int | None = None) -> list[Device]:
    """The devices of a platform that belong to this process (or to the one named)."""
    client = _client(platform)
    if process_index is None or process_index == client.process_index:
        return list(client.local_devices)
    return [device for device in client.devices if device.process_index == process_index]


def default_device() -> Device:
    """The device that is used when none is named."""
    device = process.device
    if device is None or process.forked:
        device = process.device = _default().local_devices[0]
    return device


def chosen_device() -> Device | None:
    """The device that the switch `default_device` names, unless it is the default one anyway."""
    device = thread.default_device
    if device is None:
        return None
    if isinstance(device, str):
        platform, _, number = device.partition(":")
        local = local_devices(platform)
        if number and not (number.isdigit() and int(number) < len(local)):
            raise ValueError(
                f"default_device: {device!r} names no device; there are {len(local)} of {platform}"
            )
        device = local[int(number or 0)]
    return None if device is default_device() else device


@located
def default_backend() -> str:
    """The platform that is used when none is named: 'cpu', 'gpu' or 'tpu'.

    Example:
      >>> import weft
      >>> weft.default_backend() == weft.devices()[0].platform
      True
    Source: JAX documentation, `jax.default_backend`.
    """
    return _default().platform


@located
def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform, in all processes.

    Example:
      >>> import weft
      >>> weft.device_count() == len(weft.devices())
      True
    Source: JAX documentation, `jax.device_count`.
    """
    return len(_client(backend).devices)


@located
def local_device_count(backend: str | None = None) -> int:
    """The number of devices of a platform in this process.

    Example:
      >>> import weft
      >>> weft.local_device_count() == len(weft.local_devices())
      True
    Source: JAX documentation, `jax.local_device_count`.
    """
    return len(_client(backend).local_devices)


@located
def process_index(backend: str | None = None) -> int:
    """The number of this process among those that compute together: 0 if it is the only one.

    Example:
      >>> import weft
      >>> weft.process_index()
      0
    Source: JAX documentation, `jax.process_index`.
    """
    return _client(backend).process_index


@located
def process_count(backend: str | None = None) -> int:
    """The number of processes that compute together.

    Example:
      >>> import weft
      >>> weft.process_count()
      1
    Source: JAX documentation, `jax.process_count`.
    """
    _client(backend)
    return 1 if process.connection is None else int(process.connection.process_count)


def is_loaded() -> bool:
    """True if a device has been opened; opens none itself."""
    return bool(process.clients)


def has_accelerator() -> bool:
    """True if an accelerator is the default platform. Loads nothing if none is installed."""
    names = _candidates()
    if names[0] == "cpu":
        return False
    return _default().platform != "cpu"
