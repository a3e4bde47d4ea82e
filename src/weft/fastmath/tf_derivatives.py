"""Derivatives by TensorFlow's tapes. See `transformations.py` for the functions.

Arguments are watched as copies (`tf.identity`). So a tensor that a function closes over is a
constant, even if it is also an argument.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import DerivativeError
from ..tree_util import tree_flatten, tree_map, tree_unflatten
from ..user_lines import noted
from .arguments import without_nondiff
from .backends import Backend, current
from .tensorflow_module import tensor, tf
from .tf_trees import flat_function, is_array, tensors_of

Function = Callable[..., Any]


@contextmanager
def _recording(persistent: bool = False) -> Iterator[Any]:
    """A context with a tape. Meanwhile this thread cannot switch to another backend, whose
    operations the tape would not record."""
    before = current.recorder
    with tf.GradientTape(persistent, watch_accessed_variables=False) as tape:
        try:
            current.recorder = Backend.TFNP.value
            yield tape
        finally:
            current.recorder = before


def _is_inexact(x: Any) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


def _gradients(tape: Any, ys: Any, xs: Sequence[Any], cts: Any = None) -> list[Any]:
    """The gradients of all `xs`, as dense tensors."""
    gradients = tape.gradient(ys, list(xs), output_gradients=cts, unconnected_gradients="zero")
    return [tf.convert_to_tensor(g) for g in gradients]


def value_and_grad(f: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """The value and the gradient."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(not -len(args) <= i < len(args) for i in numbers):
            raise noted(
                DerivativeError(
                    f"grad: argnums={argnums} doesn't fit {len(args)} positional arguments"
                )
            )
        leaves, tree = tensors_of("grad: arguments", [args[i] for i in numbers])
        for x in leaves:
            if not _is_inexact(x):
                raise noted(
                    DerivativeError(
                        f"grad: arguments must be floats; got {x.dtype.name}{list(x.shape)}"
                        "\n  fix: x.astype(np.float32)"
                    )
                )
        with _recording() as tape:
            leaves = [tf.identity(x) for x in leaves]
            tape.watch(leaves)
            every = list(args)
            for i, x in zip(numbers, tree_unflatten(tree, leaves), strict=True):
                every[i] = x
            result = f(*every, **kwargs)
            value, aux = result if has_aux else (result, None)
            value = tensor(value)
        if len(value.shape) or not _is_inexact(value):
            raise noted(
                DerivativeError(
                    f"grad: the function must return a scalar float; got "
                    f"{value.dtype.name}{list(value.shape)}"
                )
            )
        gradients = tree_unflatten(tree, _gradients(tape, value, leaves))
        gradient = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return ((value, aux) if has_aux else value), gradient

    return call


