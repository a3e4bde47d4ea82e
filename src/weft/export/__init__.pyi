# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .exported import (
    DisabledSafetyCheck as DisabledSafetyCheck,
    Exported as Exported,
    deserialize as deserialize,
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from .exporting import default_export_platform as default_export_platform, export as export
from .trees import (
    register_namedtuple_serialization as register_namedtuple_serialization,
    register_pytree_node_serialization as register_pytree_node_serialization,
)
