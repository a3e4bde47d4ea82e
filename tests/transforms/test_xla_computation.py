"""xla_computation: every option, seen in the text."""

import re

import numpy as np
import pytest

import weft
from weft import lax, xla_computation

F32 = weft.ShapeDtypeStruct((4, 4), "float32")


def head(computation):
    return computation.as_hlo_text().partition("\n")[0]


def test_its_three_forms():
    c = xla_computation(lambda x: x * 2)(1.0)
    assert "multiply" in c.as_hlo_text()
    assert b"multiply" in c.as_serialized_hlo_module_proto()
    assert c.as_hlo_dot_graph().startswith("digraph")
    assert c.name() == "xla_computation__lambda_"


def test_static_arguments_are_part_of_the_program():
    f = lambda x, n, y: x + n * y  # noqa: E731
    text = xla_computation(f, static_argnums=1)(1.0, 3, 2.0).as_hlo_text()
    assert "->(f32[])" in text
    assert text.count("parameter(") == 2
    assert "constant(3)" in text


def test_unused_arguments_and_constants_stay():
    kept = np.arange(3.0, dtype=np.float32)
    text = xla_computation(lambda x, unused: x + kept)(kept, 1.0).as_hlo_text()
    assert "{(f32[3]{0}, f32[])->(f32[3]{0})}" in text
    assert "constant({0, 1, 2})" in text


@pytest.mark.parametrize(
    ("count", "option", "tupled"),
    [(2, True, True), (2, False, False), (2, None, False), (101, None, True)],
)
def test_tuple_arguments(count, option, tupled):
    c = xla_computation(lambda *xs: sum(xs), tuple_args=option)(*[1.0] * count)
    assert ("layout={((f32[]" in head(c)) is tupled


def test_donated_arguments():
    f = lambda x, n, tree: (x + tree["a"], tree["b"] * 2)  # noqa: E731
    tree = {"a": F32, "b": F32}
    c = xla_computation(f, static_argnums=1, donate_argnums=(2,))(F32, 3, tree)
    assert "buffer_donor={ (1, {}), (2, {}) }" in head(c)
    assert "buffer_donor" not in head(xla_computation(f, static_argnums=1)(F32, 3, tree))
    with pytest.raises(ValueError, match=r"\[1\] of .* are both static and donated"):
        xla_computation(f, static_argnums=1, donate_argnums=1)


def test_partitions():
    f = lambda x, pair: (x @ pair[0], pair)  # noqa: E731
    c = xla_computation(f, in_parts=((2, 1), (None, (1, 2))), out_parts=(None, (2,)))
    text = c(F32, (F32, F32)).as_hlo_text()
    parameters = re.findall(r"parameter\((\d)\), sharding=\{(.*)\}", text)
    assert dict(parameters) == {
        "0": "devices=[2,1]0,1",
        "1": "replicated",
        "2": "devices=[1,2]0,1",
    }
    assert "sharding={{replicated}, {devices=[2,1]0,1}, {devices=[2,1]0,1}}" in text
    whole = xla_computation(f, in_parts=(2,))(F32, (F32, F32)).as_hlo_text()
    assert whole.count("sharding={devices=[2,1]0,1}") == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"in_parts": ((2, 1), (3, 1))}, ValueError, r"one number of parts; got \[2, 3\]"),
        ({"in_parts": (1, 1, 2)}, ValueError, r"in_parts divides 3 axes of float32\[4,4\]"),
        ({"in_parts": "x"}, TypeError, "in_parts must be a tuple of positive ints.*got 'x'"),
        ({"out_parts": (None, None)}, ValueError, "xla_computation: out_parts: not a prefix"),
    ],
)
def test_partitions_that_do_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        xla_computation(lambda x, y: x + y, **options)(F32, F32)


def test_backend_and_options_that_do_nothing():
    c = xla_computation(lambda x: x, backend="cpu", instantiate_const_outputs=True)(1.0)
    assert "parameter(0)" in c.as_hlo_text()
    with pytest.raises(RuntimeError, match="nowhere"):
        xla_computation(lambda x: x, backend="nowhere")(1.0)


