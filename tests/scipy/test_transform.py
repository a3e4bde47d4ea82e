"""Rotations and what lies between them, against SciPy's."""

import itertools

import numpy as onp
import pytest
from agreement import assert_gradient
from row_names import row_name
from scipy.spatial import transform as oracle

import weft
import weft.numpy as np
from weft.scipy.spatial.transform import Rotation, Slerp

rng = onp.random.default_rng(0)
SHAPES = [(), (1,), (6,)]
QUATS = [rng.standard_normal((*shape, 4)) for shape in SHAPES]
SEQUENCES = ["".join(p) for p in itertools.product("xyz", repeat=3) if p[0] != p[1] != p[2]]
SEQUENCES += [s.upper() for s in SEQUENCES]


def same(got, wanted, near=1e-7):
    onp.testing.assert_allclose(onp.asarray(got), wanted, atol=near)
    assert got.shape == wanted.shape


@pytest.fixture(autouse=True)
def wide():
    with weft.enable_x64(True):
        yield


@pytest.mark.parametrize("quat", QUATS, ids=str)
def test_forms_and_operations(quat):
    r, s = Rotation.from_quat(quat), oracle.Rotation.from_quat(quat)
    for form in ("as_quat", "as_matrix", "as_rotvec", "as_mrp", "magnitude"):
        same(getattr(r, form)(), getattr(s, form)())
    same(r.as_quat(True, True), s.as_quat(canonical=True, scalar_first=True))
    same(r.inv().as_quat(), s.inv().as_quat())
    same(Rotation.from_quat(quat, scalar_first=True).as_matrix(),
         oracle.Rotation.from_quat(quat, scalar_first=True).as_matrix())  # fmt: skip
    same(Rotation.from_matrix(s.as_matrix()).as_quat(True), s.as_quat(canonical=True))
    turned = quat[..., ::-1]
    same((r * Rotation.from_quat(turned)).as_matrix(),
         (s * oracle.Rotation.from_quat(turned)).as_matrix())  # fmt: skip
    same((r**1.5).as_matrix(), (s**1.5).as_matrix())
    vectors = rng.standard_normal((*quat.shape[:-1], 3))
    for v in (vectors, vectors.reshape(-1, 3)[0]):
        same(r.apply(v), s.apply(v))
        same(r.apply(v, inverse=True), s.apply(v, inverse=True))
    if quat.ndim > 1:
        w = rng.uniform(0, 1, quat.shape[0])
        same(r.mean().as_matrix(), s.mean().as_matrix())
        same(r.mean(w).as_matrix(), s.mean(w).as_matrix())


@pytest.mark.parametrize("scale", [2.5, 1, 1e-3, 1e-9, 0])
def test_vectors_long_and_short(scale):
    for shape in SHAPES:
        v = rng.standard_normal((*shape, 3)) * scale
        s = oracle.Rotation.from_rotvec(v)
        same(Rotation.from_rotvec(v).as_quat(), s.as_quat(), 1e-14)
        same(Rotation.from_rotvec(v).magnitude(), s.magnitude(), 1e-14)
        if scale <= 1e-3:  # by series: of v itself, not only of what adds to 1
            onp.testing.assert_allclose(Rotation.from_rotvec(v).as_rotvec(), v, rtol=1e-12)
        degrees = Rotation.from_rotvec(v * 30, degrees=True)
        same(degrees.as_rotvec(True), oracle.Rotation.from_rotvec(v * 30, True).as_rotvec(True))
        same(Rotation.from_mrp(v).as_matrix(), oracle.Rotation.from_mrp(v).as_matrix())


def test_all_sequences_of_axes():
    quat = QUATS[2]
    angles = rng.uniform(-3, 3, (6, 3))
    for seq in SEQUENCES:
        s = oracle.Rotation.from_euler(seq, angles, degrees=True)
        r = Rotation.from_euler(seq, angles, degrees=True)
        same(r.as_matrix(), s.as_matrix())
        expected = oracle.Rotation.from_quat(quat).as_euler(seq, degrees=True)
        same(Rotation.from_quat(quat).as_euler(seq, degrees=True), expected)
    for seq, a in [("z", 0.3), ("z", [0.3]), ("y", [[0.3], [0.4]]), ("XY", [0.3, 0.4])]:
        angles = onp.array(a)
        expected = oracle.Rotation.from_euler(seq, angles).as_quat()
        same(Rotation.from_euler(seq, angles).as_quat(), expected)


