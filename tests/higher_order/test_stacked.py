"""A map over devices as a program for one: the same results as on the devices."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import lax
from weft.core.jaxpr import run
from weft.core.trace import current
from weft.programs.shard_map_as_vmap import shard_map_as_vmap as stacked
from weft.sharding import PartitionSpec as P

X = np.arange(64, dtype=np.float32).reshape(8, 8) / 7

CASES = {
    "row by row": (P("a", "b"), P("a", "b"), lambda x: wnp.sin(x) + lax.axis_index("a")),
    "the other way": (P("b", "a"), P("a", "b"), lambda x: x.T * lax.axis_index("b")),
    "one axis twice": (P(("a", "b")), P(None, ("b", "a")), lambda x: x.T + lax.axis_index("a")),
    "repeated": (P(None, "b"), P("b"), lambda x: x.T * 2),
    "summed": (P("a", "b"), P(None, "b"), lambda x: lax.psum(x, "a")),
    "summed over the inner axis": (P("a", "b"), P("a"), lambda x: lax.psum(x, "b")),
    "summed over both": (P("a", "b"), P(), lambda x: lax.psum(x.sum(), ("a", "b"))),
    "gathered": (P("a"), P(), lambda x: lax.all_gather(x, "a")),
    "exchanged": (P("a", "b"), P("a", "b"), lambda x: lax.ppermute(x, "b", [(0, 1), (1, 2)])),
}


@pytest.mark.devices(8)
@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_devices_compute(name):
    in_spec, out_spec, function = CASES[name]
    mesh = weft.make_mesh((2, 4), ("a", "b"))
    mapped = weft.shard_map(function, mesh=mesh, in_specs=in_spec, out_specs=out_spec)
    (equation,) = weft.make_jaxpr(mapped)(X).equations
    params = dict(equation.params)
    one = stacked(
        params["jaxpr"], [v.aval for v in equation.inputs], params["in_specs"],
        params["out_specs"], params["axes"],
    )  # fmt: skip
    (found,) = weft.jit(lambda x: run(one, [x], current.trace))(X)
    np.testing.assert_allclose(found, mapped(X), rtol=1e-6)
