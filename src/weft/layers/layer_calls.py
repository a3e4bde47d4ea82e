"""Parts of `Layer` besides the computation: abstract calls, custom gradients, its text."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import fastmath
from ..core.source_location import in_part
from ..core.trace import locations_wanted
from ..core.value import Value
from ..user_lines import noted
from .layer_errors import shortened
from .weight_shards import unshard_in_pmap
from .weight_trees import signature_tree

Held = tuple[dict[str, Any], Any, Any]


def tree(layer: Any) -> list[Any]:
    """A layer and all its descendants; a shared layer occurs repeatedly."""
    sublayers = layer._sublayers
    if not sublayers:
        return [layer]
    return [layer, *[inner for sublayer in sublayers for inner in tree(sublayer)]]


def held(layer: Any) -> list[Held]:
    """For a layer and all those inside: its attributes, weights and state, for `put_back`."""
    layers, before = [layer], []
    for inner in layers:  # which grows
        own = inner.__dict__
        layers += own["_sublayers"]
        before.append((own, own["_weights"], own["_state"]))
    return before


def put_back(before: list[Held]) -> None:
    """Restores the weights and state of layers."""
    for own, weights, state in before:
        own["_weights"], own["_state"] = weights, state


@contextmanager
def kept(layer: Any) -> Iterator[None]:
    """A context at whose end a layer and its descendants get back their keys, weights and state."""
    layers = tree(layer)
    before, keys = held(layer), [inner._rng for inner in layers]
    try:
        yield
    finally:
        put_back(before)
        for inner, key in zip(layers, keys, strict=True):
            inner.__dict__["_rng"] = key


def own_arrays(inputs: Any) -> Any:
    """Nested inputs, with arrays of other libraries (neither the backend's nor NumPy's) converted
    to the backend."""
    if type(inputs) in (tuple, list):
        items = [own_arrays(x) for x in inputs]
        changed = any(a is not b for a, b in zip(items, inputs, strict=True))
        return type(inputs)(items) if changed else inputs
    if type(inputs) is dict:
        return {name: own_arrays(x) for name, x in inputs.items()}
    if not (hasattr(inputs, "__array__") and hasattr(inputs, "shape")):
        return inputs
    if isinstance(inputs, (np.ndarray, np.generic, fastmath.numpy.ndarray)):
        return inputs
    return fastmath.numpy.asarray(inputs)


def init_abstract(layer: Any, input_signature: Any, unsafe: bool) -> tuple[Any, Any]:
    """The signatures of the weights and the state that `init` would make."""
    layers = tree(layer)
    before, keys = held(layer), [inner._rng for inner in layers]
    pieces: list[Any] = []

    def init(sig: Any) -> Any:
        pieces.append(layer.init(sig))
        return pieces[-1]

    try:
        signatures = fastmath.abstract_eval(init)(input_signature)
        return _ordered(signatures, pieces[-1])
    finally:
        for inner, key in zip(layers, keys, strict=True):
            inner.__dict__["_rng"] = key
        if not unsafe:
            put_back(before)


def _ordered(sig: Any, like: Any) -> Any:
    """A tree with the dict keys in the order of another tree; tracing sorts them."""
    if isinstance(like, dict):
        return {key: _ordered(sig[key], like[key]) for key in like}
    if type(like) in (list, tuple):
        return type(like)(map(_ordered, sig, like))
    return sig


def forward_abstract(layer: Any, input_signature: Any) -> tuple[Any, Any]:
    """The signatures of outputs and new state, for the layer's current weights."""
    weights, state = signature_tree(layer.weights), signature_tree(layer.state)
    rng = signature_tree(fastmath.random.get_prng(0))
    signatures = fastmath.abstract_eval(layer.pure_fn)(input_signature, weights, state, rng)
    return signatures


def applied(layer: Any, inputs: Any, weights: Any, state: Any, rng: Any) -> tuple[Any, Any]:
    """(outputs, new state) of `forward`, without changing the layer."""
    before, key = held(layer), layer._rng
    layer.weights, layer.state, layer._rng = weights, state, rng
    try:
        return layer.forward(inputs), layer.state
    finally:
        layer._rng = key
        put_back(before)


def run_located(layer: Any, x: Any, weights: Any, state: Any, is_repeated: bool) -> tuple[Any, Any]:
    """(outputs, new state) of `layer._run`. If operations record their origin, as under
    `debug_nans`, they also record the layer."""
    if not locations_wanted():
        return layer._run(x, weights, state, is_repeated)
    with in_part(layer._name, layer._site, id(layer)):
        return layer._run(x, weights, state, is_repeated)


