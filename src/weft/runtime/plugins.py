"""Finds and opens the PJRT plugins of accelerators.

`discover` looks at what is installed and imports none of it: the `__init__` of the CUDA wheels
imports `jax`, and must never run.
"""

import ctypes
import functools
import importlib
import importlib.util
import os
import warnings
from typing import Any, NamedTuple

from ..config import config
from . import versions
from .failures import PlatformError, text_of


def platforms_wanted() -> list[str]:
    """The platforms that the switch `platform` allows, in order of preference; empty: any."""
    return [name.strip() for name in (config.platform or "").split(",") if name.strip()]


def plugins_named() -> list[str]:
    """The plugins that `WEFT_PJRT_PLUGIN` names, as `name:path`."""
    text = os.environ.get("WEFT_PJRT_PLUGIN", "")
    return [item.strip() for item in text.split(",") if item.strip()]


class Plugin(NamedTuple):
    """An installed plugin."""

    name: str
    """The platform's name for XLA: 'cuda', 'tpu', …"""
    path: str
    """The shared library."""
    package: str = ""
    """The package with the kernels that XLA calls by name; empty: none."""


@functools.cache
def discover() -> list[Plugin]:
    """The plugins that are installed, the preferred one first. Loads nothing."""
    plugins = []
    for item in plugins_named():
        name, colon, path = item.partition(":")
        if not (name and colon and path):
            raise ValueError(f"WEFT_PJRT_PLUGIN: expected name:path; got {item!r}")
        if name == "cpu":
            raise ValueError("WEFT_PJRT_PLUGIN: the CPU needs no plugin; choose another name")
        plugins.append(Plugin(name, path))
    for folder in _folders("jax_plugins"):
        for wheel in _listed(folder, "xla_cuda"):
            library = os.path.join(folder, wheel, "xla_cuda_plugin.so")
            if os.path.exists(library):
                plugins.append(Plugin("cuda", library, f"jax_{wheel.removeprefix('xla_')}_plugin"))
    for folder in _folders("libtpu"):
        library = os.path.join(folder, "libtpu.so")
        if os.path.exists(library) and (_listed("/dev", "accel") or _listed("/dev/vfio", "")):
            plugins.append(Plugin("tpu", library))
    first: dict[str, Plugin] = {}
    for plugin in plugins:
        first.setdefault(plugin.name, plugin)
    return list(first.values())


def _folders(package: str) -> list[str]:
    """The folders of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or ()) if spec else []


def _listed(folder: str, start: str, middle: str = "") -> list[str]:
    """The names in a folder that begin so, the newest version first; none without a folder."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted((n for n in names if n.startswith(start) and middle in n), reverse=True)


def find(name: str) -> Plugin:
    """The plugin for a platform."""
    for plugin in discover():
        if plugin.name == name:
            return plugin
    raise PlatformError(f"no plugin for platform {name!r} is installed")


def make_client(plugin: Plugin, connection: Any = None) -> Any:
    """Loads a plugin and opens its devices.

    Args:
      connection: the result of `distributed.connect`, for several processes.
    Raises: PlatformError: the library cannot be loaded, or there is no device.
    """
    xla = versions.load().xla
    options: dict[str, Any] = {}
    try:
        if plugin.name == "cuda":
            _load_cuda_libraries()
            options = versions.cuda_options()
        # XLA ends the process if the library does not exist
        if not os.path.isfile(plugin.path):
            raise PlatformError(f"platform {plugin.name!r}: there is no file {plugin.path}")
        api = xla.load_pjrt_plugin(plugin.name, plugin.path, None)
        if not xla.pjrt_plugin_initialized(plugin.name):
            xla.initialize_pjrt_plugin(plugin.name)
        raw_connection = None
        if connection is not None:
            options |= {
                "node_id": connection.process_index,
                "num_nodes": connection.process_count,
            }
            if connection.local_device_ids is not None:
                options["visible_devices"] = list(connection.local_device_ids)
            raw_connection = connection.raw
        client = xla.get_c_api_client(plugin.name, options, raw_connection)
    except PlatformError:
        raise
    except (RuntimeError, OSError, ValueError) as error:
        reason = text_of(error).partition("\n")[0]
        raise PlatformError(f"platform {plugin.name!r} could not be opened: {reason}") from None
    if plugin.package:
        _register_cuda_kernels(api, plugin.package)
    return client


