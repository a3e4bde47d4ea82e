"""Names that the array API standard requires: `bool`, __array_api_version__ and
__array_namespace_info__."""

from typing import Any

from .. import dtypes
from ..runtime.client import Device
from ..transforms.devices.devices import devices as all_devices
from .dtypes import bool_, isdtype
from .plans import computing

__all__ = ["__array_api_version__", "__array_namespace_info__", "bool"]

__array_api_version__ = "2024.12"

_DTYPE_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


class __array_namespace_info__:
    """The devices, dtypes and capabilities of `weft.numpy`, for the array API standard.

    Example:
      >>> info = np.__array_namespace_info__()
      >>> info.default_dtypes()["real floating"], list(info.dtypes(kind="complex floating"))
      (dtype('float32'), ['complex64'])
    Source: the array API standard, 2024.12, "Inspection".
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """The optional features that are supported.

        In eager calls shapes may depend on values, as the shape of `x[x > 0]` does; in a traced
        function they may not.
        """
        is_eager = computing()
        return {
            "boolean indexing": is_eager,
            "data-dependent shapes": is_eager,
            "max dimensions": 64,
        }

    def default_device(self) -> Device:
        """The device of new arrays."""
        device: Device = self.devices()[0]
        return device

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
        """The dtypes of the standard that arrays can have now, by name.

        Args:
          device: ignored: the dtypes are the same on all devices.
          kind: one kind or several, as in `isdtype`; all of them for `None`.
        """
        dtypes_by_name = {name: dtypes.named_dtype(name) for name in _DTYPE_NAMES}
        return {
            name: dtype
            for name, dtype in dtypes_by_name.items()
            if dtypes.canonicalize_dtype(dtype) == dtype and (kind is None or isdtype(dtype, kind))
        }


bool = bool_  # at the end, because the code above uses Python's bool