def grad(f: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """The gradient."""
    both = value_and_grad(f, argnums, has_aux)

    def call(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return call


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value, and a function that pulls cotangents back."""
    leaves, tree = tensors_of("vjp: arguments", primals)
    with _recording(persistent=True) as tape:
        leaves = [tf.identity(x) for x in leaves]
        watched = [x for x in leaves if _is_inexact(x)]
        tape.watch(watched)
        result = f(*tree_unflatten(tree, leaves))
        value, aux = result if has_aux else (result, None)
        outs, out_tree = tensors_of("vjp: results", value)

    def pullback(ct: Any) -> tuple[Any, ...]:
        cts, ct_tree = tensors_of("vjp: cotangents", ct)
        if ct_tree != out_tree:
            raise noted(DerivativeError(f"vjp: cotangents {ct_tree} for results {out_tree}"))
        pairs = [
            (y, tf.cast(ct, y.dtype)) for y, ct in zip(outs, cts, strict=True) if _is_inexact(y)
        ]
        gradients = iter(_gradients(tape, [y for y, _ in pairs], watched, [ct for _, ct in pairs]))
        return tree_unflatten(
            tree, [next(gradients) if _is_inexact(x) else tf.zeros_like(x) for x in leaves]
        )

    value = tree_unflatten(out_tree, outs)
    return (value, pullback, aux) if has_aux else (value, pullback)


def stop_gradient(x: Any) -> Any:
    """Nested arrays as constants."""
    return tree_map(lambda leaf: tf.stop_gradient(tensor(leaf)), x)


def custom_vjp(f: Function, f_fwd: Function, f_bwd: Function, nondiff: Sequence[int]) -> Function:
    """A function with a custom derivative."""
    return without_nondiff(
        lambda f, f_fwd, f_bwd: _with_rule(f_fwd, f_bwd), f, f_fwd, f_bwd, nondiff
    )


def custom_grad(f_vjp: Function, f_original: Function) -> Function:
    """A function with a custom derivative."""
    return _with_rule(f_vjp, lambda pullback, ct: pullback(ct))


def _with_rule(forward: Function, backward: Function) -> Function:
    """A function with the value of `forward` and the cotangents of `backward`."""

    def call(*args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        places = [i for i, x in enumerate(leaves) if is_array(x)]
        out_tree: Any = None

        @tf.custom_gradient
        def on_tensors(*tensors: Any) -> tuple[list[Any], Function]:
            nonlocal out_tree
            every = list(leaves)
            for i, x in zip(places, tensors, strict=True):
                every[i] = x
            out, residual = forward(*tree_unflatten(tree, every))
            outs, out_tree = tensors_of("custom_vjp: results", out)

            def pullback(*cts: Any) -> list[Any]:
                full = [
                    tf.zeros_like(y) if ct is None else ct for y, ct in zip(outs, cts, strict=True)
                ]
                cotangents = _rule_cotangents(
                    args, backward(residual, tree_unflatten(out_tree, full))
                )
                chosen = [cotangents[i] for i in places]
                return [
                    ct if ct is None else tf.cast(tensor(ct), x.dtype)
                    for x, ct in zip(tensors, chosen, strict=True)
                ]

            return outs, pullback

        outs = on_tensors(*(tensor(leaves[i]) for i in places))
        return tree_unflatten(out_tree, outs)

    return call


def _rule_cotangents(args: tuple[Any, ...], cts: Any) -> list[Any]:
    """A cotangent for each leaf of the arguments; None means zero.

    Raises: DerivativeError: their structures differ.
    """
    cts = tuple(cts) if isinstance(cts, tuple | list) else (cts,)
    cotangents: list[Any] = []
    if len(cts) == len(args):
        for x, ct in zip(args, cts, strict=True):
            leaves = tree_flatten(x)[0]
            x_cts = [None] * len(leaves) if ct is None else tree_flatten(ct, lambda y: y is None)[0]
            if len(x_cts) != len(leaves):
                break
            cotangents += x_cts
        else:
            return cotangents
    raise noted(
        DerivativeError(
            f"custom_vjp: the rule must return a gradient like each of {len(args)} arguments; "
            f"got {len(cts)}"
        )
    )


def remat(f: Function) -> Function:
    """A function that is recomputed in the backward pass.

    A function that closes over tensors is not changed, because TensorFlow's own derivatives need
    them.
    """
    closed: dict[Any, bool] = {}

    def call(*args: Any) -> Any:
        leaves, tree = tensors_of("remat: arguments", args)
        flat, out_tree = flat_function("remat", f, tree)
        key = (tree, *((x.dtype, *x.shape) for x in leaves))
        if key not in closed:
            specs = [tf.TensorSpec(x.shape, x.dtype) for x in leaves]
            program = tf.function(flat, autograph=False).get_concrete_function(*specs)
            closed[key] = bool(program.captured_inputs)
        if closed[key]:
            return f(*args)

        @tf.custom_gradient
        def recomputed(*xs: Any) -> tuple[list[Any], Function]:
            def backward(*cts: Any) -> list[Any]:
                with _recording() as tape:
                    copies = [tf.identity(x) for x in xs]
                    watched = [x for x in copies if _is_inexact(x)]
                    tape.watch(watched)
                    ys = flat(*copies)
                gradients = iter(_gradients(tape, ys, watched, list(cts)))
                return [next(gradients) if _is_inexact(x) else None for x in xs]

            return flat(*map(tf.stop_gradient, xs)), backward  # hides the inside from tapes

        outs = recomputed(*leaves)
        return tree_unflatten(out_tree[0], outs)

    return call
