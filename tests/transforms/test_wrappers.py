"""What stands for a user's function: it has its attributes, and none of those that weft gave."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.experimental import checkify, sparse
from weft.sharding import PartitionSpec as P

MESH = weft.sharding.Mesh(onp.array(weft.devices()[:1]), ("i",))
WRAPPERS = {
    "grad": weft.grad,
    "value_and_grad": weft.value_and_grad,
    "jacfwd": weft.jacfwd,
    "jacrev": weft.jacrev,
    "vmap": weft.vmap,
    "pmap": weft.pmap,
    "shard_map": lambda f: weft.shard_map(f, mesh=MESH, in_specs=P(), out_specs=P()),
    "jit": weft.jit,
    "checkpoint": weft.checkpoint,
    "named_call": weft.named_call,
    "make_jaxpr": weft.make_jaxpr,
    "xla_computation": weft.xla_computation,
    "checkify": checkify.checkify,
    "sparsify": sparse.sparsify,
    "vectorize": np.vectorize,
    "custom_jvp": weft.custom_jvp,
    "custom_vjp": weft.custom_vjp,
    "custom_vmap": weft.custom_batching.custom_vmap,
}
OWN = {  # the attributes that weft gives to functions
    "jit": {"trace", "lower", "eval_shape", "clear_cache"},
    "pmap": {"lower", "clear_cache"},
    "custom_jvp": {"fun", "rule", "defjvp", "nondiff_argnums"},
    "custom_vjp": {"fun", "fwd", "bwd", "defvjp", "nondiff_argnums"},
    "custom_vmap": {"fun", "vmap_rule", "def_vmap", "nondiff_argnums"},
}


@pytest.mark.parametrize("outer", WRAPPERS)
@pytest.mark.parametrize("inner", OWN)
def test_what_is_made_of_a_function_has_the_users_attributes_and_not_those_of_weft(inner, outer):
    def loss(x):
        return np.sum(x)

    loss.units, loss.fun, loss.rule = "metres", "user's", "user's"
    made = WRAPPERS[inner](loss)
    made.version = 2
    wrapped = WRAPPERS[outer](made)
    assert (wrapped.units, wrapped.version) == ("metres", 2)
    assert wrapped.__wrapped__ is made
    for name in OWN[inner] - OWN.get(outer, set()) - {"fun", "rule"}:
        assert not hasattr(wrapped, name), name
    if outer.startswith("custom"):
        assert wrapped.fun is made
        with pytest.raises(AttributeError, match=r"no rules? (is|are) defined"):
            wrapped(1.0)


def tripled_sum(custom):
    f = custom(lambda x: np.sum(x))
    if custom is weft.custom_jvp:
        f.defjvp(lambda primals, tangents: (np.sum(*primals), 3 * np.sum(*tangents)))
    else:
        f.defvjp(lambda x: (np.sum(x), x), lambda x, ct: (3 * ct * np.ones_like(x),))
    return f


@pytest.mark.parametrize("custom", [weft.custom_jvp, weft.custom_vjp])
def test_a_custom_function_of_a_mapped_custom_function_maps(custom):
    mapped = weft.vmap(tripled_sum(custom))
    f = custom(mapped)
    if custom is weft.custom_jvp:
        f.defjvp(lambda primals, tangents: weft.jvp(mapped, primals, tangents))
    else:
        f.defvjp(lambda x: weft.vjp(mapped, x), lambda pull, ct: pull(ct))
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    onp.testing.assert_array_equal(f(x), [3, 7])
    onp.testing.assert_array_equal(weft.grad(lambda x: f(x)[1])(x), [[0, 0], [3, 3]])
