"""The names that a file may use are weft's own, and all of them."""

import inspect

import pytest

from weft import data, layers as tl
from weft.cli import registries
from weft.cli.places import ConfigError, Places, near
from weft.cli.registries import LAYERS, METRICS, MODELS, OPTIMIZERS, SCHEDULES, SOURCES, STAGES
from weft.optimizers import Optimizer

NO_STAGES = """
    Arrays CountAndSkip Examples Flow Inputs Map Parallel RandomFlow Serial Source Stage Stream
    UniformlySeek BertDoubleSentenceInputs BertSingleSentenceInputs
""".split()  # noqa: SIM905
"""Of values that TOML does not have, or no stages."""

PLACES = Places("a.toml", {("model", "name"): 3})


@pytest.mark.parametrize("name", registries.__all__)
def test_every_name_is_there(name):
    registry = getattr(registries, name)
    if name == "Registry":
        return
    assert registry.names
    for one in registry.names:
        assert one in registry
        assert callable(registry.function(PLACES, ("model", "name"), one))


def test_every_source_and_stage_of_data_is_known_or_left_out_on_purpose():
    left_out = {name for name in data.__all__ if "stays out" in (getattr(data, name).__doc__ or "")}
    capital = {n for n in data.__all__ if n[0].isupper()} - {*NO_STAGES} - left_out
    unknown = {n for n in capital if n not in SOURCES and n not in STAGES}
    streams_of_tasks = {n for n in unknown if n.startswith(("Bert", "T5", "Create", "Corpus"))}
    assert unknown == streams_of_tasks


def test_optimizers_are_optimizers_and_layers_make_layers():
    known = OPTIMIZERS.names
    assert all(issubclass(OPTIMIZERS.function(PLACES, (), n), Optimizer) for n in known)
    assert not {"Layer", "Fn", "EMPTY_STATE", "LayerError"} & {*LAYERS.names}
    assert {"Dense", "GRU", "Serial", "Relu"} <= {*LAYERS.names} & {*MODELS.names}
    assert all(inspect.signature(METRICS.function(PLACES, (), n)) for n in METRICS.names)
    assert "checked_rate" not in SCHEDULES


@pytest.mark.parametrize("name", ["os", "__class__", "Layer", "numpy.ones", "", 3, None, ["Dense"]])
def test_other_names_are_errors(name):
    with pytest.raises(ConfigError, match=r"^a.toml:3: \[model\] name: there is no layer "):
        LAYERS.function(PLACES, ("model", "name"), name)


def test_near_names():
    assert near("dens", ["Dense", "Dropout"]) == "did you mean Dense?"
    assert near("x", ["Dense", "Dropout"]) == "one of Dense, Dropout"
    assert near("x", ["b1"]) == "b1"
    assert near("x", []) == "leave it out"
    assert near("x", "abcdefg", listed=2) == "one of a, b, …"


def test_a_layer_is_the_one_of_weft_layers():
    assert LAYERS.function(PLACES, (), "Dense") is tl.Dense