def test_shapes_of_results():
    c, shapes = xla_computation(lambda x: {"a": x.sum(0), "b": 1}, return_shape=True)(F32)
    assert "f32[4]" in c.as_hlo_text()
    assert (shapes["a"].shape, shapes["a"].dtype.name) == ((4,), "float32")
    assert (shapes["b"].dtype.name, shapes["b"].named_shape) == ("int32", {})


def test_jitted_functions_and_loops_with_collectives_inside():
    mean = weft.jit(lambda x: lax.pmean(x, "j"))

    def f(x):
        step = lambda c, _: (mean(c) + lax.axis_index("i"), None)  # noqa: E731
        return mean(lax.scan(step, x, None, length=3)[0])

    text = xla_computation(f, axis_env=[("i", 2), ("j", 3)])(1.0).as_hlo_text()
    assert set(re.findall(r"replica_groups=(\{\{.*?\}\})", text)) == {"{{0,1,2},{3,4,5}}"}
    assert "while(" in text
    assert "replica-id()" in text


def test_many_equal_collectives_are_written_with_their_own_names():
    def f(x):
        return [lax.psum(x * k, "i") for k in range(1, 7)] + [lax.all_gather(x, "i")] * 2

    text = xla_computation(f, axis_env=[("i", 2)])(F32).as_hlo_text()
    operands = re.findall(r"all-reduce\((\S+?)\)", text)
    assert len(operands) == len(set(operands)) == 6


@pytest.mark.parametrize(
    ("collective", "expected"),
    [
        (lambda x: lax.pmax(x, "j"), r"all-reduce\(\S+\), replica_groups=\{\{0,1\},\{2,3\}\}"),
        (lambda x: lax.pmin(x, ("j", "i")), r"replica_groups=\{\{0,2,1,3\}\}"),
        (
            lambda x: lax.psum(x, ("i", "j"), axis_index_groups=[[0], [3, 1, 2]]),
            r"replica_groups=\{\{0\},\{3,1,2\}\}",
        ),
        (lambda x: lax.all_gather(x, "i"), r"all-gather\(.*replica_groups=\{\{0,2\},\{1,3\}\}"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), r"f32\[2,4\]\S* reduce-scatter\("),
        (lambda x: lax.all_to_all(x, "j", 0, 1, tiled=True), r"all-to-all\("),
        (
            lambda x: lax.ppermute(x, "i", [(0, 1)]),
            r"collective-permute\(.*source_target_pairs=\{\{0,2\},\{1,3\}\}",
        ),
        (lambda x: lax.ppermute(x, "i", []), r"constant\(0\)"),
        (lambda x: lax.axis_index(("j", "i")), r"replica-id\(\)"),
    ],
)
def test_each_collective(collective, expected):
    text = xla_computation(collective, axis_env=[("i", 2), ("j", 2)])(F32).as_hlo_text()
    assert re.search(expected, text), text


@pytest.mark.parametrize("transform", [weft.make_jaxpr, xla_computation])
@pytest.mark.parametrize(
    ("axis_env", "error", "message"),
    [
        (["i"], TypeError, r"axis_env must be a sequence of pairs \(name, size\); got \['i'\]"),
        ([("i", "four")], TypeError, "axis_env must be"),
        ([("i", 0)], ValueError, "axis 'i' must have a positive size; got 0"),
        ([("i", 2), ("i", 3)], ValueError, "axis names are repeated"),
    ],
)
def test_axes_that_make_no_sense(transform, axis_env, error, message):
    with pytest.raises(error, match=message):
        transform(lambda x: x, axis_env=axis_env)


def test_closing_over_a_traced_value_is_refused():
    with pytest.raises(weft.errors.UnexpectedTracerError, match="xla_computation"):
        weft.jit(lambda x: xla_computation(lambda y: y + x)(1.0) and x)(2.0)
