"""debug_key_reuse: a typed key that is used twice is an error, wherever the two uses are."""

import linecache
import re

import numpy as onp
import pytest

import weft
from weft import errors, lax, numpy as np, random


@pytest.fixture(autouse=True)
def counted():
    with weft.debug_key_reuse(True):
        yield


def K():
    return random.key(0)


def both(first, second):
    key = K()
    first(key)
    second(key)


def loop(key):
    def body(key, _):
        key, subkey = random.split(key)
        return key, random.normal(subkey)

    return lax.scan(body, key, None, length=3)


def over(keys):
    return lax.scan(lambda c, k: (c, random.normal(k)), 0, keys)


draw = random.normal
later = weft.jit(lambda k: (draw(k), k)[1])
one_of = lambda k: lax.cond(np.sum(np.ones(2)) > 1, draw, lambda k: 0.0, k)  # noqa: E731
twice = lambda k: draw(k) + draw(k)  # noqa: E731

FINE = {
    "one use": lambda: draw(K()),
    "another key of the same words": lambda: (draw(K()), draw(K())),
    "children": lambda: [draw(k) for k in random.split(K(), 3)],
    "children by index": lambda: (lambda ks: (draw(ks[0]), draw(ks[1])))(random.split(K())),
    "fold_in": lambda: both(lambda k: random.fold_in(k, 1), draw),
    "fold_in afterwards": lambda: both(draw, lambda k: random.fold_in(k, 1)),
    "clone": lambda: both(draw, lambda k: draw(random.clone(k))),
    "clone in jit": lambda: weft.jit(lambda k: draw(k) + draw(random.clone(k)))(K()),
    "words": lambda: both(draw, random.key_data),
    "printing": lambda: both(draw, repr),
    "comparing": lambda: both(draw, lambda k: k == k),
    "raw keys": lambda: (lambda k: (draw(k), draw(k)))(random.PRNGKey(0)),
    "split in a loop": lambda: loop(K()),
    "a key for each step": lambda: over(random.split(K(), 4)),
    "folded in a loop": lambda: (lambda k: lax.fori_loop(
        0, 3, lambda i, x: x + draw(random.fold_in(k, i)), 0.0))(K()),
    "either branch": lambda: lax.cond(np.sum(np.ones(2)) > 1, draw, lambda k: -draw(k), K()),
    "a batch of keys": lambda: weft.vmap(draw)(random.split(K(), 3)),
    "the same key for a batch": lambda: (
        lambda k: weft.vmap(lambda x: x + draw(k))(np.ones(3)))(K()),
    "checkpoint": lambda: weft.grad(
        weft.checkpoint(lambda x, k: np.sin(x * draw(k))))(1.0, K()),
    "checkpoint in jit": lambda: weft.jit(weft.grad(
        weft.checkpoint(lambda x, k: np.sin(x * draw(k)))))(1.0, K()),
    "gradient": lambda: (lambda k: weft.grad(lambda x: x * draw(k))(1.0))(K()),
    "samplers made of others": lambda: [
        random.choice(random.key(0, impl="rbg"), 5), random.gamma(K(), 2.0), random.t(K(), 3.0),
        random.permutation(random.key(0, impl="unsafe_rbg"), 5), random.ball(K(), 2)],
}  # fmt: skip

