"""Functions as files: StableHLO with everything that a call needs. See docs/export.md."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "exported": """
            DisabledSafetyCheck Exported deserialize maximum_supported_calling_convention_version
            minimum_supported_calling_convention_version
        """,
        "exporting": "default_export_platform export",
        "trees": "register_namedtuple_serialization register_pytree_node_serialization",
    },
)
