"""Exported: a function's StableHLO with everything that a call needs; deserialize reads it from
bytes. DisabledSafetyCheck names a check to disable for an exported function.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core.aval import Aval, aval
from ..core.source import located
from ..primitives.callbacks import dtype_rank
from ..runtime import text_of_artifact
from ..stablehlo.block import CALLBACKS
from ..transforms.arguments import argument_values, leaf_paths
from ..transforms.custom_derivatives import custom_vjp
from ..tree_util import PyTreeDef, tree_flatten
from .call_exported import ExportedModule, call_exported, custom_calls
from .trees import read_tree, written_tree

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "deserialize",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
]

maximum_supported_calling_convention_version = 1
minimum_supported_calling_convention_version = 1
_MAGIC = b"weft.export 1\n"


class DisabledSafetyCheck(NamedTuple):
    """A check to disable for an exported function.

    Example:
      >>> import weft
      >>> weft.export.DisabledSafetyCheck.custom_call("lapack_spotrf_ffi")
      DisabledSafetyCheck(check='custom_call:lapack_spotrf_ffi')
    Source: JAX documentation, `jax.export.DisabledSafetyCheck`.
    """

    check: str

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """Lets the function run on platforms other than those that it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """Lets the function call native code by this name, which may change."""
        return cls(f"custom_call:{target_name}")


class Exported:
    """A function as StableHLO, for arguments of given shapes and dtypes.

    The convention of a call: its module has a public function `main`, whose arguments are the
    leaves of the arguments, in order, and whose results are the leaves of the result. Made by
    `export` and `deserialize`.

    Attributes:
      fun_name: the name of the function.
      in_tree, out_tree: the structures of the pair (positional arguments, keyword arguments), and
        of the result.
      in_avals, out_avals: tuples with shape and dtype of the leaves.
      platforms: the platforms that it was exported for.
      disabled_safety_checks: the disabled checks.
      calling_convention_version: the version of the convention above.
      nr_devices: 1.
      artifacts: the module as a portable artifact, by platform.
    Example:
      >>> import weft
      >>> exported = weft.export.export(weft.jit(np.sin))(weft.ShapeDtypeStruct((3,), "float32"))
      >>> exported.fun_name, exported.in_avals, exported.out_avals
      ('sin', (float32[3],), (float32[3],))
      >>> exported.call(np.zeros(3))
      Array([0., 0., 0.], dtype=float32)
    Source: JAX documentation, `jax.export.Exported`.
    """

    calling_convention_version = maximum_supported_calling_convention_version
    nr_devices = 1

    def __init__(
        self,
        fun_name: str,
        trees: tuple[PyTreeDef, PyTreeDef],
        avals: tuple[Sequence[Aval], Sequence[Aval]],
        artifacts: dict[str, bytes],
        disabled: Sequence[DisabledSafetyCheck],
        find_vjp: "Callable[[], Exported | None]",
    ) -> None:
        self.fun_name, self.artifacts = fun_name, artifacts
        self.in_tree, self.out_tree = trees
        self.in_avals, self.out_avals = tuple(avals[0]), tuple(avals[1])
        self.platforms = tuple(artifacts)
        self.disabled_safety_checks = tuple(disabled)
        self._find_vjp = find_vjp
        self._vjp: list[Exported | None] = []
        texts = {p: text_of_artifact(a) for p, a in artifacts.items()}
        allowed = {d.check for d in disabled}
        for text in texts.values():
            check_custom_calls(fun_name, text, allowed)
        self._module = ExportedModule(
            fun_name, texts, self.in_avals, self.out_avals, "platform" in allowed
        )

        def on_leaves(*leaves: object) -> list[Any]:
            outs: list[Any] = call_exported(*leaves, module=self._module)
            return outs

        on_leaves.__name__ = fun_name  # for messages
        self._flat = custom_vjp(on_leaves)
        self._flat.defvjp(self._forward, self._backward)

    def __repr__(self) -> str:
        return (
            f"Exported({self.fun_name}, in_avals={self.in_avals}, out_avals={self.out_avals}, "
            f"platforms={self.platforms})"
        )

    def mlir_module(self) -> str:
        """The StableHLO text, for the first of the platforms."""
        return self._module.texts[self.platforms[0]]

    @property
    def mlir_module_serialized(self) -> bytes:
        """The StableHLO as a portable artifact, for the first of the platforms."""
        return self.artifacts[self.platforms[0]]

    # --- calling ---

    @located
    def call(self, *args: object, **kwargs: object) -> Any:
        """The function's result; the call can be jitted, and differentiated if `vjp` exists.

        Args:
          args, kwargs: arguments with the structure, shapes and dtypes that it was exported for.
        Raises: TypeError: the arguments differ from these. ValueError: the platform differs, or
          there is no vjp to differentiate with.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"Exported.call: {self.fun_name} was exported for arguments of structure "
                f"{self.in_tree}; got {tree}"
            )
        paths = lambda: leaf_paths(None, args, kwargs)  # noqa: E731
        values = argument_values("Exported.call", self.fun_name, leaves, paths)
        for i, (v, a) in enumerate(zip(values, self.in_avals, strict=True)):
            if v.aval.weak_type and dtype_rank(v.dtype) <= dtype_rank(a.dtype):
                values[i] = v = v.astype(a.dtype)  # a number takes the expected dtype
            if v.shape != a.shape or v.dtype != a.dtype:
                raise TypeError(
                    f"Exported.call: {self.fun_name} was exported for {a} as argument {paths()[i]}"
                    f"; got {v.aval}\n  fix: export it for these arguments too, or convert them"
                )
        return self.out_tree.unflatten(self._flat(*values))

    def _forward(self, *leaves: object) -> tuple[list[Any], tuple[Any, ...]]:
        return self._flat(*leaves), leaves  # by the rule: for an outer derivative

    def _backward(self, leaves: tuple[object, ...], cts: list[Any]) -> tuple[Any, ...]:
        vjp = self.vjp()
        inexact_cts = [
            ct for ct, a in zip(cts, self.out_avals, strict=True) if dtypes.is_inexact(a.dtype)
        ]
        cotangents = iter(vjp.call(*leaves, *inexact_cts))
        return tuple(
            [
                next(cotangents) if dtypes.is_inexact(a.dtype) else np.zeros(a.shape, dtypes.float0)
                for a in self.in_avals
            ]
        )

    def has_vjp(self) -> bool:
        """True if the function can be differentiated, in reverse mode."""
        if not self._vjp:
            self._vjp.append(self._find_vjp())
        return self._vjp[0] is not None

    @located
    def vjp(self) -> "Exported":
        """The vjp of the function, exported.

        Its arguments are the leaves of the function's arguments, followed by a cotangent for each
        differentiable leaf of the result. It returns a tuple of cotangents, one for each
        differentiable leaf of the arguments.

        Raises: ValueError: it was serialized without a vjp.
        """
        if not self.has_vjp():
            raise ValueError(
                f"Exported.vjp: {self.fun_name} was serialized without a vjp (of that order)\n"
                "  fix: exported.serialize(vjp_order=1), or more for higher derivatives"
            )
        vjp = self._vjp[0]
        assert vjp is not None
        return vjp

    # --- bytes ---

    @located
    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, for `deserialize`.

        Args:
          vjp_order: the number of times that the deserialized function can be differentiated.
        Raises: ValueError: the type of an argument or a result is not registered for serialization.
        """
        if vjp_order < 0:
            raise ValueError(f"serialize: vjp_order must not be negative; got {vjp_order}")
        inner = bytes(self.vjp().serialize(vjp_order - 1)) if vjp_order else b""
        head = {
            "fun_name": self.fun_name,
            "calling_convention_version": self.calling_convention_version,
            "in_tree": written_tree(self.in_tree),
            "out_tree": written_tree(self.out_tree),
            "in_avals": [written_aval(a) for a in self.in_avals],
            "out_avals": [written_aval(a) for a in self.out_avals],
            "disabled": [d.check for d in self.disabled_safety_checks],
            "artifacts": [[p, len(a)] for p, a in self.artifacts.items()],
            "vjp": len(inner),
        }
        body = b"".join([json.dumps(head).encode(), b"\n", *self.artifacts.values(), inner])
        digest = hashlib.sha256(body).hexdigest().encode()
        return bytearray(_MAGIC + digest + b"\n" + body)


