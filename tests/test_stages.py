"""`weft.stages`: the classes of what a compilation's steps return, and what these know."""

import pytest

import weft
import weft.numpy as np
from weft import stages

X = weft.ShapeDtypeStruct((2, 3), "float32")


def double(params, x):
    return {"y": params["w"] * x}


def test_every_step_is_an_instance_of_its_class_and_knows_arguments_and_results():
    f = weft.jit(double, donate_argnums=1)
    assert isinstance(f, stages.Wrapped)
    assert not isinstance(double, stages.Wrapped)
    traced = f.trace({"w": 2.0}, X)
    lowered = traced.lower()
    compiled = lowered.compile()
    for step, kind in [
        (traced, stages.Traced),
        (lowered, stages.Lowered),
        (compiled, stages.Compiled),
    ]:
        assert isinstance(step, kind)
        (params, x), keywords = step.args_info
        assert x == stages.ArgInfo((2, 3), np.dtype("float32"), donated=True)
        assert (params["w"].shape, params["w"].donated, keywords) == ((), False, {})
        assert step.out_info["y"].shape == (2, 3)
        assert isinstance(step.out_info["y"], stages.OutInfo)
    assert lowered.donate_argnums == traced.donate_argnums == (1,)


def test_static_arguments_have_no_info():
    lowered = weft.jit(lambda x, n: x * n, static_argnums=1).lower(1.0, 3)
    (x,), _ = lowered.args_info
    assert x.shape == ()


@pytest.mark.devices(2)
def test_a_mapped_function_is_wrapped_too():
    lowered = weft.pmap(lambda x: x + 1).lower(np.ones((2, 3)))
    assert isinstance(lowered, stages.Lowered)
    assert lowered.args_info[0][0].shape == (2, 3)