REUSED = {
    "two samples": lambda: both(draw, draw),
    "sampled and split": lambda: both(draw, random.split),
    "split and sampled": lambda: both(random.split, draw),
    "a child": lambda: both(lambda k: None, lambda k: (lambda a, b: twice(a))(*random.split(k))),
    "a child by index": lambda: (lambda ks: (draw(ks[1]), draw(ks[1])))(random.split(K())),
    "a child by a slice": lambda: (
        lambda ks: (draw(ks[::-1][0]), draw(ks[2])))(random.split(K(), 3)),
    "a child after the batch": lambda: (
        lambda ks: (weft.vmap(draw)(ks), draw(ks[0])))(random.split(K())),
    "the batch again": lambda: (
        lambda ks: (weft.vmap(draw)(ks), weft.vmap(draw)(ks.reshape(2))))(random.split(K())),
    "in jit": lambda: weft.jit(twice)(K()),
    "in jit in jit": lambda: weft.jit(lambda k: draw(k) + weft.jit(draw)(k))(K()),
    "by two calls": lambda: both(weft.jit(draw), weft.jit(draw)),
    "after a call": lambda: both(weft.jit(draw), draw),
    "of a result": lambda: draw(later(K())),
    "closed over by jit": lambda: (
        lambda f: (f(), f()))((lambda k: weft.jit(lambda: draw(k)))(K())),
    "in scan": lambda: lax.scan(lambda k, _: (k, draw(k)), K(), None, length=3),
    "closed over by scan": lambda: (
        lambda k: lax.scan(lambda c, _: (c, draw(k)), 0, None, length=3))(K()),
    "closed over by scan in jit": lambda: weft.jit(
        lambda k: lax.scan(lambda c, _: (c, draw(k)), 0, None, length=3))(K()),
    "split and sampled in scan": lambda: lax.scan(
        lambda k, _: (random.split(k)[0], draw(k)), K(), None, length=3),
    "a key of each step": lambda: (lambda ks: (over(ks), draw(ks[3])))(random.split(K(), 4)),
    "closed over by a loop": lambda: (lambda k: lax.while_loop(
        lambda x: x < 3, lambda x: x + 1 + 0 * draw(k), 0.0))(K()),
    "in a branch": lambda: both(one_of, draw),
    "in the other branch": lambda: both(
        lambda k: lax.cond(np.sum(np.ones(2)) > 1, lambda k: 0.0, draw, k), draw),
    "gradient": lambda: (lambda k: weft.grad(lambda x: x * twice(k))(1.0))(K()),
    "vmap": lambda: weft.vmap(twice)(random.split(K())),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_one_use_is_fine(name):
    FINE[name]()


@pytest.mark.parametrize("name", REUSED)
def test_a_second_use_is_an_error(name):
    with pytest.raises(errors.KeyReuseError, match="is used a second time"):
        REUSED[name]()


def lines_of(error):
    """The user's line that an error has, and that of the first use, as text."""
    second = re.search(r"at (\S+):(\d+)", "\n".join(error.__notes__))
    first = re.search(r"at (\S+):(\d+)", str(error))
    return [linecache.getline(__file__, int(m.group(2))).strip() for m in (second, first)]


@pytest.mark.parametrize("wrap", [lambda f: f, weft.jit], ids=["eager", "jit"])
def test_the_error_names_both_lines(wrap):
    @wrap
    def step(key):
        noise = random.normal(key)  # the first
        return noise + random.uniform(key)  # the second

    with pytest.raises(errors.KeyReuseError, match=r"uniform: .*: normal at .* before") as e:
        step(K())
    second, first = lines_of(e.value)
    assert first.endswith("# the first")
    assert second.endswith("# the second")
    assert isinstance(e.value, TypeError)


def test_nothing_is_counted_where_the_switch_is_off():
    key = K()
    with weft.debug_key_reuse(False):
        both(draw, draw)
        assert "random_use" not in str(weft.make_jaxpr(draw)(key))
        assert random.clone(key) is key
    assert "random_use" in str(weft.make_jaxpr(draw)(key))
    weft.config.update("jax_debug_key_reuse", True)
    weft.config.update("jax_debug_key_reuse", False)


def test_samples_are_the_same():
    key = random.key(3)
    counted = [draw(key), weft.jit(draw)(random.clone(key)), random.split(random.clone(key))]
    with weft.debug_key_reuse(False):
        onp.testing.assert_array_equal(counted[0], draw(key))
        onp.testing.assert_allclose(counted[1], draw(key), rtol=1e-6)
        assert (counted[2] == random.split(key)).all()
