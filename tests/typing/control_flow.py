"""A user's program: what type checkers know of the results of loops and branches."""

from typing import Any, NamedTuple, assert_type

import numpy

import weft
import weft.numpy as np
from weft import Array, lax


class State(NamedTuple):
    x: Array
    steps: Array


x = np.ones(3)
state = State(x, np.zeros(()))


def step(carry: State, row: Array) -> tuple[State, Array]:
    return State(carry.x * row, carry.steps + 1), carry.x


def no_input(carry: Array, _: None) -> tuple[Array, None]:
    return carry * 2, None


# scan: the carry's type, and that of what each step gives
assert_type(lax.scan(step, state, x), tuple[State, Array])
assert_type(lax.scan(no_input, x, None, length=3), tuple[Array, None])
assert_type(lax.scan(no_input, x, length=3), tuple[Array, None])
last, each = lax.scan(step, state, x)
print(last.steps, each.shape)
print(last.total)  # error: no such field
lax.scan(no_input, x, lenght=3)  # error: no such argument
lax.scan(np.sin, x, x)  # error: must return a pair

# what begins as a Python number or NumPy's array is an array afterwards
assert_type(lax.scan(step, state, numpy.ones(3)), tuple[State, Array])
assert_type(lax.scan(no_input, 1.0, length=3), tuple[Array, None])


# loops
def halved(c: Array) -> Array:
    return c / 2


def added(i: Any, c: State) -> State:
    return c._replace(steps=c.steps + i)


assert_type(lax.while_loop(lambda c: np.all(c > 1), halved, x), Array)
assert_type(lax.while_loop(lambda s: s.steps < 3, lambda s: State(s.x, s.steps + 1), state), State)
assert_type(lax.while_loop(lambda c: c > 1, halved, 9.0), Array)
assert_type(lax.fori_loop(0, 3, added, state), State)
lax.fori_loop(0, 3, added)  # error: an argument is missing
lax.while_loop(lambda c: True, added, state)  # error: one argument too many

# a lambda of untyped operations is Any to mypy where a function has several forms; never an error
lax.scan(lambda c, row: (c + row, c), x, x)[0].sum()
lax.fori_loop(0, np.array(3), lambda i, c: c + x[i], x).sum()

# maps
assert_type(lax.map(halved, x), Array)
assert_type(lax.map(lambda row: (halved(row), state), x, batch_size=2), tuple[Array, State])
assert_type(lax.map(halved, numpy.ones(3)), Array)
assert_type(lax.associative_scan(np.add, x, reverse=True), Array)


# branches
def scaled(x: Array, factor: float) -> Array:
    return x * factor


assert_type(lax.cond(x[0] > 0, np.sin, np.cos, x), Array)
assert_type(lax.cond(True, lambda x: State(x, x), lambda x: State(x, -x), x), State)
assert_type(lax.cond(x.sum() > 0, scaled, scaled, x, 2.0), Array)
assert_type(lax.cond(True, lambda: state, lambda: state), State)
assert_type(lax.cond(True, np.sin, np.cos, operand=x), Array)
assert_type(lax.cond(True, true_fun=lambda: x, false_fun=lambda: x), Array)
assert_type(lax.switch(1, [halved, np.sin], x), Array)
assert_type(lax.switch(np.array(0), (lambda: state, lambda: state)), State)
lax.cond(True, scaled, 3.0, x)  # error: not a function
print(lax.cond(True, added, added, 1, state).total)  # error: no such field


@weft.jit
def trained(state: State) -> State:
    return lax.fori_loop(0, 10, added, state)


assert_type(trained(state), State)
