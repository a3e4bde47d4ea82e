"""What an operation does besides computing its results, and which operations are looked into."""

import pytest

import weft
from weft.compiler.simplify import has_effects, jaxpr_calls_host, without_dead_code
from weft.core.jaxpr import only_computes
from weft.core.primitive import OF_PROGRAMS_INSIDE, Effects, Primitive, registry


@pytest.fixture
def made():
    """Makes a primitive without results' worth, with these effects."""
    names = []

    def make(effects, name="with_effects"):
        names.append(name)
        primitive = Primitive(name, "Gives its operand.")
        primitive.type(lambda x, **params: x)
        primitive.effects = effects
        return primitive

    yield make
    for name in names:
        del registry[name]


def program(primitive, **params):
    def f(x):
        primitive(x, **params)
        return x

    return weft.make_jaxpr(f)(1.0)


@pytest.mark.parametrize(
    ("effects", "acts", "calls", "computes"),
    [
        (None, False, False, True),
        (Effects(acts=True), True, False, False),
        (Effects(calls_host=True), False, True, False),
        (Effects(acts=True, calls_host=True), True, True, False),
        (OF_PROGRAMS_INSIDE, False, False, False),
    ],
)
def test_an_operation_is_kept_if_it_acts(made, effects, acts, calls, computes):
    jaxpr = program(made(effects))
    assert has_effects(jaxpr.equations[0]) is acts
    assert len(without_dead_code(jaxpr)[0].equations) == acts
    assert jaxpr_calls_host(jaxpr) is calls
    assert only_computes(jaxpr) is computes


@pytest.mark.parametrize(("effects", "looked_into"), [(OF_PROGRAMS_INSIDE, True), (None, False)])
def test_programs_inside_are_looked_into(made, effects, looked_into):
    inner = program(made(Effects(acts=True, calls_host=True), "inner_effect"))
    outer = program(made(effects), jaxpr=inner)
    assert has_effects(outer.equations[0]) is looked_into
    assert jaxpr_calls_host(outer) is looked_into
