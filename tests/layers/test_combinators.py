"""Combinators: arity, the stack, structures of weights and state, keys, loops, conditions."""

import random

import numpy as onp
import pytest
from row_names import row_name

from weft import fastmath, layers as tl, shapes
from weft.fastmath import numpy as jnp
from weft.layers.layer_errors import drawn

SIG = shapes.ShapeDtype((2, 3))
X = onp.arange(6, dtype=onp.float32).reshape(2, 3)
MARK, STATE_MARK = tl.GET_WEIGHTS_FROM_CACHE, tl.GET_STATE_FROM_CACHE


def fn(n_in, n_out):
    """A layer of these numbers of tensors."""
    return tl.PureLayer(lambda xs: None, n_in, n_out, f"F{n_in}{n_out}")


ARITIES = [
    (tl.Serial(), 1, 1),
    (tl.Serial(None), 1, 1),
    (tl.Serial([]), 1, 1),
    (tl.Serial(fn(2, 1), fn(2, 1)), 3, 1),
    (tl.Serial(fn(1, 3), fn(2, 1)), 1, 2),
    (tl.Serial(fn(0, 1), fn(2, 2)), 1, 2),
    (tl.Serial(fn(3, 0), fn(0, 1)), 3, 1),
    (tl.Serial([fn(1, 2), [fn(2, 1), []]]), 1, 1),
    (tl.Parallel(fn(1, 2), None, [fn(3, 1), fn(1, 1)]), 5, 4),
    (tl.Branch(fn(1, 1), fn(3, 1), fn(2, 2)), 3, 4),
    (tl.Branch(fn(2, 3)), 2, 3),
    (tl.Branch(None), 1, 1),
    (tl.Branch([fn(1, 2), fn(2, 1)]), 1, 1),
    (tl.Residual(fn(2, 2)), 2, 2),
    (tl.Residual(), 1, 1),
    (tl.Select([2, 0]), 3, 2),
    (tl.Select([], n_in=2), 2, 0),
    (tl.SerialWithSideOutputs([fn(1, 2), fn(1, 2)]), 1, 3),
    (tl.SerialWithSideOutputs([fn(2, 3), fn(1, 2)], [2, 1]), 2, 4),
    (tl.SerialWithSideOutputs([fn(1, 1), fn(2, 2)], [1, 1]), 3, 3),
    (tl.Cond(fn(2, 1), fn(3, 2), fn(3, 2)), 5, 2),
    (tl.Scan(fn(3, 2), n_carry=1), 3, 2),
    (tl.Cache(fn(2, 2)), 2, 2),
    (tl.BatchLeadingAxes(fn(2, 1)), 2, 1),
    (tl.Chunk(fn(2, 3), 2), 2, 3),
    (tl.Bidirectional(fn(1, 1)), 1, 1),
    (tl.FlattenList(), 1, 1),
]


@pytest.mark.parametrize("case", ARITIES, ids=row_name)
def test_arity(case):
    layer, n_in, n_out = case
    assert (layer.n_in, layer.n_out) == (n_in, n_out)


# (layer, inputs, outputs) on numbers, with names for items of the stack
MOVES = [
    (tl.Serial(), "a", "a"),
    (tl.Serial(), ("a", "b"), ("a", "b")),
    (tl.Dup(), "a", ("a", "a")),
    (tl.Swap(), ("a", "b"), ("b", "a")),
    (tl.Serial(tl.Swap()), ("a", "b", "c"), ("b", "a", "c")),
    (tl.Serial(tl.Dup(), tl.Swap(), tl.Drop()), ("a", "b"), ("a", "b")),
    (tl.Serial(tl.Drop()), ("a",), ()),
    (tl.Select([1]), ("a", "b"), "b"),
    (tl.Select([], n_in=1), "a", ()),
    (tl.Serial(tl.Select([2, 0, 2])), ("a", "b", "c", "d"), ("c", "a", "c", "d")),
    (tl.Parallel(tl.Drop(), tl.Dup()), ("a", "b"), ("b", "b")),
    (tl.Parallel(tl.Swap(), None), ("a", "b", "c", "d"), ("b", "a", "c")),
    (tl.Branch(tl.Drop(), tl.Swap(), None), ("a", "b"), ("b", "a", "a")),
    (tl.FlattenList(), ["a", ("b", ["c"])], ("a", "b", "c")),
    (tl.SerialWithSideOutputs([tl.Fn("E", lambda x: (x + "1", x + "2"), n_out=2)] * 2), "a",
     ("a11", "a2", "a12")),
    (tl.Add(), ("a", "b"), "ab"),
]  # fmt: skip


