"""Holds a function with control flow against the same function written out in Python, under
transformations nested in every order."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sampling

import weft
from weft.primitives.structural import reduce_sum


def total(tree: Any) -> Any:
    """The sum of all elements of the inexact leaves, weighted so that no two count alike."""
    result = None
    for i, leaf in enumerate(weft.tree_util.tree_leaves(tree)):
        if leaf.dtype.kind != "f":
            continue
        s = reduce_sum(leaf * (1.0 + 0.37 * i), axes=tuple(range(leaf.ndim)))
        result = s if result is None else result + s
    return result


def directions(args: Sequence[Any]) -> tuple[Any, ...]:
    """A tangent for each argument."""
    rng = np.random.default_rng(3)
    return tuple(
        np.asarray(rng.normal(size=np.shape(a)), np.asarray(a).dtype)
        if np.asarray(a).dtype.kind == "f"
        else np.zeros(np.shape(a), weft.dtypes.float0)
        for a in args
    )


def batches(args: Sequence[Any]) -> list[Any]:
    """Three of each floating-point argument, not alike."""
    return [np.stack([a, a * 0.5, a * -0.25]) for a in map(np.asarray, args)]


def floats(args: Sequence[Any]) -> tuple[int, ...]:
    """Which arguments can be differentiated."""
    return tuple(i for i, a in enumerate(args) if np.asarray(a).dtype.kind == "f")


Transform = Callable[[Callable[..., Any], Sequence[Any]], Any]


def gradient(f: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    return weft.grad(lambda *xs: total(f(*xs)), argnums=floats(args))


def pushed(f: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    return lambda *xs: weft.jvp(f, xs, directions(xs))[1]


def mapped_axes(args: Sequence[Any], which: int | None) -> tuple[Any, ...]:
    wanted = floats(args) if which is None else (which,)
    return tuple(0 if i in wanted else None for i in range(len(args)))


def in_batches(args: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    return [batches([a])[0] if axis == 0 else a for a, axis in zip(args, axes, strict=True)]


FORWARD: dict[str, Transform] = {
    "f": lambda f, args: f(*args),
    "jit": lambda f, args: weft.jit(f)(*args),
    "jvp": lambda f, args: pushed(f, args)(*args),
    "jit jvp": lambda f, args: weft.jit(lambda *xs: weft.jvp(f, xs, directions(args)))(*args),
    "jvp jit": lambda f, args: pushed(weft.jit(f), args)(*args),
    "jvp jvp": lambda f, args: pushed(
        lambda *xs: weft.jvp(f, xs, directions(args))[1], args
    )(*args),
    "linearize": lambda f, args: weft.linearize(f, *args)[1](*directions(args)),
    "vmap": lambda f, args: weft.vmap(f, mapped_axes(args, None))(
        *in_batches(args, mapped_axes(args, None))
    ),
    "vmap jit": lambda f, args: weft.vmap(weft.jit(f), mapped_axes(args, None))(
        *in_batches(args, mapped_axes(args, None))
    ),
    "jit vmap": lambda f, args: weft.jit(weft.vmap(f, mapped_axes(args, None)))(
        *in_batches(args, mapped_axes(args, None))
    ),
    "vmap one by one": lambda f, args: [
        weft.vmap(f, mapped_axes(args, i))(*in_batches(args, mapped_axes(args, i)))
        for i in floats(args)
    ],
    "vmap jvp": lambda f, args: weft.vmap(
        lambda *xs: weft.jvp(f, xs, directions(args))[1], mapped_axes(args, None)
    )(*in_batches(args, mapped_axes(args, None))),
    "jvp vmap": lambda f, args: pushed(weft.vmap(f, mapped_axes(args, None)), args)(
        *in_batches(args, mapped_axes(args, None))
    ),
    "vmap vmap": lambda f, args: weft.vmap(
        weft.vmap(f, mapped_axes(args, 0)), mapped_axes(args, floats(args)[-1])
    )(
        *in_batches(
            in_batches(args, mapped_axes(args, 0)), mapped_axes(args, floats(args)[-1])
        )
    ),
}  # fmt: skip

REVERSE: dict[str, Transform] = {
    "grad": lambda f, args: gradient(f, args)(*args),
    "jit grad": lambda f, args: weft.jit(gradient(f, args))(*args),
    "grad jit": lambda f, args: gradient(weft.jit(f), args)(*args),
    "grad one by one": lambda f, args: [
        weft.grad(lambda *xs: total(f(*xs)), argnums=i)(*args) for i in floats(args)
    ],
    "grad grad": lambda f, args: gradient(gradient(f, args), args)(*args),
    "jit grad grad": lambda f, args: weft.jit(gradient(gradient(f, args), args))(*args),
    "jvp grad": lambda f, args: pushed(gradient(f, args), args)(*args),
    "grad jvp": lambda f, args: gradient(
        lambda *xs: weft.jvp(f, xs, directions(args))[1], args
    )(*args),
    "vmap grad": lambda f, args: weft.vmap(gradient(f, args), mapped_axes(args, None))(
        *in_batches(args, mapped_axes(args, None))
    ),
    "grad vmap": lambda f, args: gradient(weft.vmap(f, mapped_axes(args, None)), args)(
        *in_batches(args, mapped_axes(args, None))
    ),
    "grad vmap jit": lambda f, args: gradient(
        weft.vmap(weft.jit(f), mapped_axes(args, None)), args
    )(*in_batches(args, mapped_axes(args, None))),
    "vmap grad grad": lambda f, args: weft.vmap(
        gradient(gradient(f, args), args), mapped_axes(args, None)
    )(*in_batches(args, mapped_axes(args, None))),
    "grad of checkpoint": lambda f, args: gradient(weft.checkpoint(f), args)(*args),
    "transpose": lambda f, args: weft.vjp(lambda *xs: total(f(*xs)), *args)[1](2.0),
}  # fmt: skip

# One nesting for each thing that can go wrong; one program of each kind goes through all.
ESSENTIAL = (
    "f", "jvp jit", "linearize", "vmap", "vmap one by one", "jvp vmap",
    "grad", "grad jit", "grad grad", "jvp grad", "vmap grad", "grad vmap",
)  # fmt: skip


def nestings(programs: Any, full: Any, names: Any = None) -> list[tuple[Any, str]]:
    """(program, name of a nesting): all for the program `full`, the essential for the others."""
    names = names or [*FORWARD, *REVERSE]
    found = [(p, n) for p in programs for n in names if p is full or n in ESSENTIAL]
    return sampling.some(found, 2 * len(found) // 3, f"nestings of {full.__name__}")


def str_of(x: Any) -> str:
    """What a parameter of a test is called."""
    return str(getattr(x, "__name__", x))


def agree(f: Callable[..., Any], written_out: Callable[..., Any], args: Any, name: str) -> None:
    """The two give the same under the transformation of that name."""
    transform = (FORWARD | REVERSE)[name]
    args = [weft.core.array.as_value(a) if isinstance(a, np.ndarray) else a for a in args]
    got, expected = transform(f, args), transform(written_out, args)
    assert weft.tree_util.tree_structure(got) == weft.tree_util.tree_structure(expected)
    for a, b in zip(
        weft.tree_util.tree_leaves(got), weft.tree_util.tree_leaves(expected), strict=True
    ):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype != weft.dtypes.float0:
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
