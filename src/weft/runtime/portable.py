"""StableHLO as a portable artifact: bytes that other versions of XLA read.

The format is StableHLO's own, which keeps old versions readable (the StableHLO compatibility
guarantee: five years back, two years ahead). Reading an artifact runs nothing.
"""

from typing import Any

from . import versions

# Artifacts are written in StableHLO's version of three months ago, for readers that are so old.
_READERS = "WEEK_12"
_MAGIC = b"ML\xefR"  # the first bytes of MLIR bytecode


def _dialects() -> tuple[Any, Any]:
    """A context that knows StableHLO and CHLO, and StableHLO's functions."""
    ir, stablehlo, chlo = versions.mlir()
    context = ir.Context()
    for dialect in (stablehlo, chlo):
        dialect.register_dialect(context)
    return context, stablehlo


def portable_artifact(text: str) -> bytes:
    """A module of StableHLO text as a portable artifact."""
    context, stablehlo = _dialects()
    readers = getattr(stablehlo.StablehloCompatibilityRequirement, _READERS)
    version = stablehlo.get_version_from_compatibility_requirement(readers)
    with context:
        return bytes(versions.load().xla.mlir.serialize_portable_artifact(text, version, True))


def text_of_artifact(artifact: bytes) -> str:
    """The StableHLO text of a portable artifact.

    Raises: ValueError: not an artifact, or one of a version that this jaxlib doesn't know.
    """
    context, stablehlo = _dialects()
    try:
        if not artifact.startswith(_MAGIC):
            raise ValueError("not MLIR's bytecode")
        with context:
            module = stablehlo.deserialize_portable_artifact(context, artifact)
            # no aliases, which would stand outside of the module
            return str(module.operation.get_asm(use_local_scope=True))
    except (RuntimeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"deserialize: jaxlib {versions.load().version} can't read the StableHLO inside: "
            f"{str(error) or type(error).__name__}\n"
            "  fix: a newer jaxlib, or export again with an older one"
        ) from None