@pytest.mark.parametrize("case", MOVES, ids=row_name)
def test_items_of_the_stack(case):
    layer, inputs, outputs = case
    assert layer(inputs) == outputs


def test_stack_helpers():
    assert tl.inputs_from_stack((1, 2, 3), 0) == ()
    assert tl.inputs_from_stack(5, 1) == 5
    assert tl.outputs_onto_stack([], (1, 2), 1) == 2
    assert tl.outputs_onto_stack((1, 2), 3, 0) == (1, 2, 3)


STRUCTURES = [
    (lambda: tl.Serial(tl.Dense(4), tl.Dense(2)), "((w, w), (w, w))", "((), ())"),
    (lambda: tl.Serial(tl.Dense(4), tl.Relu(), tl.Dense(2)), "((w, w), ((), (), ()), (w, w))",
     "((), ((), (), ()), ())"),
    (lambda: tl.Branch(tl.Dense(2), tl.Dense(3)), "((), ((w, w), (w, w)))", "((), ((), ()))"),
    (lambda: tl.Residual(tl.Dense(3)), "(((), ((), (w, w))), ())", "(((), ((), ())), ())"),
    (lambda: tl.Serial(tl.Dense(4), tl.Dropout(0.1)), "((w, w), ())", "((), w)"),
    (lambda: tl.Scan(tl.Dense(4), n_carry=0), "((w, w),)", "((), ())"),
    (lambda: tl.Chunk(tl.Dense(4), 2), "((), ((w, w),), ())", "((), ((), ()), ())"),
    (lambda: tl.Cache(tl.Dropout(0.1)), "((),)", "((), w)"),
    (lambda: tl.BatchLeadingAxes(tl.Dropout(0.1)), "((),)", "(w,)"),
    (lambda: tl.Negate(), "((), (), ())", "((), (), ())"),
]  # fmt: skip


@pytest.mark.parametrize("case", STRUCTURES, ids=row_name)
def test_structures(case):
    make, weights, state = case
    found = make().init(SIG)
    assert [str(fastmath.nested_map(lambda _: "w", tree)).replace("'", "") for tree in found] == [
        weights,
        state,
    ]


def test_structure_of_cond_and_shared_layers():
    layer = tl.Dense(3)
    made = tl.Cond(tl.Fn("C", lambda c: c), layer, layer).init((shapes.ShapeDtype((), bool), SIG))
    assert made[0][2] == MARK
    weights, state = tl.Serial(tl.Scan(layer, n_carry=0), layer).init(SIG)
    assert weights[1] == MARK
    assert state[1] == STATE_MARK
    weights, _ = tl.Serial(layer, tl.Scan(layer, n_carry=0), tl.Cache(layer)).init(SIG)
    assert weights[1:] == ((MARK,), (MARK,))
    assert tl.Serial(tl.BatchLeadingAxes(layer), layer).init(SIG)[0][1] == MARK


def test_shared_layers_in_wrappers_compute_with_the_shared_weights():
    layer = tl.Dense(3)
    model = tl.Serial(tl.BatchLeadingAxes(layer), tl.Scan(layer, n_carry=0), tl.Cache(layer), layer)
    weights, state = model.init(SIG)
    w, b = (onp.asarray(v) for v in weights[0][0])
    doubled = fastmath.nested_map(lambda v: 2 * v, weights)
    y, _ = fastmath.jit(model.pure_fn)(X, doubled, state, fastmath.random.get_prng(0))
    wanted = X
    for _ in range(4):
        wanted = wanted @ (2 * w) + 2 * b
    onp.testing.assert_allclose(y, wanted, 1e-4)


def test_numpy_arrays_of_any_rank_are_one_item():
    double = tl.Serial(tl.Fn("Double", lambda x: 2 * x))
    assert double(onp.float32(3)) == 6
    assert double(onp.zeros((0, 3))).shape == (0, 3)


# ---- loops ----


class Noise(tl.Layer):
    """Its key's first word."""

    def forward(self, x):
        return x + self.rng[1] % 1000


def test_scan_is_a_loop_of_python():
    cell = tl.Fn("cell", lambda x, c: (x * c, x + c), n_out=2)
    xs, c = X.reshape(2, 3, 1), onp.ones((2, 1), onp.float32)
    ys, last = tl.Scan(cell, axis=1)((xs, c))
    for i in range(3):
        y, c = cell((xs[:, i], c))
        onp.testing.assert_allclose(ys[:, i], y, 1e-6)
    onp.testing.assert_allclose(last, c, 1e-6)
    several = tl.Scan(tl.Fn("s", lambda x, y, c, d: (x + y, c + 1, d * 2), n_out=3), n_carry=2)
    total, c, d = several((X, X, jnp.zeros(()), jnp.ones(())))
    assert onp.array_equal(total, 2 * X)
    assert (float(c), float(d)) == (2.0, 4.0)


