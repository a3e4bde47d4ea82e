"""Layers in other modes: in_mode makes a copy (twin) of a layer in another mode with the same
weights, share_weights updates the weights of the twin, and modes_of returns the modes of a layer.
They use twin_of, which makes a twin without weights, renested, which changes the nesting of
weights, and layer_pairs, which pairs corresponding layers.

A twin is made by the layer's recipe (`recipes.py`), because the mode may change how a layer is
built: in mode "predict" the encoder of `models.Transformer` is in a `Cache`, and `ShiftRight` does
nothing.
"""

import copy
import difflib
import random as python_random
from typing import Any

from .. import fastmath, option_checks
from ..user_lines import noted
from .base import Layer
from .layer_calls import tree
from .recipes import Recipe
from .serial import checked_layer

__all__ = ["in_mode", "share_weights"]


def in_mode(layer: Layer, mode: str, input_signature: Any = None) -> Layer:
    """Makes a copy of a layer in another mode, with the same weights.

    The copy (twin) is a separate layer with the arrays that `layer` has now. After further
    training, `share_weights` updates it. `in_mode` rebuilds each layer that has a mode, with the
    new mode. Decorate a function with `takes_mode` if it builds different layers in different
    modes, or parts in another mode.

    Args:
      layer: the layer.
      mode: "train", "eval", "predict" or "viz".
      input_signature: a `ShapeDtype` or a tuple of them, by `n_in`, for the state of mode
        "predict"; by default, the signature with which `layer` was initialized.
    Returns: the twin; `layer` itself if it is in the mode, or has none. The twin is initialized if
      `layer` is. In mode "predict" its state is the beginning of a sequence.
    Raises: ValueError: the mode is unknown, or the layer does not support it; or the layer's inputs
      are unknown.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Dense(3), tl.Dropout(0.5))
      >>> _ = layer.init(np.ones((2, 4)))
      >>> twin = tl.in_mode(layer, "eval")
      >>> twin.weights[0][0] is layer.weights[0][0]
      True
    """
    checked_layer("in_mode", "layer", layer)
    option_checks.checked_mode("in_mode", mode)
    modes = modes_of(layer)
    # Parts of a layer in mode "predict" are in other modes, because encoders see the whole
    # sequence.
    if modes <= {mode} or (mode == "predict" and mode in modes):
        return layer
    twin = twin_of(layer, mode)
    if layer._init_signature is None and not fastmath.tree_leaves((layer.weights, layer.state)):
        return twin
    if "predict" not in {mode, *modes} and _nesting(twin) == _nesting(layer):
        twin.weights, twin.state = layer.weights, layer.state
        twin._init_signature = layer._init_signature
        return twin
    signature = layer._init_signature if input_signature is None else input_signature
    if signature is None:
        raise noted(
            ValueError(
                f"in_mode: {layer.name} has weights, but was not initialized, so that its inputs "
                "are not known\n  fix: input_signature=weft.shapes.ShapeDtype((batch, length), …)"
            )
        )
    twin.init(signature, rng=layer.rng)
    twin.rng = None
    share_weights(layer, twin)
    return twin


def twin_of(layer: Layer, mode: str) -> Layer:
    """A new uninitialized layer like this one, in a mode.

    Args:
      layer: the layer.
      mode: the mode of the new layer. A layer in mode "predict" is not changed for mode "predict",
        including its parts in other modes.
    Returns: the new layer.
    Raises: ValueError: the layer does not support the mode.
    Example:
      >>> from weft import layers as tl
      >>> twin_of(tl.Serial(tl.Dense(3), tl.Dropout(0.5)), "eval")
      Serial[
        Dense_3
        Dropout
      ]
    """
    is_in_it = mode == "predict" and mode in modes_of(layer)
    generator = python_random.getstate()
    try:
        return _made_again(layer, None if is_in_it else mode, {})
    finally:
        python_random.setstate(generator)  # making layers draws seeds for their keys


def share_weights(layer: Layer, twin: Layer) -> None:
    """Updates the weights of a layer's twin to those of the layer.

    State that has the same form in both, such as the running mean of `BatchNorm`, is updated too;
    the history of a sequence in mode "predict" is not.

    Args:
      layer: the layer.
      twin: a layer from `in_mode(layer, …)`, or any layer with weights of the same shapes in the
        same order.
    Raises: ValueError: the weights of the twin have other shapes.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Dense(1), tl.Dropout(0.5))
      >>> _ = layer.init(np.ones((2, 1)))
      >>> twin = tl.in_mode(layer, "eval")
      >>> layer.weights = ((np.full((1, 1), 2.0), np.zeros(1)), ())
      >>> tl.share_weights(layer, twin)
      >>> twin(np.ones((1, 1)))
      Array([[2.]], dtype=float32)
    """
    if twin is layer:
        return
    if _nesting(twin) == _nesting(layer):
        twin.weights = layer.weights
    else:
        twin.weights = renested(layer.weights, twin.weights)
    for theirs, own in layer_pairs(layer, twin):
        if _form(theirs._state) == _form(own._state):
            own._state = theirs._state


