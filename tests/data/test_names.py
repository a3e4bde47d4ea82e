"""All names of Trax's modules of data are there, with their parameters and defaults, and a
docstring.

`documented.json` has the signatures of Trax 1.4.1, written as those of `tests/names`. A parameter
that a configuration by gin had to fill is a required one there, or has the default None behind
parameters with defaults.
"""

import importlib
import inspect
import json
import pathlib

import pytest
import signatures

from weft.data import left_out

DOCUMENTED = json.loads(pathlib.Path(__file__).with_name("documented.json").read_text())
NAMES = [(module, name) for module, names in DOCUMENTED.items() for name in names]

# Documented, and not in weft: code for TensorFlow 1 that no longer ran.
ABSENT = {("text_encoder", "ImageEncoder")}


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_is_there_with_its_parameters_and_a_docstring(module, name):
    namespace = importlib.import_module(f"weft.data.{module}")
    if (module, name) in ABSENT:
        assert not hasattr(namespace, name)
        return
    value = getattr(namespace, name)
    assert name in namespace.__all__
    entry = DOCUMENTED[module][name]
    if entry is None:
        return
    assert len(inspect.getdoc(value)) > 40
    if name in left_out.__all__:
        return
    for attribute, wanted in entry.items():
        member = value if attribute == "" else inspect.getattr_static(value, attribute)
        if wanted is None:
            assert isinstance(member, property)
            continue
        member = getattr(member, "__func__", member)
        own = signatures.parameters(inspect.signature(member))
        documented = signatures.read(wanted)
        own = [p for p in own if p[0] not in ("self", "cls")]
        documented = [p for p in documented if p[0] not in ("self", "cls")]
        assert [p[:2] for p in own[: len(documented)]] == [p[:2] for p in documented]
        *_, changed = signatures.faults(documented, own)
        assert changed == []