def written_aval(a: Aval) -> list[Any]:
    """An aval as JSON values."""
    return [list(a.shape), a.dtype.name, a.weak_type]


def check_custom_calls(name: str, text: str, allowed: set[str]) -> None:
    """Refuses native functions that are not allowed, and all Python functions."""
    for target in sorted(custom_calls(text)):
        if target in CALLBACKS.values() or f"custom_call:{target}" not in allowed:
            cure = (
                "leave callbacks and debug.print out"
                if target in CALLBACKS.values()
                else f"disabled_checks=[DisabledSafetyCheck.custom_call({target!r})], if the "
                "reader has it too"
            )
            raise ValueError(
                f"export: {name} calls the native function {target!r}, which isn't a part of the "
                f"program\n  fix: {cure}"
            )


@located
def deserialize(blob: bytes | bytearray) -> Exported:
    """The function that `Exported.serialize` wrote.

    Reading the bytes runs no code. A call runs the StableHLO program in them, which can compute but
    cannot reach files or Python.

    Args:
      blob: the bytes.
    Raises: ValueError: the bytes are damaged, of another origin or version, or contain a class that
      is not registered here.
    Example:
      >>> import weft, weft.numpy as np
      >>> exported = weft.export.export(weft.jit(np.sin))(1.0)
      >>> print(weft.export.deserialize(exported.serialize()).call(2.0))
      0.9092974
    Source: JAX documentation, `jax.export.deserialize`.
    """
    blob = bytes(blob)
    if not blob.startswith(_MAGIC):
        raise ValueError(
            "deserialize: these bytes aren't a function that weft has exported (weft.export 1); "
            f"they begin with {blob[:20]!r}"
        )
    digest, _, body = blob[len(_MAGIC) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError("deserialize: the bytes are damaged: their checksum differs")
    line, _, rest = body.partition(b"\n")
    try:
        head = json.loads(line)
        version = head["calling_convention_version"]
        if version != maximum_supported_calling_convention_version:
            raise ValueError(f"deserialize: calling convention {version!r} is unknown here")
        artifacts = {}
        for platform, length in head["artifacts"]:
            artifacts[str(platform)], rest = rest[:length], rest[length:]
        inner = rest[: head["vjp"]]
        return Exported(
            str(head["fun_name"]),
            (read_tree(head["in_tree"]), read_tree(head["out_tree"])),
            (read_avals(head["in_avals"]), read_avals(head["out_avals"])),
            artifacts,
            [DisabledSafetyCheck(str(d)) for d in head["disabled"]],
            lambda: deserialize(inner) if inner else None,
        )
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"deserialize: the head of the file is invalid: {error!r}") from None


def read_avals(written: Any) -> list[Aval]:
    """The avals from the results of `written_aval`."""
    return [aval(tuple(shape), dtypes.named_dtype(name), weak) for shape, name, weak in written]
