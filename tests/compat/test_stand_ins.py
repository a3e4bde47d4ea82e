"""A class that stands for others has their instances."""

import weft
import weft.numpy as np
from weft.compat.names import names_of
from weft.compat.stand_ins import Standing


def test_instances_are_those_of_the_classes_but_of_some():
    class Number(metaclass=Standing, of=(int, float), but=(bool,)):
        pass

    assert [isinstance(x, Number) for x in (1, 1.5, True, "1")] == [True, True, False, False]


def test_classes_of_transformed_functions():
    jitted, mapped = weft.jit(np.sin), weft.pmap(np.sin)
    extension = names_of("0.4.30")["jaxlib.xla_extension"]["PjitFunction"]
    compiled = names_of("0.10.2")["jax.interpreters.xla"]["xe"]
    assert compiled.PjitFunction is extension
    for f, classes in (
        (jitted, [extension]),
        (mapped, [compiled.PmapFunction]),
        (weft.custom_jvp(np.sin), []),
        (np.sin, []),
        (1, []),
    ):
        found = [c for c in (extension, compiled.PmapFunction) if isinstance(f, c)]
        assert found == classes