@pytest.mark.filterwarnings("ignore:Gimbal")
@pytest.mark.parametrize("end", [0, 1])
def test_where_two_axes_lie_on_each_other(end):
    for seq in SEQUENCES:
        proper = seq[0] == seq[2]
        middle = end * onp.pi - (0 if proper else onp.pi / 2)
        angles = onp.array([0.3, middle, 0.4])
        r = Rotation.from_euler(seq, angles)
        same(r.as_euler(seq), oracle.Rotation.from_euler(seq, angles).as_euler(seq))
        same(Rotation.from_euler(seq, r.as_euler(seq)).as_matrix(), onp.asarray(r.as_matrix()))


def test_matrices_that_are_no_rotations_give_nan():
    flips = onp.array([-onp.eye(3), onp.diag([-1.0, 1, 1]), onp.zeros((3, 3)), onp.eye(3)])
    for found in (Rotation.from_matrix(flips), weft.jit(Rotation.from_matrix)(flips)):
        assert onp.isnan(found.as_quat()).all(-1).tolist() == [True, True, True, False]
        same(found[3].as_matrix(), onp.eye(3))


def test_half_turns_have_matrices_and_vectors():
    for v in onp.pi * onp.array([*onp.eye(3), [0.6, 0.8, 0], [0, -0.6, 0.8]]):
        matrix = oracle.Rotation.from_rotvec(v).as_matrix()
        same(Rotation.from_matrix(matrix).as_matrix(), matrix)
        same(abs(Rotation.from_matrix(matrix).as_rotvec()), abs(v))
    q = np.array([[0.0, 0.0, 0.0, -1.0], [0.0, -1.0, 0.0, 0.0], [0.6, -0.8, 0.0, 0.0]])
    same(Rotation(q).as_quat(canonical=True), abs(onp.asarray(q)) * [[1, 1, 1, 1], [1, 1, 1, 1],
                                                                     [1, -1, 1, 1]])  # fmt: skip


def test_containers():
    r = Rotation.from_quat(QUATS[2])
    assert len(r) == 6
    assert [x.single for x in r] == [True] * 6
    assert r[1:3].shape == (2,)
    assert not r.single
    same(r[-1].as_quat(), onp.asarray(r.as_quat())[-1])
    same(Rotation.concatenate([r, r[0]]).as_quat()[-1], onp.asarray(r.as_quat())[0])
    assert Rotation.identity().single
    same(Rotation.identity(3).as_matrix(), onp.tile(onp.eye(3), (3, 1, 1)))
    assert Rotation.identity(dtype="float32").quat.dtype == "float32"
    assert repr(Rotation.identity()).startswith("Rotation(quat=Array(")
    assert Rotation.identity()


def test_random_rotations_are_even():
    r = Rotation.random(weft.random.PRNGKey(0), 4000)
    moved = onp.asarray(r.apply(onp.array([0.0, 0.0, 1.0])))
    onp.testing.assert_allclose(moved.mean(0), 0, atol=0.05)
    onp.testing.assert_allclose((moved**2).mean(0), 1 / 3, atol=0.03)
    assert Rotation.random(weft.random.PRNGKey(0)).single


def test_rotations_are_pytrees():
    r = Rotation.from_quat(QUATS[2])
    turned = weft.jit(lambda a, b: a * b.inv())(r, r)
    same(turned.as_quat(), onp.tile([0.0, 0, 0, 1], (6, 1)))
    vectors = weft.vmap(lambda a: a.as_rotvec())(r)
    same(vectors, onp.asarray(r.as_rotvec()))
    slope = weft.grad(lambda a: a.as_matrix()[0, 0])(r[0])
    assert isinstance(slope, Rotation)
    assert weft.tree_util.tree_leaves(r) == [r.quat]


