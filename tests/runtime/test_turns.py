"""Programs with collectives in flight: however many are begun, from wherever, none waits for ever.

Each scenario is a process of its own, which must come to its end. Without turns (`TurnQueue` in
runtime/executors.py), on jaxlib 0.10 all those that begin many of them hang.
"""

import subprocess
import sys
import textwrap

import pytest

from weft.runtime.executors import waits_across_devices

LIMIT = 100.0
"""Seconds for a scenario, on a machine that is busy: XLA ends a process that hangs after 60."""

PRELUDE = """
    import os, signal, sys, threading, time
    import numpy as onp
    import weft, weft.numpy as np
    from weft import lax
    from weft.sharding import Mesh, NamedSharding, PartitionSpec as P

    def total(devices=None):
        return weft.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=devices)

    def check(out, expected):
        assert (onp.asarray(out) == expected).all(), (out, expected)

    def at_once(*functions):
        errors = []
        def call(function):
            try:
                function()
            except BaseException as error:
                errors.append(error)
        threads = [threading.Thread(target=call, args=(f,)) for f in functions]
        [t.start() for t in threads]
        [t.join() for t in threads]
        if errors:
            raise errors[0]

    x = onp.ones((8, 16), onp.float32)
    f = total()
    check(f(x), 8)
"""

SCENARIOS = {
    "independent": """
        outs = [f(x * i) for i in range(600)]
        for i, out in enumerate(outs):
            check(out, 8 * i)
    """,
    "one after the other": """
        mean = weft.pmap(lambda x: lax.pmean(x, "i") + 1, axis_name="i")
        y = x
        for _ in range(600):
            y = mean(y)
        check(y, 601)
    """,
    "from four threads": """
        def work():
            outs = [f(x * i) for i in range(150)]
            for i, out in enumerate(outs):
                check(out, 8 * i)
        at_once(work, work, work, work)
    """,
    "dependent, from four threads, with donation": """
        mean = weft.pmap(lambda x: lax.pmean(x, "i") + 1, axis_name="i", donate_argnums=0)
        def work():
            y = f(x)
            for _ in range(250):
                y = mean(y)
            check(y, 258)
        at_once(work, work, work, work)
    """,
    "on groups of devices, apart and overlapping": """
        def worker(numbers):
            g = total([weft.devices()[i] for i in numbers])
            def work():
                for out in [g(x[: len(numbers)]) for _ in range(120)]:
                    check(out, len(numbers))
            return work
        at_once(*map(worker, [(0, 1, 2, 3), (4, 5, 6, 7), (2, 3, 4, 5), range(8)]))
    """,
    "among other programs": """
        one = weft.jit(lambda x: np.tanh(x @ x.T))
        each = weft.pmap(lambda x: x + 1)
        rows, columns = [
            NamedSharding(Mesh(weft.devices(), ("d",)), spec) for spec in (P("d"), P(None, "d"))
        ]
        a = onp.arange(64.0, dtype=onp.float32).reshape(8, 8)
        def work():
            for i in range(60):
                y = each(f(x))
                b = one(y[i % 8][None])
                s = weft.device_put(a, rows)
                t = weft.device_put(s, columns)
                n = np.sum(t) + np.sum(s)
                last = f(y)
            check(last, 72)
            check(t, a)
            check(n, 2 * a.sum())
        at_once(work, work)
    """,
    "with callbacks": """
        calls = []
        def host(v):
            calls.append(1)
            return onp.asarray(v) + 1
        shape = weft.ShapeDtypeStruct((16,), onp.float32)
        g = weft.pmap(lambda v: lax.psum(weft.pure_callback(host, shape, v), "i"), axis_name="i")
        large = onp.eye(500, dtype=onp.float32)
        dot = weft.jit(lambda a: (a @ a @ a)[:16, :16] @ np.ones(16))
        h = weft.pmap(lambda v: weft.pure_callback(lambda v: onp.asarray(dot(large)), shape, v))
        outer = weft.jit(lambda v: weft.pure_callback(lambda v: onp.asarray(f(x))[0], shape, v))
        def calling():
            for _ in range(20):
                check(g(x), 16)
        def computing():
            for _ in range(20):
                check(h(x), 1)
        def called():
            for _ in range(20):
                check(outer(x[0]), 8)
        def plain():
            for out in [f(x) for _ in range(200)]:
                check(out, 8)
        at_once(calling, calling, called, called, computing, computing, plain)
        assert len(calls) == 2 * 20 * 8
    """,
    "from a signal handler": """
        count = 0
        def handler(*_):
            global count
            count += 1
            kept.append(f(x))
        kept = []
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        outs = [f(x) for _ in range(500)]
        signal.setitimer(signal.ITIMER_REAL, 0)
        for out in outs + kept:
            check(out, 8)
        assert count
    """,
    "interrupted": """
        slow = weft.pmap(
            lambda x: lax.fori_loop(0, 8000, lambda i, x: lax.pmean(x, "i"), x), axis_name="i"
        )
        slow(x).block_until_ready()
        out = slow(x)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            f(x).block_until_ready()
        except KeyboardInterrupt:
            assert not out.is_ready()
        else:
            raise AssertionError("not interrupted")
        check(f(x), 8)
        check(out, 1)
    """,
    "at random interrupted": """
        import random
        for n in range(60):
            timer = random.uniform(0.001, 0.02)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, timer)
            try:
                while True:
                    f(x)
            except KeyboardInterrupt:
                pass
        check(f(x), 8)
    """,
    "at the end of the process": """
        for _ in range(50):
            out = f(x)
    """,
    "in a forked child": """
        out = f(x)
        pid = os.fork()
        if not pid:
            try:
                f(x)
            except RuntimeError as error:
                os._exit(0 if "forked" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        check(f(x), 8)
    """,
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_all_come_to_their_end(name):
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(SCENARIOS[name]) + "\nprint('the end')\n"
    ran = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "the end\n"), ran.stderr


