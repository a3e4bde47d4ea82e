"""Primitives × rules: every hole has a written reason (`rule_holes.py`). `-s` prints the matrix."""

import ast
import importlib
import pkgutil
import re
import sys

import pytest
from rule_holes import HOLES, reasons
from tree import HEIGHT, SOURCE, modules, name_of, unit

import weft
from weft.core.primitive import RULES, HigherOrder, Primitive, registry
from weft.core.program_inside import ProgramInside

# Higher-order primitives have other rules in the places of `evaluate` and `jvp`, and rules by which
# passes over programs go through them: see `ProgramInside`.
PASSES = (
    "depends",
    "inner_runs",
    "partial_eval",
    "vary",
    "keep_uniform",
    "live_equation",
    "follow_keys",
)
HIGHER_ORDER_RULES = (
    "type", "execute", "lower", "linearize", "pushforward", "transpose", "batch", *PASSES
)  # fmt: skip
NEVER_MISSING = ("type", "lower", "execute", "linearize", "pushforward")


def needs_another_package(name: str) -> bool:
    """True for modules that import TensorFlow, which takes seconds, or einops; neither may be
    there. They have no primitives."""
    return name.startswith(("weft.fastmath.tf", "weft.fastmath.tensorflow", "weft.interop.einops"))


@pytest.fixture(scope="module")
def primitives() -> dict[str, Primitive]:
    """All of weft's primitives, by name; tests and examples may have made others here."""
    for module in pkgutil.walk_packages(weft.__path__, "weft."):
        if not module.name.endswith("__main__") and not needs_another_package(module.name):
            importlib.import_module(module.name)
    own = {
        id(value)
        for name, module in list(sys.modules.items())
        if name.startswith("weft.")
        for value in vars(module).values()
        if isinstance(value, Primitive)
    }
    found = {name: p for name, p in registry.items() if id(p) in own}
    assert len(found) > 100
    return found


def rules_of(primitive: Primitive) -> tuple[str, ...]:
    return HIGHER_ORDER_RULES if isinstance(primitive, HigherOrder) else RULES


def rule_of(primitive: Primitive, rule: str) -> object:
    """A rule of the primitive, or of the program inside it; `None` if it is missing."""
    if rule in ("linearize", "pushforward"):  # the class they are methods of raises an error
        own = getattr(type(primitive.inside), rule)
        return None if own is getattr(ProgramInside, rule) else own
    owner = primitive.host if rule == "execute" else primitive
    return getattr(primitive.inside, rule) if rule in PASSES else getattr(owner, rule + "_rule")


def holes(primitives: dict[str, Primitive], rule: str) -> set[str]:
    """Names of the primitives that should have this rule and don't."""
    return {
        name for name, p in primitives.items() if rule in rules_of(p) and rule_of(p, rule) is None
    }


def matrix(primitives: dict[str, Primitive]) -> str:
    """A line a primitive: ● a rule, · a hole, and blank where the kind has no such rule."""
    columns = (*RULES, *(rule for rule in HIGHER_ORDER_RULES if rule not in RULES))
    lines = [" " * 30 + " ".join(columns)]
    for name, p in sorted(primitives.items()):
        cells = [
            " " if rule not in rules_of(p) else "●" if rule_of(p, rule) else "·" for rule in columns
        ]
        marks = " ".join(c.center(len(rule)) for c, rule in zip(cells, columns, strict=True))
        lines.append(f"{name:30s}{marks}".rstrip())
    return "\n".join(lines)


def test_the_matrix_has_a_line_for_every_primitive(primitives):
    text = matrix(primitives)
    print(text)
    assert len(text.splitlines()) == len(primitives) + 1


@pytest.mark.parametrize("rule", [*RULES, "execute", "linearize", "pushforward", *PASSES])
def test_every_hole_has_a_reason_and_every_reason_a_hole(primitives, rule):
    missing, explained = holes(primitives, rule), set(reasons(rule))
    assert sorted(missing - explained) == [], f"no {rule} rule, and no reason in rule_holes.py"
    assert sorted(explained - missing) == [], f"has a {rule} rule now: out of rule_holes.py with it"


@pytest.mark.parametrize("rule", NEVER_MISSING)
def test_some_rules_may_not_be_missing(primitives, rule):
    assert holes(primitives, rule) == set()


def test_no_pass_names_a_primitive_with_programs_inside(primitives):
    # a pass that asks `primitive is cond` is silent about the next primitive
    names = {name for name, p in primitives.items() if isinstance(p, HigherOrder)}
    tests = re.compile(r"primitive is (not )?(?!None|not)(\w+)|hasattr\([^,]+, \"\w+_rule\"")
    found = [
        f"{path.relative_to(SOURCE)}: {match[0]}"
        for path in modules()
        for match in tests.finditer(path.read_text())
        if match[2] is None or match[2] in names or match[2].endswith("_call")
    ]
    assert found == []


def named_primitives(text: str) -> list[str]:
    """The comparisons of an attribute or variable `primitive` with a name, but for None."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Is | ast.IsNot)
        and ast.unparse(node.left).split(".")[-1] == "primitive"
        and not isinstance(node.comparators[0], ast.Constant)
    ]


# What is about one operation and no other; a property that several could have is asked of them.
ABOUT_ONE_OPERATION = {
    "compiler.transposes": ["dot_general", "transpose"],  # how XLA compiles these two
    "higher_order.naming": ["add"],  # by which cotangents are summed
    # one leaves out elements, and the derivative of the other applies itself
    "interpreters.debugging.nonfinite": ["pow_", "select_n"],
    "interpreters.eager_tiers": ["dot_general"],  # how it runs outside `jit`
    "interpreters.matrix_products": ["dot_general"],
    "transforms.checkpointing": ["name_primitive"],  # by which policies choose
    "transforms.tracing": ["convert_element_type"],  # left out where it says nothing
}


def test_the_engine_asks_for_few_primitives_by_name():
    engine = range(HEIGHT["core"], HEIGHT["transforms"] + 1)
    texts = {name_of(p): p.read_text() for p in modules() if HEIGHT.get(unit(name_of(p))) in engine}
    found = {
        module: sorted({text.split()[-1] for text in named_primitives(text)})
        for module, text in texts.items()
    }
    assert {module: names for module, names in found.items() if names} == ABOUT_ONE_OPERATION


def test_the_reader_finds_primitives_by_name():
    text = "e.primitive is add\nprimitive is not p.add\nprimitive is None\nx is primitive.of\n"
    assert named_primitives(text) == ["e.primitive is add", "primitive is not p.add"]


def test_each_hole_has_one_reason():
    for rule, by_reason in HOLES.items():
        names = " ".join(by_reason.values()).split()
        assert sorted(set(names)) == sorted(names), rule