def test_keys_and_states_in_a_scan():
    key = fastmath.random.get_prng(4)
    y = tl.Scan(Noise(), n_carry=0)(onp.zeros((3,), onp.uint32), rng=key)
    assert [int(v) for v in y] == [int(fastmath.random.fold_in(key, i)[1]) % 1000 for i in range(3)]

    class Count(tl.Layer):
        def init_weights_and_state(self, input_signature):
            self.state = jnp.zeros(())

        def forward(self, x):
            self.state = self.state + 1
            return x + self.state

    layer = tl.Scan(Count(), n_carry=0)
    layer.init(shapes.ShapeDtype((3,)))
    assert layer(onp.zeros(3, onp.float32)).tolist() == [1, 2, 3]
    assert float(layer.state[0]) == 3.0


def test_shared_layers_with_state_in_loops_and_branches():
    class Count(tl.Layer):
        def init_weights_and_state(self, input_signature):
            self.weights, self.state = jnp.ones(()), {"n": jnp.zeros(())}

        def forward(self, x):
            self.state = {"n": self.state["n"] + 1}
            return x * self.weights + self.state["n"]

    count, choose = Count(), tl.Fn("C", lambda x: jnp.sum(x) > 0)
    model = tl.Serial(
        count, tl.Scan(count, n_carry=0), tl.Dup(), tl.Cond(choose, tl.Chunk(count, 1)),
        tl.Cache(count), tl.BatchLeadingAxes(count), tl.Scan(tl.SummaryScalar("s"), n_carry=0),
        count,
    )  # fmt: skip
    weights, state = model.init(SIG)
    run = fastmath.jit(model.pure_fn)
    y, new_state = run(X, weights, state, fastmath.random.get_prng(0))
    z, other = model.pure_fn(X, weights, state, fastmath.random.get_prng(0))
    assert onp.array_equal(y, z)
    assert float(new_state[0]["n"]) == float(other[0]["n"]) == 1.0
    assert list(new_state[6][0]) == ["summary_s"]
    assert float(count.state["n"]) == 0.0


def test_a_scan_in_predict_mode_goes_on():
    add = tl.Fn("add", lambda x, c: (x + c, x + c), n_out=2)
    whole = tl.Scan(add)((X[0], jnp.zeros(())))[0]
    layer = tl.Scan(add, mode="predict")
    layer.init((shapes.ShapeDtype((1,)), shapes.ShapeDtype(())))
    steps = [layer((X[0, i : i + 1], jnp.zeros(())))[0] for i in range(3)]
    assert onp.concatenate(steps).tolist() == whole.tolist()
    layer.state = ((), ())
    assert layer((X[0, 1:2], jnp.zeros(())))[0].tolist() == [1.0]


def test_cond_runs_one_layer_and_keeps_the_others_state():
    choose = tl.Fn("C", lambda c: c)
    layer = tl.Cond(choose, tl.SummaryScalar("a"), tl.Serial(tl.SummaryScalar("b")))
    layer.init((shapes.ShapeDtype((), bool), SIG))
    run = fastmath.jit(layer.pure_fn)
    for choice, changed in ((True, 1), (False, 2)):
        _, state = run((jnp.asarray(choice), X), layer.weights, layer.state, None)
        leaves = [fastmath.tree_leaves(s) for s in state]
        assert [float(s[0]) for s in leaves[1:]] == [2.5 if i == changed else 0 for i in (1, 2)]


def test_chunks():
    seen = []

    def look(x):
        seen.append(x.shape)
        return 2 * x

    layer = tl.Chunk(tl.Fn("Look", look), 2)
    x = onp.ones((6, 3))
    assert onp.array_equal(layer(x), 2 * x)
    assert set(seen) == {(2, 3)}
    seen.clear()
    tl.Chunk(tl.Fn("Look", look), 4)(x)
    assert set(seen) == {(6, 3)}
    inner = tl.Dense(2)
    assert tl.Chunk(inner, 0) is inner


def test_bidirectional_layers_have_weights_of_their_own():
    layer = tl.Bidirectional(tl.Dense(2))
    layer.init(shapes.ShapeDtype((2, 3, 4)))
    one, other = (leaf for leaf in fastmath.tree_leaves(layer.weights) if leaf.ndim == 2)
    assert not onp.array_equal(one, other)


