"""Tables of TOML as arguments: layers, factories, initializers, and values of each type."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from weft import layers as tl, optimizers
from weft.cli import parameters
from weft.cli.places import ConfigError, Places
from weft.cli.registries import LAYERS, MODELS, OPTIMIZERS
from weft.cli.toml_text import lines_of
from weft.layers.base import Layer
from weft.tree_util import tree_map


def made(text, registry=MODELS):
    places = Places("a.toml", lines_of(text))
    return parameters.named_object(
        places, ("model",), tomllib.loads(text)["model"], registry, "MLP"
    )


def test_a_model_of_nested_layers():
    model = made("""
[model]
name = "Serial"
sublayers = [
  { name = "Residual", layers = ["LayerNorm", { name = "Dense", n_units = 4 }, "Relu"] },
  "Flatten",
  { name = "Dense", n_units = 2, use_bias = false },
]""")
    own = tl.Serial(
        tl.Residual(tl.LayerNorm(), tl.Dense(4), tl.Relu()),
        tl.Flatten(),
        tl.Dense(2, use_bias=False),
    )
    assert str(model) == str(own)
    x = np.ones((3, 4), np.float32)
    assert [w.shape for w in _leaves(model, x)] == [w.shape for w in _leaves(own, x)]


def _leaves(model, x):
    model.init(x)
    return tl.flatten_weights_and_state(*model.weights_and_state_signature(x)[:2])[0]


def test_factories_and_initializers():
    model = made(
        """
[model]
name = "Serial"
sublayers = [
  { name = "Dense", n_units = 3, kernel_initializer = "RandomNormalInitializer",
    bias_initializer = { name = "RandomUniformInitializer", lim = 2.0 } } ]""".replace(
            ",\n    bias", ", bias"
        )
    )
    model.init(np.ones((1, 4), np.float32))
    assert np.abs(model.weights[0][1]).max() > 0
    leaky = made(
        """model = { name = "MLP", layer_widths = [1, 1],
      activation_fn = { name = "LeakyRelu", a = 0.5 } }""".replace(",\n", ",")
    )
    x = np.array([[-2.0]], np.float32)
    leaky.init(x)
    leaky.weights = tree_map(lambda w: w * 0 + (w.ndim == 2), leaky.weights)  # x, then a bias of 0
    assert float(leaky(x)[0, 0]) == -1.0


def test_a_cell_is_named_where_a_model_takes_one():
    model = made('model = { name = "RNNLM", vocab_size = 9, d_model = 4, rnn_cell = "GRUCell", '
                 "rnn_cell_d_state_multiplier = 1 }")  # fmt: skip
    model.init(np.ones((2, 5), np.int32))
    assert model(np.ones((2, 5), np.int32)).shape == (2, 5, 9)


def test_an_enumeration_is_named():
    text = 'model = { name = "SM3", momentum_type = "nesterov" }'
    assert isinstance(made(text, OPTIMIZERS), optimizers.SM3)
    with pytest.raises(ConfigError, match='expected "EMA" or "HEAVY_BALL" or "NESTEROV"'):
        made('model = { name = "SM3", momentum_type = "fast" }', OPTIMIZERS)


@pytest.mark.parametrize(
    ("annotation", "value", "result"),
    [
        (int, 3, 3),
        (float, 3, 3.0),
        (float, 3.5, 3.5),
        (bool, True, True),
        (str, "a", "a"),
        (int | None, "none", None),
        (str | None, "none", "none"),
        (int | str | None, "mult", "mult"),
        (int | Sequence[int], [1, 2], [1, 2]),
        (Sequence[float], [1, 2], [1.0, 2.0]),
        (tuple[int, int], [1, 2], (1, 2)),
        (tuple[int, ...], [1], (1,)),
        (Mapping[int, int], {"0": 5}, {0: 5}),
        (Mapping[str | tuple[str, ...], Any], {"x, y": 1, "z": 2}, {("x", "y"): 1, "z": 2}),
        (Any, [1], [1]),
        (Callable[[], Layer], "Relu", tl.Relu),
    ],
)  # fmt: skip
def test_values_become_those_of_the_annotation(annotation, value, result):
    converted = parameters.converted(Places("a", {}), ("t", "k"), annotation, value)
    assert converted == result
    assert type(converted) is type(result)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 3.0, "a whole number"),
        (int, True, "a whole number"),
        (float, True, "a number"),
        (str, 1, "a string"),
        (bool, 1, "true or false"),
        (int | None, "non", 'a whole number or "none"'),
        (Sequence[str], "a", "a list of strings"),
        (tuple[int, int], [1], "a list of whole numbers"),
        (Mapping[int, int], {"a": 5}, "a table"),
        (Mapping[str, int], 3, "a table"),
        (int | Sequence[int], {}, "a whole number or a list of whole numbers"),
    ],
)
def test_values_of_other_types_are_errors(annotation, value, expected):
    with pytest.raises(ConfigError) as caught:
        parameters.converted(Places("a", {}), ("t", "k"), annotation, value)
    assert f"[t] k: expected {expected}; got " in str(caught.value)
    assert "\n  fix: " in str(caught.value)


def test_the_error_of_a_layer_inside_is_at_its_line():
    with pytest.raises(ConfigError) as caught:
        made("""[model]
name = "Serial"
sublayers = [
  "Relu",
  { name = "Dense", n_units = 0 },
]""")
    assert str(caught.value).startswith(
        "a.toml:5: [model] sublayers[1].n_units: Dense: n_units must be at least 1; got 0"
    )


def test_a_list_where_layers_are_wanted():
    with pytest.raises(ConfigError, match="expected a list of layers; got 3"):
        made('model = { name = "Serial", sublayers = 3 }')
    with pytest.raises(
        ConfigError, match="expected the name of a layer, or a table with it; got 3"
    ):
        made('model = { name = "Serial", sublayers = [3] }')


def test_the_meaning_of_a_missing_parameter_is_its_docstrings():
    with pytest.raises(ConfigError, match=r"Dense needs n_units: \w+.*\n  fix: n_units = …"):
        made('model = { name = "Dense" }', LAYERS)
