"""The names that a configuration file may use: a Registry for each kind, MODELS, LAYERS,
INITIALIZERS, METRICS (including losses), OPTIMIZERS, SCHEDULES, SOURCES and STAGES. Names are
looked up among weft's public names only; nothing else is imported or evaluated.
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .. import data, layers as tl, models, optimizers
from ..layers import metrics as metric_layers
from ..supervised import lr_schedules
from . import datasets
from .places import Places, near
from .toml_text import Path

__all__ = [
    "INITIALIZERS",
    "LAYERS",
    "METRICS",
    "MODELS",
    "OPTIMIZERS",
    "SCHEDULES",
    "SOURCES",
    "STAGES",
    "Registry",
]


class Registry:
    """Names, and the modules that define them.

    Args:
      kind: the kind of named object, such as `model`.
      *modules: pairs of a module and its names.
    """

    def __init__(self, kind: str, *modules: tuple[ModuleType, Sequence[str]]) -> None:
        self.kind = kind
        self._homes = {name: module for module, names in modules for name in names}

    @property
    def names(self) -> list[str]:
        """The names in alphabetical order."""
        return sorted(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def function(self, places: Places, path: Path, name: Any) -> Callable[..., Any]:
        """The class or function with a name.

        Args:
          places: for the error.
          path: the path of the name.
          name: the name.
        Raises: ConfigError: the name is unknown.
        """
        if not isinstance(name, str) or name not in self._homes:
            raise places.error(
                path, f"there is no {self.kind} {name!r}", near(name, self.names, listed=40)
            )
        result: Callable[..., Any] = getattr(self._homes[name], name)
        return result


def _words(text: str) -> list[str]:
    """The words of a multi-line text."""
    return text.split()


def _classes(module: ModuleType, without: str = "") -> list[str]:
    """The public names of a module that begin with a capital letter, except constants."""
    names = [n for n in module.__all__ if n[0].isupper() and "_" not in n]
    return [n for n in names if n not in without.split()]


_NO_LAYERS = """
    Accelerate AssertFunction EfficientAttentionBase Fn Initializer Layer LayerError PureLayer
    ReversibleLayer SummaryRow
"""
_LAYERS = [n for n in _classes(tl, _NO_LAYERS) if not n.endswith(("Initializer", "Init"))]

MODELS = Registry("model", (tl, _LAYERS), (models, _classes(models)))
LAYERS = Registry("layer", (tl, _LAYERS))
INITIALIZERS = Registry("initializer", (tl, [n for n in _classes(tl) if n.endswith("Initializer")]))
METRICS = Registry("loss or metric", (metric_layers, _classes(metric_layers)))
OPTIMIZERS = Registry("optimizer", (optimizers, _words("Adafactor Adam Momentum RMSProp SGD SM3")))
SCHEDULES = Registry(
    "schedule", (lr_schedules, [n for n in lr_schedules.__all__ if n != "checked_rate"])
)
SOURCES = Registry(
    "source of data",
    (
        data,
        _words("""
        CSV JSONLines Lines TFDS Windows addition_inputs random_inputs sequence_copy_inputs
        simple_sequence_copy_inputs sine_inputs
        """),
    ),
    (datasets, datasets.__all__),
)
STAGES = Registry(
    "stage of data",
    (
        data,
        _words("""
        AddLossWeights AppendValue Batch BucketByLength CastTo ConcatenateToLMInput ConvertToUnicode
        CreateBertInputs Dup FilterByLength FilterEmptyExamples Log MLM PadToLength Prefetch
        PrefixLM SentencePieceTokenize Shuffle Tokenize TruncateToLength UnBatch
        """),
    ),
)
