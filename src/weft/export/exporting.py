"""export makes an `Exported` of a jitted function; default_export_platform returns its default
platform."""

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..compiler.compiled import GroupTarget
from ..compiler.lower import lower
from ..compiler.simplify import jaxpr_calls_host, without_dead_code
from ..core.array import as_value
from ..core.jaxpr import Jaxpr, run
from ..core.source import located
from ..core.trace import current
from ..runtime import default_backend, portable_artifact
from ..runtime.client import platform_of
from ..transforms.derivatives import vjp
from ..transforms.jit.function import jit
from ..transforms.jit.stages import ShapeDtypeStruct, Traced, struct_of
from ..user_lines import noted
from .exported import DisabledSafetyCheck, Exported

__all__ = ["default_export_platform", "export"]


_PLATFORMS = ("cpu", "cuda", "rocm", "gpu", "tpu")


def default_export_platform() -> str:
    """The default platform of exports: the default platform of this process.

    Example:
      >>> import weft
      >>> weft.export.default_export_platform() == weft.default_backend()
      True
    Source: JAX documentation, `jax.export.default_export_platform`.
    """
    return default_backend()


def export(
    fun_jit: Callable[..., object],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """A function that returns `fun_jit` for its arguments as an `Exported`: StableHLO, and
    everything that a call in another process needs.

    The function has the shapes of these arguments; symbolic shapes are not supported. It must be
    for a single device, and must not call Python.

    Args:
      fun_jit: the result of `jit`.
      platforms: 'cpu', 'cuda', 'rocm', 'gpu' (which is both) and 'tpu'; one program is written for
        each. By default the platform of this process.
      disabled_checks: see `DisabledSafetyCheck`.
    Returns: a function of `fun_jit`'s arguments, or objects with their shapes and dtypes.
    Raises: TypeError: `fun_jit` is not jitted. ValueError: it cannot be exported.
    Example:
      >>> import weft, weft.numpy as np
      >>> f = weft.jit(lambda x: 2 * x * x)
      >>> exported = weft.export.export(f)(weft.ShapeDtypeStruct((3,), "float32"))
      >>> exported.in_avals, exported.platforms
      ((float32[3],), ('cpu',))
      >>> blob = exported.serialize(vjp_order=1)
      >>> again = weft.export.deserialize(blob)
      >>> weft.jit(again.call)(np.arange(3.0))
      Array([0., 2., 8.], dtype=float32)
      >>> weft.grad(lambda x: again.call(x).sum())(np.arange(3.0))
      Array([0., 4., 8.], dtype=float32)
    Source: JAX documentation, `jax.export.export`.
    """
    trace = getattr(fun_jit, "trace", None)
    if trace is None:
        raise noted(
            TypeError(
                f"export: expected a jitted function; got {fun_jit!r:.80}\n  fix: export(jit(f))"
            )
        )
    platform_names = checked_platforms(platforms)

    @located
    def exporter(*args: object, **kwargs: object) -> Exported:
        return exported_of(trace(*args, **kwargs), platform_names, tuple(disabled_checks))

    return exporter


@located
def checked_platforms(platforms: Sequence[str] | None) -> tuple[str, ...]:
    """The platforms, by the names that devices have, without repetitions."""
    if platforms is None:
        return (default_export_platform(),)
    if isinstance(platforms, str) or not platforms or set(platforms) - {*_PLATFORMS}:
        raise ValueError(
            f"export: platforms must be a list of some of {', '.join(_PLATFORMS)}; got "
            f"{platforms!r}"
        )
    return tuple(dict.fromkeys(map(platform_of, platforms)))


def exported_of(
    traced: Traced, platforms: Sequence[str], disabled: Sequence[DisabledSafetyCheck]
) -> Exported:
    """The `Exported` of a traced function."""
    name = traced.fun_name
    jaxpr: Jaxpr = traced.jaxpr
    if jaxpr_calls_host(jaxpr):
        raise ValueError(
            f"export: {name} calls Python, which can't leave this process\n"
            "  fix: leave callbacks and debug.print out"
        )
    if isinstance(traced.target(traced.types, traced.program()), GroupTarget):
        raise ValueError(
            f"export: {name} is a program for several devices\n  fix: export the function for one"
        )
    lean = without_dead_code(jaxpr)[0]
    artifacts = {
        p: portable_artifact(lower(lean, name=f"jit_{name}", platform=p)[0]) for p in platforms
    }
    return Exported(
        name,
        (traced.in_tree, traced.out_tree),
        (jaxpr.in_avals, jaxpr.out_avals),
        artifacts,
        disabled,
        lambda: exported_vjp(traced, platforms, disabled),
    )


def exported_vjp(
    traced: Traced, platforms: Sequence[str], disabled: Sequence[DisabledSafetyCheck]
) -> Exported:
    """The `Exported` of the vjp of a traced function, on leaves."""
    count = len(traced.jaxpr.invars)
    inexact = [dtypes.is_inexact(a.dtype) for a in traced.jaxpr.in_avals]
    outs = [i for i, a in enumerate(traced.jaxpr.out_avals) if dtypes.is_inexact(a.dtype)]

    def function(*leaves: object) -> list[Any]:
        results = run(traced.jaxpr, [as_value(x) for x in leaves], current.trace)
        return [results[i] for i in outs]

    def pullback(*args: object) -> tuple[Any, ...]:
        cts = vjp(function, *args[:count])[1]([*args[count:]])
        return tuple([ct for ct, i in zip(cts, inexact, strict=True) if i])

    pullback.__name__ = f"{traced.fun_name}_vjp"
    structs: list[ShapeDtypeStruct] = [
        struct_of(a) for a in (*traced.jaxpr.in_avals, *[traced.jaxpr.out_avals[i] for i in outs])
    ]
    return exported_of(jit(pullback).trace(*structs), platforms, disabled)
