"""A deep program runs as one executable for each distinct block, and computes what it did."""

import subprocess
import sys

import numpy as onp
import pytest
from deep_network import arguments, layer, network

import weft
import weft.numpy as np
from weft.compiler import segments
from weft.compiler.placing import buffer_on
from weft.compiler.segments import MIN_CALLS, SegmentedExecutable
from weft.runtime.failures import XlaRuntimeError

WHOLE = {"weft_segments": False}
FLAT = {"weft_outline": False}


@pytest.fixture(autouse=True)
def small_blocks_are_large(monkeypatch):
    monkeypatch.setattr(segments, "MIN_FLOPS", 1)


def adam(ws, momenta, x):
    """A step, whose last part updates all weights."""
    loss, gradients = weft.value_and_grad(network)(ws, x)
    momenta = [0.9 * m + 0.1 * g for m, g in zip(momenta, gradients, strict=True)]
    return loss, [w - 0.1 * m for w, m in zip(ws, momenta, strict=True)], momenta


def compiled(f, *args, **options):
    return weft.jit(f, **options).lower(*args).compile()


def same_bits(a, b):
    for x, y in zip(weft.tree.leaves(a), weft.tree.leaves(b), strict=True):
        onp.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("f", "depth"), [(network, 40), (weft.value_and_grad(network), 20)], ids=["value", "gradient"]
)
def test_values_are_those_of_the_program_as_one_executable(f, depth):
    args = arguments(depth)
    program = compiled(f, *args)
    assert isinstance(program.executable, SegmentedExecutable)
    whole = compiled(f, *args, compiler_options=WHOLE)
    assert not isinstance(whole.executable, SegmentedExecutable)
    same_bits(program(*args), whole(*args))
    flat = weft.jit(f, compiler_options=FLAT)(*args)
    for a, b in zip(weft.tree.leaves(weft.jit(f)(*args)), weft.tree.leaves(flat), strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


def test_few_calls_stay_in_one_executable():
    program = compiled(network, *arguments(MIN_CALLS - 1))
    assert not isinstance(program.executable, SegmentedExecutable)
    assert isinstance(compiled(network, *arguments(MIN_CALLS + 1)).executable, SegmentedExecutable)


def test_blocks_of_little_work_stay_in_one_executable(monkeypatch):
    monkeypatch.undo()
    for rows, parts in (64, False), (1024, True):
        program = compiled(network, *arguments(MIN_CALLS + 1, 512, rows))
        assert isinstance(program.executable, SegmentedExecutable) is parts


def wired(ws, x, wires):
    """Blocks whose results are read near and far, with other equations between some of them."""
    values, total = [x, x * 0.5, x + 1.0], x * 0.0
    for w, (near, far, stop) in zip(ws, wires, strict=True):
        values.append(layer(values[-1 - near] * 0.5, w) + values[far % len(values)] * 0.1)
        if stop:
            total = total - np.sort(values[-1], axis=1)
    return values[-1], x, total, values[far % len(values)], np.float32(2.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_between_segments_reach_their_readers(seed):
    r = onp.random.RandomState(seed)
    ws, x = arguments(48)
    wires = [(0, 0, False)] * 20 + [(r.randint(3), r.randint(60), r.rand() < 0.2) for _ in range(8)]
    wires += [(0, 1, False)] * 20
    program = weft.jit(wired, static_argnums=2).lower(ws, x, tuple(wires)).compile()
    assert isinstance(program.executable, SegmentedExecutable)
    with weft.disable_jit():
        expected = wired(ws, x, wires)
    for a, b in zip(program(ws, x), expected, strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_each_distinct_block_is_compiled_once_and_runs_in_turn():
    args = arguments(24)
    lowered = weft.jit(weft.value_and_grad(network)).lower(*args)
    report = lowered.compile_report()
    executable = lowered.compile().executable
    assert report.segments == len(executable.executables) >= 45
    assert len(executable.distinct) <= 6
    assert report.kernels > report.segments
    assert f"{report.segments} executables in a run" in str(report)
    assert executable.as_text().count("HloModule") == len(executable.distinct)


def test_a_deeper_model_compiles_nothing_new(tmp_path):
    from weft.compiler import disk_cache

    f = weft.value_and_grad(network)
    with weft.config.temporarily(cache_dir=str(tmp_path / "programs")):
        compiled(f, *arguments(20))
        before = disk_cache.info()
        shallow = compiled(f, *arguments(24))(*arguments(24))
        after = disk_cache.info()
    assert after["misses"] == before["misses"]
    assert after["hits"] > before["hits"]
    same_bits(shallow, weft.jit(f)(*arguments(24)))


def test_donated_arguments_are_deleted_and_the_last_segment_overwrites_them():
    ws, x = arguments(20)
    momenta = [np.zeros_like(w) for w in ws]
    expected = weft.jit(adam)(ws, momenta, x)
    step = weft.jit(adam, donate_argnums=(0, 1, 2))
    with pytest.warns(UserWarning, match="not usable"):  # no result is like x
        program = step.lower(ws, momenta, x).compile()
    assert isinstance(program.executable, SegmentedExecutable)
    assert program.memory_analysis().alias_bytes >= 2 * sum(w.nbytes for w in ws)
    same_bits(step(ws, momenta, x), expected)
    for argument in (*ws, *momenta, x):
        assert argument.is_deleted()


def test_an_interrupt_between_segments_leaves_donated_arguments():
    ws, x = arguments(20)
    momenta = [np.zeros_like(w) for w in ws]
    program = compiled(adam, ws, momenta, x, donate_argnums=(0, 1))
    executable = program.executable

    class Interrupted:
        def execute(self, buffers):
            raise KeyboardInterrupt

    run = segments.runner(executable.segments, [*executable.executables[:-1], Interrupted()])
    args = [np.copy(a) for a in (*ws, *momenta, x)]
    with pytest.raises(KeyboardInterrupt):
        run([buffer_on(a, executable.device) for a in args] + program.compiled.constants())
    assert not any(a.is_deleted() for a in args)


def test_memory_and_cost_are_those_of_all_segments():
    args = arguments(24, 64)
    f = weft.value_and_grad(network)
    parts, whole = compiled(f, *args), compiled(f, *args, compiler_options=WHOLE)
    assert parts.cost_analysis()["flops"] == pytest.approx(whole.cost_analysis()["flops"], rel=0.01)
    plan, other = parts.memory_analysis(), whole.memory_analysis()
    assert plan.argument_bytes == other.argument_bytes
    assert plan.output_bytes == pytest.approx(other.output_bytes, rel=0.01)
    assert plan.peak_bytes == plan.argument_bytes + plan.output_bytes + plan.temp_bytes
    assert 0.7 * other.peak_bytes < plan.peak_bytes < 1.1 * other.peak_bytes
    assert parts.memory().peak_bytes == whole.memory().peak_bytes


def test_machine_code_in_segments_is_not_serialized():
    with pytest.raises(XlaRuntimeError, match=r"serialize: .* segments\n  fix: .*weft_segments"):
        compiled(network, *arguments(40)).executable.serialize()


PROGRAM = """
import sys; sys.path.insert(0, {folder!r})
import weft, numpy
from test_segments import adam, arguments, np, segments
segments.MIN_FLOPS = 1
ws, x = arguments(20)
step = weft.jit(adam)
for _ in range(3):
    out = step(ws, [np.zeros_like(w) for w in ws], x)
    print(numpy.asarray(out[0]).tobytes().hex(), numpy.asarray(out[1][0]).tobytes().hex()[:64])
"""


def test_every_call_in_every_process_gives_the_same_bits(tmp_path):
    import pathlib

    program = PROGRAM.format(folder=str(pathlib.Path(__file__).parent))
    lines = []
    for _ in range(2):
        command = [sys.executable, "-c", program]
        lines += subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )[:3]
    assert len(lines) == 6
    assert len(set(lines)) == 1
