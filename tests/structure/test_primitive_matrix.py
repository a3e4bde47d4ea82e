"""Primitives × rules: every hole has a written reason."""

import importlib.util
import sys
from pathlib import Path

import weft  # noqa: F401
import weft.numpy
import weft.random
from weft.core.primitive import RULES, registry

_spec = importlib.util.spec_from_file_location("rule_holes", Path(__file__).with_name("rule_holes.py"))
rule_holes = importlib.util.module_from_spec(_spec)
sys.modules["rule_holes"] = rule_holes
_spec.loader.exec_module(rule_holes)


def holes() -> dict[str, set[str]]:
    """The rules that each primitive hasn't."""
    found = {}
    for name, p in registry.items():
        missing = {rule for rule in RULES if getattr(p, rule + "_rule") is None}
        if hasattr(p, "execute_rule"):  # higher-order: other names for two rules
            missing -= {"evaluate", "jvp"}
            if p.execute_rule is None:
                missing.add("evaluate")
            if p.linearize_rule is None:
                missing.add("jvp")
        found[name] = missing
    return found


def test_every_hole_has_a_reason(capsys):
    table = holes()
    with capsys.disabled():
        pass
    lines = [
        f"{name:28s}" + " ".join("-" if rule in missing else rule for rule in RULES)
        for name, missing in sorted(table.items())
    ]
    print("\n".join(lines))
    unexplained = {
        name: sorted(missing - set(rule_holes.reasons(name)))
        for name, missing in table.items()
        if missing - set(rule_holes.reasons(name))
    }
    assert not unexplained, unexplained


def test_no_reason_is_for_a_rule_that_exists():
    table = holes()
    stale = {
        name: sorted(set(given) - table[name])
        for name, given in rule_holes.HOLES.items()
        if name in table and set(given) - table[name]
    }
    unknown = set(rule_holes.HOLES) - set(table)
    assert not stale, stale
    assert not unknown, unknown
