"""Checkpoints of layers: gzipped pickles of a dictionary with flat lists of arrays.

`pickled_arrays.py` reads the pickles without running code from them. Checkpoints of training loops,
which are directories, are read too.
"""

import os
import pickle
from typing import Any

import ml_dtypes
import numpy as np

from ..checkpoints import read_metadata, restore
from ..fastmath import nested_map
from ..shapes import ShapeDtype, signature
from ..user_lines import noted
from .array_files import content, np_from_file, replaced
from .pickled_arrays import RefusedPickle, read
from .weight_trees import flatten_weights_and_state, unflatten_weights_and_state

COMPRESSION = 2  # higher levels take much longer, and hardly compress weights


def save(layer: Any, path: Any, weights_only: bool, input_signature: Any) -> None:
    """Writes the weights and the state of a layer: see `Layer.save_to_file`."""
    weights, state = flatten_weights_and_state(*_ordered((layer.weights, layer.state)))
    content: dict[str, Any] = {"flat_weights": [_on_host(w, path) for w in weights]}
    if not weights_only:
        content["flat_state"] = [_on_host(s, path) for s in state]
    if input_signature is not None:
        content["input_signature"] = nested_map(_plain, signature(input_signature))
    with replaced(path, COMPRESSION) as stream:
        pickle.dump(content, stream, protocol=pickle.HIGHEST_PROTOCOL)


def _on_host(leaf: Any, path: Any) -> Any:
    """An array as a NumPy array, so that the file is independent of the backend."""
    if leaf is None or isinstance(leaf, bool | int | float | str):
        return leaf
    array = np.asarray(leaf, order="C")
    if array.dtype.kind not in "biufc" and array.dtype.name not in dir(ml_dtypes):
        raise noted(
            TypeError(
                f"save_to_file: {os.fspath(path)} holds arrays of numbers; got "
                f"{type(leaf).__name__} of dtype {array.dtype}"
            )
        )
    return array


def _plain(sig: Any) -> Any:
    return sig.replace(shape=tuple(int(n) for n in sig.shape), dtype=np.dtype(sig.dtype))


def load(layer: Any, path: Any, weights_only: bool, input_signature: Any) -> tuple[Any, Any]:
    """Loads weights and state from a file: see `Layer.init_from_file`."""
    name = os.fspath(path)
    folder = _folder(name)
    dictionary = _dictionary(name) if folder is None else _of_loop(folder)
    sig = dictionary.get("input_signature") if input_signature is None else input_signature
    if sig is None:
        raise noted(
            ValueError(
                f"init_from_file: {name} has no input_signature, which the layer's weights depend "
                "on\n  fix: init_from_file(…, input_signature=…)"
            )
        )
    weights = dictionary["flat_weights"]
    if isinstance(weights, int):
        weights = np_from_file(_weights_file(name), weights)
    if not weights_only and "flat_state" not in dictionary:
        raise noted(
            ValueError(
                f"init_from_file: {name} was saved without state\n"
                "  fix: init_from_file(…, weights_only=True)"
            )
        )
    if weights_only:
        layer.init(sig)
    signatures = _ordered(layer.weights_and_state_signature(sig))
    arrays = weights, dictionary.get("flat_state")
    _check(name, layer, arrays, signatures, weights_only)
    weights, state = unflatten_weights_and_state(*arrays, signatures, weights_only)
    if not weights_only:
        layer.state = state
    layer.weights = weights
    return layer.weights, layer.state


def _ordered(tree: Any) -> Any:
    """The tree with sorted dict keys, as compiled functions return it. Before training, a layer's
    dicts may have another order."""
    if isinstance(tree, dict):
        return {key: _ordered(tree[key]) for key in sorted(tree)}
    if type(tree) in (tuple, list):
        return type(tree)(map(_ordered, tree))
    return tree