def run_with_backward(layer: Any, x: Any) -> tuple[Any, Any]:
    """(outputs, new state) of a layer, whose derivative is its `backward`."""

    def run(state: Any, rng: Any, inputs: Any, weights: Any) -> tuple[Any, Any]:
        return applied(layer, inputs, weights, state, rng)

    def run_forward(state: Any, rng: Any, inputs: Any, weights: Any) -> tuple[Any, Any]:
        outputs, new_state = run(state, rng, inputs, weights)
        residual = state, rng, inputs, outputs, weights, new_state
        return (outputs, new_state), residual

    def run_backward(residual: Any, grads: Any) -> tuple[Any, ...]:
        state, rng, inputs, outputs, weights, new_state = residual
        grad, _ = grads  # the state is not a trained result
        try:
            gradients = layer.backward(inputs, outputs, grad, weights, state, new_state, rng)
        except Exception as error:
            raise layer._error("backward", inputs, error, True) from None
        return None, None, *gradients

    differentiable = fastmath.custom_vjp(run, run_forward, run_backward)
    return differentiable(layer.state, layer._rng, x, layer.weights)


def run_whole(layer: Any, x: Any, n_shards: int) -> tuple[Any, Any]:
    """(outputs, new state) of a layer whose weights are divided among the devices."""
    part = layer.weights
    layer.weights, is_spread = unshard_in_pmap(part, n_shards)
    if layer.has_backward:
        outputs, layer.state = run_with_backward(layer, x)
    else:
        outputs = layer.forward(x)
    if is_spread:
        layer.weights = part
    return outputs, layer.state


def split(rng: Any, n: int) -> Any:
    """`n` keys from one; `n` times None for None."""
    if n == 0:
        return ()
    return (None,) * n if rng is None else fastmath.random.split(rng, n)


def checked_items(layer: Any, items: Any, what: str) -> Any:
    """The weights or states of the sublayers, checked to be one for each."""
    count = len(items) if isinstance(items, list | tuple) else None
    if count != len(layer._sublayers):
        number = f"({count})" if count is not None else f"(a single {type(items).__name__})"
        plural = "weights" if what == "weight" else what
        here = len(fastmath.tree_flatten(getattr(layer, plural)))
        nested_otherwise = count and here == len(fastmath.tree_flatten(items))
        way_out = (
            f"\n  fix: there are {here} leaves in both, nested otherwise: "
            f"fastmath.tree_unflatten(fastmath.tree_flatten(given), layer.{plural})[0]"
            if nested_otherwise
            else ""
        )
        raise noted(
            ValueError(
                f"Number of {what} elements {number} does not equal the number of sublayers "
                f"({len(layer._sublayers)}) in: {shortened(layer)}.{way_out}"
            )
        )
    return items


def text(layer: Any) -> str:
    """The text of a layer: its name, the numbers of its tensors, and its sublayers."""
    shown = layer._name
    if layer._n_in != 1:
        shown += f"_in{layer._n_in}"
    if layer._n_out != 1:
        shown += f"_out{layer._n_out}"
    inside = layer._sublayers_to_print
    inside = layer.sublayers if inside is None else inside
    if not inside:
        return shown
    lines = [line for item in inside for line in str(item).splitlines()]
    return "\n".join([f"{shown}[", *(f"  {line}" for line in lines), "]"])


def known_values(x: Any) -> Any:
    """The NumPy array of a backend's array; `None` during tracing."""
    if isinstance(x, Value):
        x = x.concrete()
    elif not isinstance(x, np.ndarray | np.generic | int | float | list | tuple):
        numpy = getattr(x, "numpy", None)  # a TensorFlow tensor; symbolic ones lack this method
        x = numpy() if callable(numpy) else None
    return None if x is None else np.asarray(x)


# Arguments that functools.partial binds by keyword are keyword-only with a default, so they are not
# tensors.
_REFUSED = (
    ("default arguments", lambda p: p.default is not p.empty),
    ("keyword arguments", lambda p: p.kind is p.VAR_KEYWORD),
    ("variable args", lambda p: p.kind is p.VAR_POSITIONAL),
    ("keyword-only arguments", lambda p: p.kind is p.KEYWORD_ONLY),
)


def number_of_arguments(name: str, f: Callable[..., Any]) -> int:
    """The number of arguments of a function, except keyword-only ones with a default. Raises an
    error unless all are plain and positional."""
    try:
        parameters = [
            p
            for p in inspect.signature(f).parameters.values()
            if p.kind is not p.KEYWORD_ONLY or p.default is p.empty
        ]
    except (TypeError, ValueError):
        raise noted(
            ValueError(f"{name}: the arguments of f are unknown\n  fix: wrap it: lambda x: f(x)")
        ) from None
    for what, is_refused in _REFUSED:
        refused = [p.name for p in parameters if is_refused(p)]
        if refused:
            raise noted(
                ValueError(
                    f"{name}: f has {what} ({', '.join(refused)}); each argument of f must be one "
                    "tensor of the data stack\n  fix: wrap it: lambda x: f(x, …)"
                )
            )
    return len(parameters)


def check_inputs(name: str, n_in: int, inputs: Any) -> None:
    """Raises an error if the number of inputs is not the number that the layer takes."""
    if not isinstance(inputs, list | tuple):
        raise TypeError(
            f"{name}: expected a tuple or list of {n_in} tensors; got a single "
            f"{type(inputs).__name__}"
        )
    if len(inputs) != n_in:
        raise ValueError(f"{name}: expected {n_in} inputs; got {len(inputs)}")