def test_derivatives():
    v, q = rng.standard_normal(3), rng.standard_normal(4)
    assert_gradient(lambda v: Rotation.from_rotvec(v).as_matrix(), v)
    assert_gradient(lambda v: Rotation.from_rotvec(v).as_rotvec(), onp.zeros(3))
    assert_gradient(lambda v: Rotation.from_mrp(v).as_mrp(), v * 0.3)
    assert_gradient(lambda a: Rotation.from_euler("xyz", a).as_euler("ZXZ"), v)
    assert_gradient(lambda q: Rotation.from_quat(q).apply(v), q)
    assert_gradient(lambda m: Rotation.from_matrix(m).as_rotvec(),
                    onp.asarray(Rotation.from_rotvec(v).as_matrix()))  # fmt: skip
    hessian = weft.hessian(lambda v: (Rotation.from_rotvec(v).as_rotvec() ** 2).sum())
    same(hessian(np.zeros(3)), 2 * onp.eye(3))
    slope = weft.grad(lambda v: Rotation.from_rotvec(v).magnitude())(np.zeros(3))
    assert onp.isfinite(onp.asarray(slope)).all()


def test_slerp():
    times, moments = onp.array([0.0, 1, 3, 4]), rng.uniform(0, 4, 7)
    s = oracle.Rotation.from_quat(QUATS[2][:4])
    r = Rotation.from_quat(QUATS[2][:4])
    between, expected = Slerp(times, r), oracle.Slerp(times, s)
    for t in (moments, times, 2.5):
        same(between(t).as_matrix(), expected(t).as_matrix())
    same(Slerp.init(times, r)(2.0).as_matrix(), expected(2.0).as_matrix())
    same(weft.jit(lambda f, t: f(t))(between, moments).as_matrix(), expected(moments).as_matrix())
    assert_gradient(lambda v, t: Slerp(times[:2], Rotation.from_rotvec(v))(t).as_rotvec(),
                    rng.standard_normal((2, 3)), onp.array(0.3))  # fmt: skip


ONE, SIX = Rotation.identity(), Rotation.identity(6)
BAD = [
    (lambda: Rotation.from_quat(onp.ones(3)), ValueError, r"quat must have the last axes \[4\]"),
    (lambda: Rotation(onp.ones(())), ValueError, "quat must have the last axes"),
    (lambda: Rotation.from_matrix(onp.ones((3, 2))), ValueError, "matrix must have the last axes"),
    (lambda: Rotation.from_rotvec(onp.ones(2)), ValueError, "rotvec must have the last axes"),
    (lambda: Rotation.from_mrp(onp.ones(2)), ValueError, "mrp must have the last axes"),
    (lambda: Rotation.from_euler("xX", onp.ones(2)), ValueError, "seq must be 1 or 2 or 3 letters"),
    (lambda: Rotation.from_euler("xx", onp.ones(2)), ValueError, "seq must be"),
    (lambda: Rotation.from_euler("xy", onp.ones(3)), ValueError, "last axis of length 2"),
    (lambda: Rotation.from_euler("xy", 1.0), ValueError, "last axis of length 2"),
    (lambda: ONE.as_euler("xy"), ValueError, "seq must be 3 letters"),
    (lambda: ONE.as_euler(3), ValueError, "seq must be 3 letters"),
    (lambda: ONE.apply(onp.ones(4)), ValueError, "vectors must have the last axes"),
    (lambda: len(ONE), TypeError, "no len"),
    (lambda: ONE[0], TypeError, "no elements"),
    (lambda: SIX.mean(onp.ones(5)), ValueError, "expected 6 weights"),
    (lambda: SIX.mean(onp.arange(6.0) - 1), ValueError, "weights must not be negative"),
    (lambda: SIX * Rotation.identity(5), ValueError, "don't broadcast"),
    (lambda: SIX * 2, TypeError, "unsupported operand"),
    (lambda: Rotation.concatenate([]), ValueError, "at least one rotation"),
    (lambda: Slerp(onp.arange(6.0), onp.ones((6, 4))), TypeError, "must be a Rotation"),
    (lambda: Slerp(onp.arange(1.0), ONE), ValueError, "at least 2 rotations"),
    (lambda: Slerp(onp.arange(5.0), SIX), ValueError, "a time for each of 6"),
    (lambda: Slerp(onp.zeros(6), SIX), ValueError, "times must rise"),
    (lambda: Slerp(onp.arange(6.0), SIX)(7.0), ValueError, "times must be from 0.0 to 5.0"),
]  # fmt: skip


@pytest.mark.parametrize("place", BAD, ids=row_name)
def test_bad_arguments(place):
    call, kind, message = place
    with pytest.raises(kind, match=message):
        call()
