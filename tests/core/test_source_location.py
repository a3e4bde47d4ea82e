"""The parts of a program that operations belong to, through rules and programs that are shared."""

import linecache

from weft.core.source_location import SourceLocation, at_location, in_part, location_of

A, B, C = (("A", ("a.py", 1), 1), ("B", ("b.py", 2), 2), ("C", ("c.py", 3), 3))


def names():
    return [part.name for part in location_of("sin").parts]


def test_parts_nest_and_end():
    assert names() == []
    with in_part(*A):
        with in_part(*B):
            assert names() == ["A", "B"]
            assert location_of("sin").parts[-1] == ("B", "b.py", 2, 2)
        assert names() == ["A"]
    assert names() == []


def test_a_part_ends_with_an_error():
    try:
        with in_part(*A):
            raise KeyError
    except KeyError:
        pass
    assert names() == []


def test_a_rule_runs_in_the_parts_of_its_operation():
    with in_part(*A), in_part(*B):
        place = location_of("sin")
    with at_location(place, backward=True):
        assert names() == ["A", "B"]
        assert location_of("cos").backward
        with in_part(*C):  # a rule may run layers
            assert names() == ["A", "B", "C"]
    assert names() == []


def test_a_program_that_two_layers_share_is_in_the_one_that_runs_it():
    with in_part(*A), in_part(*B):
        shared = location_of("sin")
    with in_part(*A), in_part(*C):
        with at_location(shared):
            assert names() == ["A", "C"]
        with at_location(None):
            assert names() == ["A", "C"]
        with at_location(SourceLocation("x.py:1", "sin")):
            assert names() == ["A", "C"]


def test_a_rule_of_the_users_own_has_its_line_and_the_parts():
    with in_part(*A):
        place = location_of("sin")
    with at_location(place, backward=True):
        inner = (lambda: location_of("cos"))()
    assert inner.operation == "cos"
    assert inner.backward
    assert [part.name for part in inner.parts] == ["A"]


def text_at(span):
    """The text of a span of one line."""
    assert span.line == span.end_line
    line = linecache.getline(__file__, span.line).encode()
    return line[span.column : span.end_column].decode()


def test_the_span_is_the_expression_that_is_evaluated():
    é = [location_of("sin"), location_of("cos")]
    assert [text_at(place.span) for place in é] == ['location_of("sin")', 'location_of("cos")']
    with at_location(é[0]):  # a rule runs for the same expression
        assert location_of("cos").span == é[0].span
