"""Attributes that the array API standard asks of a namespace: version, inspection, `bool`."""

from typing import Any

from .. import dtypes
from ..runtime.client import Device
from ..transforms.devices.placing import devices as all_devices
from .constants import bool_, isdtype
from .plans import computing

__all__ = ["__array_api_version__", "__array_namespace_info__", "bool"]

__array_api_version__ = "2024.12"

_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


class __array_namespace_info__:
    """The devices, dtypes and capabilities of `weft.numpy`, in the words of the array API standard.

    Example:
      >>> info = np.__array_namespace_info__()
      >>> info.default_dtypes()["real floating"], list(info.dtypes(kind="complex floating"))
      (dtype('float32'), ['complex64'])
    Source: the array API standard, 2024.12, "Inspection".
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """The features that programs may or may not have.

        Where operations are carried out at once, shapes may depend on values, as those of
        `x[x > 0]` do; in a traced function they may not.
        """
        now = computing()
        return {"boolean indexing": now, "data-dependent shapes": now, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device on which new arrays are."""
        found: Device = self.devices()[0]
        return found

    def devices(self) -> list[Device]:
        """The devices of the default backend."""
        return list(all_devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new arrays of each kind, on all devices."""
        return {
            "real floating": dtypes.default_float(),
            "complex floating": dtypes.default_complex(),
            "integral": dtypes.default_int(),
            "indexing": dtypes.default_int(),
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """The standard's dtypes that arrays can have now, by name.

        Args:
          device: on all devices they are the same.
          kind: those of one kind, or of several, as in `isdtype`; all of them if `None`.
        """
        found = {name: dtypes.named_dtype(name) for name in _NAMES}
        return {
            name: dtype
            for name, dtype in found.items()
            if dtypes.canonicalize_dtype(dtype) == dtype and (kind is None or isdtype(dtype, kind))
        }


bool = bool_  # last: above it is Python's
