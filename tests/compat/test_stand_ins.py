"""A class that stands for others has their instances."""

from weft.compat.stand_ins import Standing


def test_instances_are_those_of_the_classes_but_of_some():
    class Number(metaclass=Standing, of=(int, float), but=(bool,)):
        pass

    assert [isinstance(x, Number) for x in (1, 1.5, True, "1")] == [True, True, False, False]
