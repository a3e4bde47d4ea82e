"""What is saved under a policy, where programs are inside programs."""

import numpy as np
import pytest

import weft
import weft.numpy as wnp
from weft import checkpoint, checkpoint_policies as P, grad, lax
from weft.core.jaxpr import subjaxprs
from weft.experimental import io_callback

X = np.float32([0.5, 1.0, 1.5])


def count(jaxpr, name):
    """How often a program applies a primitive, in the programs inside too."""
    inside = sum(count(j, name) for e in jaxpr.equations for j in subjaxprs(e.params))
    return inside + sum(e.primitive.name == name for e in jaxpr.equations)


def cosines(x):
    """The second cosine's derivative needs the first, and the sine's the second."""
    return wnp.sum(wnp.sin(wnp.cos(wnp.cos(x))))


COS = lambda primitive, *avals, **params: primitive.name == "cos"  # noqa: E731
SIN = lambda primitive, *avals, **params: primitive.name == "sin"  # noqa: E731


@pytest.mark.parametrize("inner", [None, SIN, P.nothing_saveable])
def test_what_an_outer_policy_saves_is_not_computed_again_inside(inner):
    f = checkpoint(checkpoint(cosines, policy=inner), policy=COS)
    found, expected = [weft.make_jaxpr(grad(g))(X) for g in (f, cosines)]
    assert count(found, "cos") == count(expected, "cos")
    np.testing.assert_allclose(grad(f)(X), grad(cosines)(X), rtol=1e-6)


@pytest.mark.parametrize("policy", [None, P.everything_saveable, COS])
def test_the_last_carry_is_not_that_of_every_step(policy):
    def f(c):
        step = lambda c, x: (wnp.cos(c * x), None)  # noqa: E731
        return lax.scan(step, c, X)[0]

    eps, c = 1e-3, 0.7
    expected = (f(c + eps) - f(c - eps)) / (2 * eps)
    np.testing.assert_allclose(grad(checkpoint(f, policy=policy))(c), expected, rtol=1e-2)


@pytest.mark.parametrize("kept", [lambda f: f, checkpoint], ids=["scan", "checkpoint"])
def test_an_effect_that_needs_no_step_happens_in_every_step(kept):
    """It needs constants only, and its results are residuals; they are those of the steps."""
    answers = []

    def answer(x):
        answers.append(float(x) + len(answers))
        return np.float32(answers[-1])

    def f(x):
        def step(c, _):
            y = io_callback(answer, weft.ShapeDtypeStruct((), "float32"), np.float32(1))
            return c * y, None

        return lax.scan(step, x, None, length=3)[0]

    assert float(grad(kept(f))(1.0)) == 1 * 2 * 3
    assert answers == [1, 2, 3]