def warn_unreachable(error: PlatformError) -> None:
    """The one line that says why an installed accelerator is not used."""
    warnings.warn(
        f"weft: {error}; the next platform is used (WEFT_PLATFORM=cpu silences this)",
        RuntimeWarning,
        stacklevel=2,
    )


# --- CUDA ---

_CUDA_LIBRARIES = (
    "libcudart",
    "libnvrtc",
    "libnvJitLink",
    "libcublasLt",
    "libcublas",
    "libnccl",
    "libcupti",
    "libcusparse",
    "libcusolver",
    "libcufft",
    "libnvshmem_host",
    "libcudnn",
)
"""The libraries that the plugin looks up by name, each after those that it needs itself."""


def _load_cuda_libraries() -> None:
    """Loads NVIDIA's wheels, if they are installed, so that the plugin uses these copies."""
    for folder in _folders("nvidia"):
        places = [os.path.join(folder, part, "lib") for part in _listed(folder, "")]
        for name in _CUDA_LIBRARIES:
            for place in places:
                for library in _listed(place, name, ".so"):
                    try:
                        ctypes.CDLL(os.path.join(place, library))
                    except OSError:
                        continue  # if the plugin needs it, the plugin will say so
                    break


@functools.cache
def compile_options(name: str) -> dict[str, object]:
    """The compile options that a plugin's platform needs."""
    if name == "cuda":
        for folder in _folders("nvidia"):
            for part in ("cu13", "cuda_nvcc"):
                if os.path.isdir(os.path.join(folder, part, "nvvm", "libdevice")):
                    return {"xla_gpu_cuda_data_dir": os.path.join(folder, part)}
    return {}


def _installed_version(package: str) -> str:
    """The version of an installed wheel. (importlib.metadata takes 20 ms to import.)"""
    for folder in _folders(package):
        for name in _listed(os.path.dirname(folder), package + "-", ".dist-info"):
            return name.removeprefix(package + "-").removesuffix(".dist-info")
    return "of unknown version"


_CUDA_KERNELS = ("_solver", "_linalg", "_prng", "_sparse", "_rnn", "_hybrid")


_with_kernels: set[str] = set()  # the platforms whose kernels XLA knows of


def has_kernels(platform: str) -> bool:
    """True if programs for a platform can call the solvers of its libraries by name."""
    return platform in _with_kernels


def _register_cuda_kernels(api: object, package: str) -> None:
    """Registers the kernels that programs call by name. They must belong to jaxlib's version."""
    try:
        extension = importlib.import_module(f"{package}.cuda_plugin_extension")
    except ImportError:
        return  # programs that need them get XLA's error that there is no such target
    jaxlib = versions.load().version
    version = _installed_version(package)
    if version != jaxlib:
        warnings.warn(
            f"weft: {package} {version} does not fit jaxlib {jaxlib}: linear algebra on the GPU is "
            f"off (pip install {package.replace('_', '-')}=={jaxlib})",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _with_kernels.add("gpu")
    for name, value in extension.ffi_types().items():
        extension.register_custom_type(api, name, value)
    for name, value in extension.ffi_handlers().items():
        extension.register_custom_call_target(api, name, value, "CUDA", 1, 0)
    for module in _CUDA_KERNELS:
        try:
            kernels = importlib.import_module(f"{package}.{module}").registrations()
        except ImportError:
            continue
        for name, value in kernels.items():
            extension.register_custom_call_target(api, name, value, "CUDA", 1, 0)