def modes_of(layer: Layer) -> set[str]:
    """The modes of the parts of a layer.

    Args:
      layer: a layer.
    Returns: a set of modes; the inside of a part that was made with a mode is not examined.
    Example:
      >>> from weft import layers as tl
      >>> modes_of(tl.Serial(tl.Dense(3), tl.Dropout(0.5)))
      {'train'}
    """
    mode = _own_mode(layer)
    if mode is not None:
        return {mode}
    return set().union(*[modes_of(inner) for inner in layer._sublayers])


def renested(weights: Any, like: Any) -> Any:
    """Changes the nesting of weights to the nesting of others.

    Args:
      weights: weights of a layer.
      like: weights, or shapes and dtypes, of the same layer in another mode, where additional
        layers may surround its sublayers.
    Returns: the arrays of `weights`, nested as `like`.
    Raises: ValueError: the numbers differ.
    Example:
      >>> renested((1, 2), ((0,), 0))
      ((1,), 2)
    """
    flat, needed = fastmath.tree_flatten(weights), len(fastmath.tree_flatten(like))
    if len(flat) != needed:
        raise noted(
            ValueError(
                f"share_weights: the twin has {needed} arrays of weights, and the layer {len(flat)}"
                "\n  fix: a layer of the same options"
            )
        )
    return fastmath.tree_unflatten(flat, like)[0]


def layer_pairs(layer: Layer, twin: Layer) -> list[tuple[Layer, Layer]]:
    """Pairs of corresponding layers without sublayers, in a layer and its twin.

    Args:
      layer: a layer.
      twin: its twin in another mode.
    Returns: a list of pairs; layers without a counterpart are omitted.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Serial(tl.Dense(3), tl.Dropout(0.5))
      >>> layer_pairs(layer, tl.in_mode(layer, "eval"))
      [(Dense_3, Dense_3), (Dropout, Dropout)]
    """
    theirs, own = ([one for one in tree(top) if not one._sublayers] for top in (layer, twin))
    kinds, own_kinds = [*map(type, theirs)], [*map(type, own)]
    if kinds == own_kinds:
        return [*zip(theirs, own, strict=True)]
    blocks = difflib.SequenceMatcher(None, kinds, own_kinds, False).get_matching_blocks()
    return [(theirs[a + i], own[b + i]) for a, b, n in blocks for i in range(n)]


def _own_mode(layer: Layer) -> str | None:
    """The mode with which a layer was made."""
    mode = layer.__dict__["_recipe"].mode()
    return mode if isinstance(mode, str) and mode in option_checks.MODES else None


def _made_again(layer: Layer, mode: str | None, made: dict[int, Layer]) -> Layer:
    """Rebuilds a layer in a mode, once for a layer that occurs several times."""
    if id(layer) not in made:
        new = made[id(layer)] = _new(layer, mode, made)
        new.__dict__["_rng_seed_int"] = layer._rng_seed_int
    return made[id(layer)]


def _new(layer: Layer, mode: str | None, made: dict[int, Layer]) -> Layer:
    recipe: Recipe = layer.__dict__["_recipe"]
    has_mode = _own_mode(layer) is not None
    arguments = recipe.arguments()
    if has_mode or (arguments and _all_in(layer._sublayers, _layers_in(dict(arguments)))):
        new = recipe.again(mode if has_mode else None, lambda value: _replaced(value, mode, made))
        others = {id(one) for one in made.values()}
        for inner in tree(new):  # errors then name the line where the user made the layer
            if id(inner) not in others:
                inner.__dict__["_site"] = layer._site
        return new  # type: ignore[no-any-return]
    fixed = vars(layer).get("_mode")
    if mode is not None and fixed in option_checks.MODES and fixed != mode:
        raise noted(
            ValueError(
                f"in_mode: {layer.name} is in mode {fixed!r}, and its class has no parameter mode\n"
                f"  fix: class {type(layer).__name__} with __init__(self, …, mode={fixed!r})"
            )
        )
    new = copy.copy(layer)
    for name, value in vars(layer).items():  # `_sublayers`, and other attributes with layers
        new.__dict__[name] = value if name == "_recipe" else _replaced(value, mode, made)
    return new


def _layers_in(value: Any) -> list[Layer]:
    """The layers in nested lists, tuples and dicts."""
    if isinstance(value, Layer):
        return [value]
    if isinstance(value, dict):
        value = [*value.values()]
    if type(value) in (list, tuple):
        return [layer for item in value for layer in _layers_in(item)]
    return []


def _all_in(layers: Any, others: list[Layer]) -> bool:
    """True if there are layers, all of which are in the collection."""
    ids = set(map(id, others))
    return bool(layers) and all(id(layer) in ids for layer in layers)


def _replaced(value: Any, mode: str | None, made: dict[int, Layer]) -> Any:
    """Nested values with rebuilt layers; the same object if there are none."""
    if isinstance(value, Layer):
        return _made_again(value, mode, made)
    if not _layers_in(value):
        return value
    if isinstance(value, dict):
        return {key: _replaced(item, mode, made) for key, item in value.items()}
    return type(value)([_replaced(item, mode, made) for item in value])


def _nesting(layer: Layer) -> Any:
    """The nesting of layers in a layer."""
    return tuple([_nesting(inner) for inner in layer._sublayers])


def _form(state: Any) -> Any:
    """The nesting of a state, with the shape and dtype of each array."""
    return fastmath.nested_map(
        lambda x: (getattr(x, "shape", ()), str(getattr(x, "dtype", ""))), state
    )