FAILING = """
    shape = weft.ShapeDtypeStruct((16,), onp.float32)
    def failing(v):
        if onp.asarray(v)[0] == 3:
            raise ValueError("no threes")
        return onp.asarray(v)
    x = x * onp.arange(8, dtype=onp.float32)[:, None]
    for body in [
        lambda v: weft.pure_callback(failing, shape, v),
        lambda v: lax.psum(weft.pure_callback(failing, shape, v), "i"),
        lambda v: lax.psum(weft.pure_callback(failing, shape, lax.pmean(v, "i") * 0 + v), "i"),
    ]:
        for _ in range(5):
            try:
                weft.pmap(body, axis_name="i")(x)
            except ValueError as error:
                assert str(error) == "no threes"
            else:
                raise AssertionError("it gave a result")
        check(f(x), 28)
        check(weft.pmap(body, axis_name="i")(x * 0), 0)
"""


def test_a_callback_that_fails_on_one_device_stops_no_other():
    """The others would wait for it in the next collective, until XLA ends the process."""
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(FAILING)
    ran = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert ran.returncode == 0, ran.stderr


INSIDE = """
    from weft.runtime import BusyDevicesError
    each = weft.pmap(lambda x: x + 1)
    each(x)
    dot = weft.jit(lambda a: a @ a @ a)
    shape = weft.ShapeDtypeStruct((16,), onp.float32)
    large = onp.eye(700, dtype=onp.float32)
    spread = weft.device_put(x, NamedSharding(Mesh(weft.devices(), ("d",)), P("d")))

    def run(inner, collective):
        def body(v):
            y = weft.pure_callback(lambda v: onp.asarray(inner(v)), shape, v)
            return lax.psum(y, "i") if collective else y
        return weft.pmap(body, axis_name="i")(x)

    for collective in (False, True):
        for inner in (lambda v: f(x)[0], lambda v: each(x)[0], lambda v: np.sum(spread, 0)):
            try:
                run(inner, collective)
            except BusyDevicesError as error:
                assert "would wait for ever" in str(error)
            else:
                raise AssertionError("it gave a result")
        check(run(lambda v: dot(large)[:16, 0] * 0 + v, collective), 8 if collective else 1)
        check(run(lambda v: onp.asarray(spread)[0], collective), 8 if collective else 1)
    check(f(x), 8)
"""


def test_a_callback_of_several_devices_can_not_run_a_program_on_several():
    text = textwrap.dedent(PRELUDE) + textwrap.dedent(INSIDE)
    ran = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "line",
    [
        "%r = f32[8]{0} all-reduce(%x), channel_id=1",
        "%r = (f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[]) all-reduce(%a, %b)",
        "r = f32[8]{0} all-gather(x), dimensions={0}",
        "%r = (f32[1]{0}, f32[8]{0}) all-gather-start(%x), dimensions={0}",
        "%r = f32[1]{0} reduce-scatter(%x), dimensions={0}",
        "%r = f32[8]{0} all-to-all(%x), dimensions={0}",
        "%r = f32[8]{0} ragged-all-to-all(%x, %y, %a, %b, %c, %d)",
        "%r = f32[8]{0} collective-permute(%x), source_target_pairs={{0,1}}",
        "%r = f32[8]{0} collective-permute-start(%x), source_target_pairs={{0,1}}",
        "%r = f32[8]{0} collective-broadcast(%x), replica_groups={{0,1}}",
        "ROOT %r = (f32[8]{0}, u32[], token[]) send(%x, %t), channel_id=1",
        "%r = (f32[8]{0}, u32[], token[]) recv(%t), channel_id=1",
    ],
)
def test_collectives_are_seen(line):
    assert waits_across_devices(f"ENTRY %main (x: f32[8]) -> f32[8] {{\n  {line}\n}}")


@pytest.mark.parametrize(
    "line",
    [
        '%r = f32[8]{0} add(%x, %x), metadata={op_name="all-reduce"}',
        '%r = f32[8]{0} add(%all-reduce.1, %x), metadata={op_name="jit(f)/all-gather/add"}',
        "%all-reduce.1 = f32[] parameter(0)",
        "%region_0.0 (all-reduce.2: f32[], all-reduce.3: f32[]) -> f32[] {",
    ],
)
def test_names_are_no_collectives(line):
    assert not waits_across_devices(line)
