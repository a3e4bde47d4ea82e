"""Derivatives of weft.numpy.linalg: both modes against finite differences, second order too, and at
points where a careless rule gives NaN."""

import numpy as onp
import pytest
from row_names import row_name

import weft
import weft.numpy as np
from weft import grad, jit, jvp, vmap

RNG = onp.random.default_rng(11)
linalg = np.linalg


@pytest.fixture(autouse=True)
def x64():
    with weft.config.temporarily(enable_x64=True):
        yield


def numbers(*shape, compound=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if compound else x


def hermitian(f):
    return lambda a: f((a + a.conj().mT) / 2)


def singular(n, rank):
    return numbers(n, rank) @ numbers(rank, n)


SQUARE, STACK, TALL = numbers(4, 4), numbers(2, 3, 3), numbers(4, 3)
COMPLEX = numbers(3, 3, compound=True)
RIGHT, LOW = numbers(4, 2), singular(4, 2)

# a function, its arguments, how often it is differentiated, and the step of differences
TABLE = [
    (linalg.inv, [SQUARE], 2),
    (linalg.inv, [COMPLEX], 2),
    (linalg.solve, [SQUARE, RIGHT], 2),
    (linalg.solve, [STACK, numbers(3)], 1),
    (linalg.solve, [COMPLEX, numbers(3, 1, compound=True)], 2),
    (linalg.det, [SQUARE], 2),
    (linalg.det, [STACK], 2),
    (linalg.det, [COMPLEX], 2),
    (linalg.det, [singular(4, 3)], 2, 1e-4),
    (linalg.det, [singular(4, 2)], 2, 1e-4),
    (linalg.det, [numbers(3, 2, compound=True) @ numbers(2, 3, compound=True)], 2, 1e-4),
    (linalg.det, [onp.zeros((2, 2))], 2),
    (linalg.det, [onp.zeros((3, 3))], 2),
    (linalg.det, [onp.eye(4)], 2),
    (linalg.det, [numbers(1, 1)], 1),
    (lambda a: linalg.slogdet(a)[1], [SQUARE], 2),
    (lambda a: linalg.slogdet(a)[0], [COMPLEX], 1),
    (lambda a: linalg.slogdet(a)[1], [COMPLEX], 2),
    (linalg.pinv, [TALL], 2),
    (linalg.pinv, [TALL.T], 1),
    (linalg.pinv, [numbers(2, 3, compound=True)], 1),
    (linalg.pinv, [onp.eye(3)], 2),  # equal singular values
    (hermitian(lambda a: linalg.pinv(a, hermitian=True)), [SQUARE], 1),
    (lambda a, b: linalg.lstsq(a, b)[0], [TALL, RIGHT], 2),
    (lambda a, b: linalg.lstsq(a, b)[1], [TALL, numbers(4)], 1),
    (lambda a: linalg.norm(a, "nuc"), [onp.eye(3)], 1),
    (lambda a: linalg.norm(a, "nuc"), [SQUARE], 2),
    (lambda a: linalg.norm(a, 2), [TALL], 2),
    (lambda a: linalg.norm(a, -2), [COMPLEX], 1),
    (linalg.norm, [TALL], 2),
    (lambda a: linalg.norm(a, 3), [numbers(5)], 2),
    (lambda a: linalg.norm(a, 1, axis=0), [COMPLEX], 1),
    (lambda a: linalg.norm(a, onp.inf), [TALL], 1),
    (linalg.cond, [SQUARE], 1),
    (lambda a: linalg.cond(a, 1), [SQUARE], 1),
    (lambda a: linalg.matrix_power(a, 5), [STACK], 2),
    (lambda a: linalg.matrix_power(a, -2), [SQUARE], 1),
    (lambda *xs: linalg.multi_dot(xs), [numbers(2, 3), numbers(3, 4), numbers(4)], 2),
    (linalg.tensorinv, [numbers(2, 3, 6)], 1),
    (linalg.tensorsolve, [numbers(2, 3, 6), numbers(2, 3)], 1),
    (linalg.svdvals, [TALL], 2),
    (hermitian(linalg.eigvalsh), [COMPLEX], 2),
    (lambda a: linalg.cholesky(a @ a.conj().mT + np.eye(3)), [COMPLEX], 2),
    (lambda a: abs(linalg.eigvals(a)).sum(), [numbers(3, 3)], 1),
    (lambda x, y: np.polyfit(x, y, 2), [numbers(6), numbers(6)], 1),
    (lambda x, y, w: np.polyfit(x, y, 1, w=w), [numbers(6), numbers(6), numbers(6) ** 2 + 0.5], 1),
    (np.poly, [numbers(4)], 2),
    (lambda p: np.roots(p, strip_zeros=False).real.sum(), [numbers(5)], 1),
]


def weighted(function, args):
    """The function's values as one real number, by which both kinds of parts count."""
    out = np.asarray(function(*args))
    rng = onp.random.default_rng(5)
    weights = rng.standard_normal(out.shape) + 1j * rng.standard_normal(out.shape)
    return lambda *xs: (function(*xs) * weights).real.sum()


def minors(a):
    """The derivative of the determinant of 3 × 3, by the determinants of 2 × 2."""
    rest = [[1, 2], [0, 2], [0, 1]]
    small = [[a[onp.ix_(rest[i], rest[j])] for j in range(3)] for i in range(3)]
    return onp.array([[(-1) ** (i + j) * onp.linalg.det(small[i][j]) for j in range(3)]
                      for i in range(3)])  # fmt: skip


@pytest.mark.parametrize("places", [[], [2], [0, 5, 7], [11], [*range(8)], [*range(9)]])
def test_singular_matrices_of_a_stack_have_their_own_cofactors(places):
    a, weights, step = numbers(12, 3, 3), numbers(12, 3, 3), 1e-6
    for count, place in enumerate(places):
        a[place] = singular(3, count % 3)

    def expected(a):
        return onp.stack([minors(x) for x in a])

    slopes = grad(lambda a: linalg.det(a).sum())
    for f in (slopes, jit(slopes), jit(vmap(grad(linalg.det)))):
        onp.testing.assert_allclose(f(a), expected(a), rtol=1e-9, atol=1e-9)
    change = jit(grad(lambda a: (slopes(a) * weights.reshape(a.shape)).sum()))(
        a.reshape(3, 4, 3, 3)
    )
    mapped = jit(vmap(lambda a, w: jvp(grad(linalg.det), (a,), (w,))[1]))(a, weights)
    ends = (expected(a + h * weights) for h in (step, -step))
    along = (next(ends) - next(ends)) / (2 * step)  # the derivative of slopes is symmetric
    for found in (change.reshape(12, 3, 3), mapped):
        onp.testing.assert_allclose(found, along, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("row", TABLE, ids=row_name)
def test_both_modes_against_finite_differences(row):
    function, args, order, *given = row
    step = given[0] if given else 1e-6
    args = [np.asarray(a) for a in args]
    places = tuple(range(len(args)))
    for _ in range(order):
        f = weighted(function, args)
        tangents = [np.asarray(numbers(*a.shape, compound=np.iscomplexobj(a))) for a in args]
        ends = [f(*[a + s * t for a, t in zip(args, tangents, strict=True)]) for s in (step, -step)]
        wanted = float(ends[0] - ends[1]) / (2 * step)
        _, pushed = jvp(f, tuple(args), tuple(tangents))
        gradient = grad(f, places)(*args)
        pulled = sum(float((g * t).real.sum()) for g, t in zip(gradient, tangents, strict=True))
        scale = max(1.0, abs(wanted))
        assert abs(float(pushed) - wanted) < 1e-5 * scale
        assert abs(pulled - float(pushed)) < 1e-7 * scale
        function = lambda *xs, f=f: np.concatenate(  # noqa: E731
            [g.ravel() for g in grad(f, places)(*xs)]
        )


NO_NAN = [
    (linalg.norm, onp.zeros(3)),
    (linalg.norm, onp.zeros((2, 2))),
    (lambda a: linalg.norm(a, 3), onp.zeros(3)),
    (lambda a: linalg.norm(a, axis=1).sum(), onp.array([[0.0, 0.0], [3.0, 4.0]])),
    (lambda a: linalg.norm(a, 1), onp.zeros(3)),
    (lambda a: linalg.norm(a, "nuc"), onp.zeros((2, 3))),
    (lambda a: linalg.norm(a, 2), onp.eye(3)),
    (linalg.det, onp.zeros((4, 4))),
    (lambda a: linalg.pinv(a).sum(), LOW),
    (lambda a: linalg.pinv(a).sum(), onp.zeros((2, 3))),
    (lambda a: linalg.lstsq(a, onp.ones(4))[0].sum(), LOW),
    (lambda a: linalg.svdvals(a).sum(), onp.ones((3, 3))),
    (lambda a: linalg.eigvalsh(a).sum(), onp.eye(3)),
]


def test_derivatives_without_nan_at_once_and_in_one_compiled_program():
    def both(f, a):
        gradient = grad(f)(a)
        return gradient, jvp(grad(f), (a,), (np.ones_like(a),))[1]

    points = [np.asarray(a) for _, a in NO_NAN]
    compiled = jit(lambda *xs: [both(f, a) for (f, _), a in zip(NO_NAN, xs, strict=True)])(*points)
    for (f, a), (first, second) in zip(NO_NAN, compiled, strict=True):
        at_once, again = both(f, np.asarray(a))
        for x, y in ((first, at_once), (second, again)):
            assert onp.isfinite(onp.asarray(x)).all()
            onp.testing.assert_allclose(x, y, atol=1e-9)
    assert not onp.asarray(compiled[0][0]).any()
    onp.testing.assert_allclose(compiled[3][0], [[0, 0], [0.6, 0.8]])


def test_batches_are_loops():
    stack, right = np.asarray(numbers(3, 2, 2)), np.asarray(numbers(3, 2))

    def everything(a, b):
        results = [linalg.solve(a, b), linalg.inv(a), linalg.pinv(a), linalg.det(a)]
        return [*results, *linalg.slogdet(a), grad(linalg.det)(a), linalg.norm(a, 2)]

    got = jit(vmap(everything))(stack, right)
    for i in range(3):
        for x, y in zip(got, everything(stack[i], right[i]), strict=True):
            onp.testing.assert_allclose(x[i], y, atol=1e-10)
    one = stack[0]  # one matrix for many right-hand sides
    shared = vmap(lambda b: linalg.solve(one, b))(right)
    onp.testing.assert_allclose(shared, onp.linalg.solve(one, right.T).T)


def test_a_gradient_of_solve_decomposes_once():
    text = str(weft.make_jaxpr(grad(lambda a, b: linalg.solve(a, b).sum()))(np.eye(3), np.ones(3)))
    assert text.count("= lu ") == 1
    assert text.count("factored_solve") == 2