def test_a_cache_sees_new_weights_until_it_has_run():
    layer = tl.Cache(tl.Dense(2))
    layer.init(SIG)
    layer.sublayer.weights = (jnp.zeros((3, 2)), jnp.full(2, 7.0))
    assert onp.array_equal(layer(X), onp.full((2, 2), 7.0))
    assert onp.array_equal(layer(0 * X + 5), onp.full((2, 2), 7.0))


def test_the_drawing_of_a_stack():
    layers = [tl.Dup(), tl.Dense(4), tl.Concatenate(3)]
    assert drawn(layers, 1).splitlines() == [
        "  the stack, its top on the left:",
        "    [x0]     Dup_out2: 1 -> 2",
        "    [a0] a1  Dense_4: 1 -> 1",
        "    [b0 a1]  Concatenate_in3 takes 3 items, and there are 2",
    ]
    assert drawn(layers[:1], 2).splitlines()[-1] == "    a0 a1 x1  at the end"


# ---- combinators of others ----


class Twice(tl.Layer):
    """Runs its sublayer twice, by the methods of layers alone, as programs for Trax do."""

    def __init__(self, layer):
        super().__init__()
        self._sublayers = (layer,)
        self._weights = self._state = (None,)

    def forward(self, x):
        layer, (w,), (s,) = self.sublayers[0], self.weights, self.state
        for key in fastmath.random.split(self.rng, 2):
            x, s = layer.pure_fn(x, w, s, key, use_cache=True)
        self.state = (s,)
        return x

    def init_weights_and_state(self, input_signature):
        w, s = self.sublayers[0].init(input_signature, use_cache=True)
        self.weights, self.state = (w,), (s,)


class Backwards(tl.Serial):
    """A Serial with a forward of its own, which uses the key."""

    def forward(self, xs):
        assert self._rng is not None
        return -super().forward(xs)


def test_combinators_of_others():
    scale = tl.Serial(tl.Dense(3), tl.Dropout(0.5))
    dense = scale.sublayers[0]
    model = Backwards(Twice(scale), tl.Residual(Twice(dense)), dense)
    weights, state = model.init(SIG)
    assert weights[1][0][1][1] == (MARK,)
    assert weights[2] == MARK
    w, b = (onp.asarray(v) for v in weights[0][0][0])
    doubled = fastmath.nested_map(lambda v: 2 * v, weights)
    run = fastmath.jit(model.pure_fn)
    key = fastmath.random.get_prng(3)
    y, new_state = run(X, doubled, state, key)
    rows, x = fastmath.random.split(fastmath.random.split(key, 3)[0], 2), X
    for i in range(2):
        x = x @ (2 * w) + 2 * b
        keep = fastmath.random.bernoulli(fastmath.random.split(rows[i], 2)[1], 0.5, x.shape)
        x = x * onp.asarray(keep) * 2
    for n in (2, 1):
        start = x
        for _ in range(n):
            x = x @ (2 * w) + 2 * b
        x = x + start if n == 2 else x
    onp.testing.assert_allclose(y, -x, 1e-4, 1e-4)
    assert str(new_state) == str(state)
    assert onp.array_equal(dense.weights[0], w)


def test_a_combinator_with_a_forward_of_its_own_gets_a_key():
    model = tl.Serial(tl.Dense(3), tl.Branch(Backwards(tl.Dense(3)), None))
    model.init(SIG)
    model(X)


def test_seeds_are_drawn_in_the_order_of_trax():
    random.seed(5)
    branch = tl.Branch(None, tl.Dup())
    select, parallel = branch.sublayers
    drawn = [parallel.sublayers[1], parallel, parallel.sublayers[0], select, branch]
    random.seed(5)
    assert [layer._rng_seed_int for layer in drawn] == [random.randint(0, 2**31 - 1) for _ in drawn]


def test_layers_side_by_side_and_after_each_other_have_keys_of_their_own():
    ones = onp.ones((64,), onp.float32)
    key = fastmath.random.get_prng(3)
    a, b = tl.Parallel(tl.Dropout(0.5), tl.Dropout(0.5))((ones, ones), rng=key)
    assert (onp.asarray(a) != onp.asarray(b)).any()
    both = onp.asarray(tl.Serial(tl.Dropout(0.5), tl.Dropout(0.5))(ones, rng=key))
    assert set(both) == {0.0, 4.0}
    assert (both != 0).mean() < 0.4  # a quarter, and half with one key for both


def test_a_layer_is_printed_once_however_deep_it_lies():
    printed = []

    class Leaf(tl.Layer):
        def __repr__(self):
            printed.append(self)
            return "one\ntwo"

    layer = Leaf()
    for _ in range(6):
        layer = tl.Serial(layer)
    assert str(layer).count("one") == len(printed) == 1
