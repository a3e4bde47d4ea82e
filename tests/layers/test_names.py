"""All names of Trax's modules of layers are there, with their parameters and defaults, and a
docstring.

`documented.json` has the signatures of Trax 1.4.1, written as those of `tests/names`.
"""

import importlib
import inspect
import json
import pathlib

import pytest
import signatures

from weft import layers as tl

DOCUMENTED = json.loads(pathlib.Path(__file__).with_name("documented.json").read_text())
ELSEWHERE = {("research.rel_attention", "DotProductAttention")}  # `tl` has the layer of that name
OTHER_DEFAULTS = {
    ("AtariConvInit", "dtype"): "None is the default float dtype",
    ("SummaryScalar", "aggregation_fun"): "None is the mean",
}
NAMES = [(module, name) for module, names in DOCUMENTED.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_there_with_its_parameters_and_a_docstring(module, name):
    value = getattr(importlib.import_module(f"weft.layers.{module}"), name)
    if (module, name) not in ELSEWHERE:
        assert module == "test_utils" or getattr(tl, name) is value
    wanted = DOCUMENTED[module][name]
    if wanted is None:
        return
    own = signatures.parameters(inspect.signature(value))
    documented = signatures.read(wanted)
    assert [p[:3] for p in own[: len(documented)]] == [p[:3] for p in documented]
    *_, changed = signatures.faults(documented, own)
    assert [p for p in changed if (name, p) not in OTHER_DEFAULTS] == []
    assert "\n" in inspect.getdoc(value), "says what it is, and its source"
    assert len(inspect.getdoc(value)) > 60


@pytest.mark.parametrize("module", DOCUMENTED)
def test_modules_are_names_and_hold_what_they_say(module):
    found = importlib.import_module(f"weft.layers.{module}")
    assert set(found.__all__) >= {n for n in DOCUMENTED[module] if not n.startswith("_")}
    if module.startswith("research."):
        return
    if module != "assert_shape":  # there, `tl.assert_shape` is the function
        assert getattr(tl, module) is found
    else:
        assert callable(tl.assert_shape)


def test_methods_of_layers_have_docstrings():
    for name, member in vars(tl.Layer).items():
        if not name.startswith("_"):
            assert inspect.getdoc(member), name
