"""Functions as files: StableHLO with what is needed to call it. See docs/export.md."""

from .exported import (
    DisabledSafetyCheck,
    Exported,
    deserialize,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from .making import default_export_platform, export
from .trees import register_namedtuple_serialization, register_pytree_node_serialization

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "default_export_platform",
    "deserialize",
    "export",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]
