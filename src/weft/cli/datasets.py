"""Data sets that need no download: Digits, scikit-learn's images of digits; StandardLibrary,
Python's source code."""

import pathlib
import sysconfig

import numpy as np

from .. import option_checks
from ..data import Arrays, Windows
from ..data.sources import Source
from ..option_checks import optional
from ..user_lines import noted

__all__ = ["Digits", "StandardLibrary"]

PARTS = ("train", "eval")

HELD_OUT = ("heapq.py", "json/decoder.py", "statistics.py", "textwrap.py", "wave.py")
"""The modules of the standard library for evaluation."""

FOLDERS = ("", "collections", "email", "http", "importlib", "json", "logging", "unittest", "urllib")
"""The folders of the standard library for training."""

N_EVAL_DIGITS = 360
"""The number of images for evaluation. There are 1797 images, shuffled in a fixed order."""


def Digits(
    part: str = "train", shuffle: bool = True, epochs: int | None = 1, seed: int | None = None
) -> Source:
    """A source of scikit-learn's handwritten digits.

    Args:
      part: "train" for 1437 of the 1797 images, "eval" for the others.
      shuffle: whether each pass has its own random order.
      epochs: the number of passes until the stream ends; None for an endless stream.
      seed: the seed of the order; None draws one from NumPy's global generator for each stream.
    Returns: a source of pairs: an image, float32 [8, 8, 1] from 0 to 1, and its digit, int32.
    Raises: ImportError: scikit-learn is not installed. ValueError: an invalid part.
    Example::

        batches = data.Serial(Digits(seed=0), data.Batch(64), data.AddLossWeights())()
    """
    option_checks.choice("Digits", "part", part, PARTS)
    images, digits = optional("sklearn.datasets", "Digits", "scikit-learn").load_digits(
        return_X_y=True
    )
    order = np.random.default_rng(0).permutation(len(digits))
    rows = order[N_EVAL_DIGITS:] if part == "train" else order[:N_EVAL_DIGITS]
    images = images.reshape(-1, 8, 8, 1).astype(np.float32) / 16
    return Arrays(
        images[rows], digits[rows].astype(np.int32), shuffle=shuffle, epochs=epochs, seed=seed
    )


def StandardLibrary(
    length: int,
    part: str = "train",
    shuffle: bool = True,
    epochs: int | None = 1,
    seed: int | None = None,
) -> Source:
    """A source of windows of the source code of Python's standard library, as bytes.

    Args:
      length: the length of windows.
      part: "train", or "eval" for five held-out modules.
      shuffle: whether windows are at random positions.
      epochs: the number of passes until the stream ends; None for an endless stream.
      seed: the seed of the positions; None draws one from NumPy's global generator for each stream.
    Returns: a source of pairs (window, window) of int32 [length], as from `data.Windows`.
    Raises: TypeError, ValueError: an option is invalid. FileNotFoundError: this Python has no
      source code.
    Example:
      >>> window, targets = next(StandardLibrary(16, seed=0)())
      >>> window.shape, window.dtype
      ((16,), dtype('int32'))
    """
    option_checks.choice("StandardLibrary", "part", part, PARTS)
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    held_out = [path for path in (folder / name for name in HELD_OUT) if path.is_file()]
    files = held_out
    if part == "train":
        files = [p for name in FOLDERS for p in sorted((folder / name).glob("*.py"))]
        files = [path for path in files if path not in held_out]
    if not files:
        raise noted(
            FileNotFoundError(
                f"StandardLibrary: there are no modules in {folder}\n"
                '  fix: { name = "Windows", text = "texts/*.txt" } for a text of your own'
            )
        )
    return Windows(files, length, shuffle=shuffle, epochs=epochs, seed=seed)
