"""One name, one meaning: no function or class of the engine (rungs 0 to 6) is defined twice."""

import ast
import collections

from tree import HEIGHT, modules, name_of, parsed, unit

ENGINE = range(HEIGHT["transforms"] + 1)

# A name: the modules that define it, and why they mean the same thing by it.
_FORWARDS = "the public function forwards to the runtime's"
_TRACES = "the public function, and the interpretation that it is"
SAME = {
    "block_until_ready": ({"runtime.buffer", "transforms.devices.device_put"}, _FORWARDS),
    "local_devices": ({"runtime.client", "transforms.devices.devices"}, _FORWARDS),
    "real_of": (
        {"dtypes", "primitives.linalg.matrix_operations"},
        "the real part: of a dtype, and of values",
    ),
    "flag": ({"option_checks", "switch_values"}, "True or False, as an option or as a switch"),
    "jvp": ({"interpreters.jvp", "transforms.derivatives"}, _TRACES),
    "linearize": ({"interpreters.linearize", "transforms.derivatives"}, _TRACES),
}


def definitions() -> dict[str, set[str]]:
    """The modules of the engine that define each name of a function or class, private ones too."""
    found = collections.defaultdict(set)
    for path in modules():
        module = name_of(path)
        if HEIGHT.get(unit(module)) not in ENGINE:
            continue
        for node in parsed(path).body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if named and node.name != "_":  # a rule of a primitive
                found[node.name].add(module)
    return found


def test_no_name_has_two_meanings():
    twice = {name: where for name, where in definitions().items() if len(where) > 1}
    allowed = {name: where for name, (where, _) in SAME.items()}
    assert {n: sorted(w) for n, w in twice.items() if allowed.get(n) != w} == {}


def test_every_reason_is_needed():
    found = definitions()
    assert [name for name, (where, _) in SAME.items() if found[name] != where] == []


def test_the_reader_sees_the_engine():
    assert definitions()["Jaxpr"] == {"core.jaxpr"}
