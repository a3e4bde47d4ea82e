"""bert_arrays reads the weights of a BERT from a file in one of the public formats.

A file is a TensorFlow checkpoint, with the names of the original release, or a safetensors file,
with the names of Hugging Face. Nothing is downloaded, and no code from a file is run.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as onp

from ... import option_checks
from ...option_checks import optional
from ...user_lines import noted

__all__ = ["bert_arrays"]

Path = str | os.PathLike[str]


def bert_arrays(name: str, path: Path, n_heads: int) -> list[onp.ndarray]:
    """The arrays of a file as the flat weights of a `BERT` without a head.

    Args:
      name: the calling function, for errors.
      path: as for `bert.load_bert_weights`.
      n_heads: the number of heads.
    Returns: arrays of float32, in the order of the model's weights.
    Raises: as `bert.load_bert_weights`.
    """
    arrays = _read(name, path)

    def get(key: str, *shape: int | None) -> onp.ndarray:
        array = arrays.get(key)
        fits = array is not None and array.ndim == len(shape)
        if array is None or not (
            fits and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
        ):
            expected = ", ".join("any" if n is None else str(n) for n in shape)
            got = "nothing" if array is None else f"shape {array.shape}"
            raise noted(
                ValueError(
                    f"{name}: expected bert/{key} of shape ({expected}) in {os.fspath(path)}; got "
                    f"{got}\n  fix: a BERT file in either format"
                )
            )
        return onp.asarray(array, onp.float32)

    def norm(key: str) -> list[onp.ndarray]:
        return [get(f"{key}/LayerNorm/gamma", d), get(f"{key}/LayerNorm/beta", d)]

    def dense(key: str, n_in: int | None, n_out: int | None) -> list[onp.ndarray]:
        return [get(f"{key}/kernel", n_in, n_out), get(f"{key}/bias", n_out)]

    def block(key: str) -> list[onp.ndarray]:
        heads = [dense(f"{key}/attention/self/{x}", d, d) for x in ("query", "key", "value")]
        w, b = dense(f"{key}/attention/output/dense", d, d)
        hidden = dense(f"{key}/intermediate/dense", d, None)
        return [
            *[onp.swapaxes(kernel.reshape(d, n_heads, width), 0, 1).copy() for kernel, _ in heads],
            w.reshape(n_heads, width, d),
            *[bias.reshape(n_heads, width) for _, bias in heads],
            b,
            *norm(f"{key}/attention/output"),
            *hidden,
            *dense(f"{key}/output/dense", len(hidden[1]), d),
            *norm(f"{key}/output"),
        ]

    words = get("embeddings/word_embeddings", None, None)
    d = words.shape[1]
    width = option_checks.divided(name, "d_model (of the file)", d, "n_heads", n_heads)
    return [
        words,
        get("embeddings/token_type_embeddings", None, d),
        get("embeddings/position_embeddings", None, d),
        *norm("embeddings"),
        *[array for i in range(_n_layers(arrays)) for array in block(f"encoder/layer_{i}")],
        *dense("pooler/dense", d, d),
    ]


def _read(name: str, path: Path) -> dict[str, onp.ndarray]:
    """The arrays of a file, by the names of the original release without the prefix "bert/"."""
    file = os.fspath(path)
    if file.endswith(".safetensors"):
        library = optional("safetensors.numpy", f"{name}: a safetensors file", "safetensors")
        _check_exists(name, file, file)
        return dict(_original(key, array) for key, array in library.load_file(file).items())
    _check_exists(name, file, f"{file}.index")
    tensorflow = optional("tensorflow", f"{name}: a TensorFlow checkpoint", "tensorflow")
    reader = tensorflow.train.load_checkpoint(file)
    return {
        key.removeprefix("bert/"): reader.get_tensor(key)
        for key in reader.get_variable_to_shape_map()
        if key.startswith("bert/") and not key.endswith(("/adam_m", "/adam_v"))
    }


def _check_exists(name: str, path: str, file: str) -> None:
    if not os.path.exists(file):
        raise noted(
            FileNotFoundError(
                f"{name}: there is no file {file}\n  fix: the path of a .safetensors file, or the "
                f"prefix of a TensorFlow checkpoint; got {path!r}. Nothing is downloaded"
            )
        )


def _original(key: str, array: onp.ndarray) -> tuple[str, onp.ndarray]:
    """Converts a Hugging Face name and its array to the original release's form."""
    key = re.sub(r"\.layer\.(\d+)\.", r".layer_\1.", key.removeprefix("bert.")).replace(".", "/")
    part, _, last = key.rpartition("/")
    if part.endswith("LayerNorm"):
        return f"{part}/{ {'weight': 'gamma', 'bias': 'beta'}.get(last, last) }", array
    if last == "weight":
        if part.startswith("embeddings/"):
            return part, array
        return f"{part}/kernel", array.T
    return key, array


def _n_layers(arrays: Mapping[str, Any]) -> int:
    """The number of blocks in a file."""
    matches = [re.match(r"encoder/layer_(\d+)/", key) for key in arrays]
    return max([int(match[1]) + 1 for match in matches if match], default=0)
