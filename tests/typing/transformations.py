"""A user's program: what type checkers know of transformed functions."""

import functools
from typing import Any, assert_type

import weft
import weft.numpy as np
from weft import Array


def loss(w: Array, x: Array, scale: float = 1.0) -> Array:
    return np.sum(w * x) * scale


w, x = np.ones(3), np.ones(3)

# jit keeps the signature, and adds methods
fast = weft.jit(loss)
assert_type(fast(w, x), Array)
assert_type(fast(w, x, scale=2.0), Array)
assert_type(fast.lower(w, x).as_text(), str)
assert_type(weft.jit(loss, static_argnums=2)(w, x, 3.0), Array)
fast(w)  # error: an argument is missing
fast(w, x, 1.0, 2.0)  # error: one too many
fast(w, x, scael=2.0)  # error: no such argument
fast(w, x, scale="2")  # error: not a number


@weft.jit
def pair(x: Array) -> tuple[Array, int]:
    return x, 1


@functools.partial(weft.jit, static_argnames="n")
def repeated(x: Array, n: int) -> Array:
    return x * n


@weft.jit(donate_argnums=0)
def step(x: Array) -> Array:
    return x + 1


assert_type(pair(x), tuple[Array, int])
assert_type(repeated(x, n=3), Array)
assert_type(repeated.lower(x, n=3).as_text(), str)
assert_type(step(x), Array)
assert_type(weft.jit(weft.jit(pair))(x), tuple[Array, int])
pair()  # error: an argument is missing
repeated(x)  # error: an argument is missing
repeated(x, "3")  # error: not a number
step(x, x)  # error: one too many
functools.partial(weft.jit, static_args=0)  # error: no such option
weft.jit(static_argnums="n")  # error: positions are numbers


class Model:
    """Methods can be transformed."""

    def __init__(self, w: Array) -> None:
        self.w = w

    @weft.jit
    def apply(self, x: Array) -> Array:
        return self.w * x

    @weft.checkpoint
    def block(self, x: Array) -> Array:
        return np.tanh(x)

    @functools.partial(weft.jit, static_argnums=(0, 2))
    def power(self, x: Array, n: int = 2) -> Array:
        return x**n

    @functools.partial(weft.checkpoint, static_argnums=0)
    def last(self, x: Array) -> Array:
        return np.sin(x)


model = Model(w)
assert_type(model.apply(x), Array)
assert_type(model.block(x), Array)
assert_type(model.power(x, 3), Array)
assert_type(model.last(x), Array)
model.apply()  # error: an argument is missing
model.power(x, "3")  # error: not a number
model.last(x, x)  # error: one too many

# derivatives
assert_type(weft.value_and_grad(loss)(w, x), tuple[Array, Any])
assert_type(weft.jvp(loss, (w, x), (w, x)), tuple[Array, Array])
value, pull = weft.vjp(loss, w, x)
assert_type(value, Array)
assert_type(pull(value), tuple[Any, ...])
value, push = weft.linearize(loss, w, x)
assert_type(push(w, x), Array)
weft.grad(loss)(w, x)
weft.grad(loss)(w)  # error: an argument is missing
weft.value_and_grad(loss)()  # error: arguments are missing
weft.jacfwd(loss)(w, x)
weft.jacrev(loss)(w)  # error: an argument is missing
weft.hessian(loss)(w)  # error: an argument is missing

# maps
many = weft.vmap(loss, in_axes=(None, 0))
assert_type(many(w, x), Array)
many(w)  # error: an argument is missing
assert_type(weft.pmap(loss)(w, x), Array)
weft.pmap(loss)(w)  # error: an argument is missing

# others
assert_type(weft.checkpoint(loss)(w, x), Array)
weft.checkpoint(loss)(w)  # error: an argument is missing
assert_type(weft.checkpoint(prevent_cse=False)(loss)(w, x), Array)


@functools.partial(weft.checkpoint, prevent_cse=False)
def cheap(x: Array) -> Array:
    return np.sin(x)


mesh = weft.sharding.Mesh(weft.devices()[:1], "x")
spec = weft.sharding.PartitionSpec("x")


@functools.partial(weft.shard_map, mesh=mesh, in_specs=spec, out_specs=spec)
def parts(x: Array) -> Array:
    return x * 2


@functools.partial(weft.vmap, in_axes=1)
def columns(x: Array) -> Array:
    return np.sum(x)


@functools.partial(weft.value_and_grad, has_aux=True)
def with_aux(x: Array) -> tuple[Array, int]:
    return np.sum(x), 1


assert_type(cheap(x), Array)
cheap()  # error: an argument is missing
assert_type(parts(x), Array)
parts(x, x)  # error: one too many
assert_type(weft.shard_map(loss, mesh=mesh, in_specs=spec, out_specs=spec)(w, x), Array)
assert_type(weft.shard_map(mesh=mesh, in_specs=spec, out_specs=spec)(loss)(w, x), Array)
assert_type(columns(np.ones((2, 3))), Array)
columns()  # error: an argument is missing
assert_type(with_aux(x), tuple[tuple[Array, int], Any])
with_aux()  # error: an argument is missing
assert_type(weft.named_call(loss, name="loss")(w, x), Array)
weft.named_call(loss)(w)  # error: an argument is missing
assert_type(weft.jit(weft.vmap(weft.checkpoint(loss)))(w, x), Array)
print(weft.make_jaxpr(loss)(w, x).eqns)


@weft.custom_jvp
def f(x: Array, y: Array) -> Array:
    return x * y


@f.defjvp
def f_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    return f(*primals), tangents[0]


@weft.custom_vjp
def g(x: Array, y: Array) -> Array:
    return x * y


g.defvjp(lambda x, y: (x * y, (x, y)), lambda r, ct: (ct * r[1], ct * r[0]))
assert_type(f(x, x), Array)
assert_type(g(x, x), Array)
f(x)  # error: an argument is missing
g(x)  # error: an argument is missing


@functools.partial(weft.custom_jvp, nondiff_argnums=(0,))
def scaled(n: int, x: Array) -> Array:
    return x * n


scaled(2, x).sum()