def _folder(name: str) -> str | None:
    """The directory of a training loop's checkpoint for a path. A path that ends in ".pkl.gz", as
    Trax's loop would name the file, means the directory without this suffix."""
    original, name = name, name if os.path.exists(name) else name.removesuffix(".pkl.gz")
    if not os.path.exists(name) and not os.path.exists(original):
        raise noted(
            FileNotFoundError(
                f"init_from_file: there is no file {original!r}\n"
                "  fix: a file of this machine; nothing is downloaded"
            )
        )
    return name if os.path.isdir(name) else None


def _of_loop(folder: str) -> dict[str, Any]:
    """The model in a training loop's checkpoint, in the form of a layer's file."""
    if not os.path.exists(os.path.join(folder, "tree.json")):
        is_run = os.path.exists(os.path.join(folder, "model", "tree.json"))
        fix = f"{os.path.join(folder, 'model')}" if is_run else "another path"
        raise noted(ValueError(f"init_from_file: {folder} is not a checkpoint\n  fix: {fix}"))
    tree, metadata = restore(folder), read_metadata(folder)
    if not isinstance(tree, dict) or not {"weights", "state"} <= tree.keys():
        raise noted(
            ValueError(
                f"init_from_file: {folder} is not a checkpoint of a training loop\n"
                "  fix: checkpoints.restore(…) reads it"
            )
        )
    weights, state = flatten_weights_and_state(*_ordered((tree["weights"], tree["state"])))
    inputs = metadata.get("inputs")
    model: dict[str, Any] = {"flat_weights": weights, "flat_state": state}
    if isinstance(inputs, list) and inputs:
        sigs = tuple(ShapeDtype(shape, np.dtype(dtype)) for shape, dtype in inputs)
        model["input_signature"] = sigs[0] if len(sigs) == 1 else sigs
    return model


def _dictionary(name: str) -> dict[str, Any]:
    """The content of the file. Raises an error if it is not a checkpoint."""
    try:
        checkpoint = read(content(name))
    except RefusedPickle as error:
        wrong = f"refused, since {error}; a checkpoint may hold only arrays and containers"
    except ValueError as error:
        if getattr(error, "__notes__", ()):  # the message already names the file
            raise
        wrong = f"the file is damaged: {error}"
    else:
        if isinstance(checkpoint, dict) and isinstance(checkpoint.get("flat_weights"), list | int):
            return checkpoint
        wrong = "not a checkpoint of a layer: it is not a dictionary with flat_weights"
    raise noted(ValueError(f"{name}: {wrong}"))


def _weights_file(name: str) -> str:
    """The path of the weights file, for a checkpoint with a separate one."""
    beside = name.removesuffix(".pkl.gz") + ".weights.npy.gz"
    if name.endswith(".pkl.gz") and os.path.exists(beside):
        return beside
    return name + ".npy"


def _check(name: str, layer: Any, arrays: Any, signatures: Any, weights_only: bool) -> None:
    """Raises an error unless the number and shapes of the file's arrays match the layer."""
    expected = flatten_weights_and_state(*signatures)
    both = zip(("weights", "state"), arrays, expected, strict=True)
    for what, have, want in list(both)[: 1 if weights_only else 2]:
        # the state differs in mode "predict"
        fix = "\n  fix: init_from_file(…, weights_only=True)" if what == "state" else ""
        if len(have) != len(want):
            raise noted(
                ValueError(
                    f"init_from_file: {name} has {len(have)} arrays of {what}, and the layer has "
                    f"{len(want)}: {layer.name}{fix}"
                )
            )
        for at, (array, sig) in enumerate(zip(have, want, strict=True)):
            if sig is not None and np.shape(array) != tuple(sig.shape):
                raise noted(
                    ValueError(
                        f"init_from_file: array {at} of {what} in {name} has shape "
                        f"{np.shape(array)}, and the layer's has {tuple(sig.shape)}: {layer.name}"
                        f"{fix}"
                    )
                )
