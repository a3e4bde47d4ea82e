"""Every name of the documented interface is there; of today's others each has its reason."""

import compare
import pytest


@pytest.fixture(scope="module")
def absent():
    return {table: compare.missing(compare.NAMES[table]) for table in compare.NAMES}


def test_there_are_1055_names():
    assert sum(map(len, compare.NAMES["documented"].values())) == 1055


def test_all_names_are_there(absent):
    assert {path: names for path, names in absent["documented"].items() if names} == {}


def test_every_name_that_is_missing_has_a_reason(absent):
    assert [
        f"{path}.{name}"
        for table in absent.values()
        for path, names in table.items()
        for name in names
        if compare.reason(path, name) is None
    ] == []


def test_the_report_names_what_is_missing(capsys):
    assert compare.report() == 0
    said = capsys.readouterr().out
    assert "of 1055 names" in said
    assert "weft.lax" in said


def test_absence_is_seen():
    assert compare.missing({"weft.numpy": ["sin", "no_such_name"], "weft.nowhere": ["x"]}) == {
        "weft.numpy": ["no_such_name"],
        "weft.nowhere": ["x"],
    }
