"""Programs that call Python functions."""

import gc
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
from letting_go import those_left

from weft import runtime
from weft.runtime import callback

F32, I32, BOOL = np.dtype("f4"), np.dtype("i4"), np.dtype(bool)
NAMES = {
    F32: "f32",
    I32: "i32",
    BOOL: "i1",
    np.dtype("f8"): "f64",
    np.dtype("f2"): "f16",
    np.dtype("i8"): "i64",
    np.dtype("i1"): "i8",
    np.dtype("u1"): "ui8",
    np.dtype("c8"): "complex<f32>",
    np.dtype("c16"): "complex<f64>",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e5m2): "f8E5M2",
    np.dtype(ml_dtypes.int4): "i4",
    np.dtype(ml_dtypes.uint4): "ui4",
}
SCALAR = ((), F32)


def tensor(spec):
    shape, dtype = spec
    return f"tensor<{''.join(f'{n}x' for n in shape)}{NAMES[dtype]}>"


def calling(inputs, outputs, index=0):
    """The text of a program that does nothing but call back."""
    args = ", ".join(f"%a{i}: {tensor(spec)}" for i, spec in enumerate(inputs))
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    ins, outs = ", ".join(map(tensor, inputs)), ", ".join(map(tensor, outputs))
    call = (
        f"stablehlo.custom_call @{callback.CALLBACKS['cpu']}({names}) {{api_version = 4 : i32, "
        f"has_side_effect = true, backend_config = {{index = {index} : ui64}}}} : ({ins}) -> "
        f"({outs})"
    )
    if not outputs:
        return f"func.func public @main({args}) {{\n {call}\n return }}"
    results = ", ".join(f"%0#{i}" if len(outputs) > 1 else "%0" for i in range(len(outputs)))
    count = f":{len(outputs)}" if len(outputs) > 1 else ""
    return (
        f"func.func public @main({args}) -> ({outs}) {{\n %0{count} = {call}\n"
        f" return {results} : {outs} }}"
    )


@pytest.fixture
def program(device):
    """Makes a program that calls a function."""

    def make(function, inputs, outputs):
        callbacks = [runtime.Callback(function, outputs)]
        text = calling(inputs, outputs)
        return runtime.compile_text(text, outputs, device, callbacks=callbacks)

    return make


def run(program, *arrays):
    buffers = program.execute([runtime.put(a, program.device) for a in arrays])
    return [runtime.to_host(b, *out) for b, out in zip(buffers, program.outputs, strict=True)]


@pytest.mark.parametrize("dtype", NAMES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_dtypes_and_shapes(program, dtype, shape):
    seen = []

    def function(x):
        seen.append(x)
        return [x]

    x = np.arange(6)[: int(np.prod(shape))].reshape(shape).astype(dtype)
    (out,) = run(program(function, [(shape, dtype)], [(shape, dtype)]), x)
    for got in (seen[0], out):
        assert (got.dtype, got.shape) == (dtype, shape)
        np.testing.assert_array_equal(got.astype("c16"), x.astype("c16"))
    assert not seen[0].flags.writeable


def test_several_arguments_and_results(program):
    specs = [((2, 3), F32), ((3,), I32), ((4,), BOOL)]
    arrays = [
        np.arange(6, dtype=F32).reshape(2, 3),
        np.array([1, -2, 3], I32),
        np.array([True, False, False, True]),
    ]
    f = program(lambda a, b, c: (a + 1, -b, ~c), specs, specs)
    a, b, c = arrays
    for got, expected in zip(run(f, *arrays), [a + 1, -b, ~c], strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_results_of_any_strides(program):
    x = np.arange(6, dtype=F32).reshape(2, 3)
    (out,) = run(program(lambda x: (x.T,), [((2, 3), F32)], [((3, 2), F32)]), x)
    np.testing.assert_array_equal(out, x.T)


def test_subnormal_numbers_are_what_they_are(program, device):
    """XLA takes them for zero while it runs a program, before and after a callback too."""
    tiny = np.float32(1e-40)
    seen = []

    def half(x):
        seen.append(float(x) * 0.5)
        return (x * np.float32(0.5),)

    f = program(half, [SCALAR], [SCALAR])
    assert run(f, tiny) == [tiny * np.float32(0.5)]
    assert seen == [float(tiny) / 2]
    text = calling([SCALAR], [SCALAR]).replace(
        "return %0", "%1 = stablehlo.add %0, %0 : tensor<f32>\n return %1"
    )
    callbacks = [runtime.Callback(half, [SCALAR])]
    after = runtime.compile_text(text, [SCALAR], device, callbacks=callbacks)
    assert run(after, tiny) == [0]


def test_inputs_may_be_kept(program):
    kept = []
    spec = ((1000,), F32)
    f = program(lambda x: (kept.append(x), (x,))[1], [spec], [spec])
    for k in range(20):
        run(f, np.full(1000, k, F32))
    assert [int(x[0]) for x in kept] == list(range(20))
    assert all((x == x[0]).all() for x in kept)


def test_effects_alone(program):
    seen = []
    f = program(lambda x: (seen.append(int(x)), ())[1], [((), I32)], [])
    for k in range(3):
        assert run(f, np.int32(k)) == []
    assert seen == [0, 1, 2]


class Mine(BaseException):
    """No Exception even."""


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, Mine])
def test_an_exception_comes_out_as_it_is(program, kind):
    def unlucky(x):
        raise kind("bad luck") from ArithmeticError("why")

    f = program(unlucky, [SCALAR], [SCALAR])
    for _ in range(2):
        with pytest.raises(kind, match="bad luck") as info:
            run(f, np.float32(1))
        assert type(info.value.__cause__) is ArithmeticError
        assert info.value.__context__ is None  # not XLA's error
        frames = [entry.name for entry in info.traceback]
        assert frames[-1] == "unlucky"
        assert "run" in frames


def test_xlas_own_failures_stay_what_they_are(program):
    f = program(lambda x: (x,), [SCALAR], [SCALAR])
    with pytest.raises(runtime.XlaRuntimeError, match="argument"):
        f.execute([])
    assert callback.take_error(RuntimeError("some other")) is None


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: (x.astype("f8"),), r"expected results \(float32\[2\]\); got \(float64\[2\]\)"),
        (lambda x: (x[:1],), r"got \(float32\[1\]\)"),
        (lambda x: (x, x), r"got \(float32\[2\], float32\[2\]\)"),
        (lambda x: None, "not iterable"),
    ],
)
def test_wrong_results_are_errors(program, result, message):
    spec = ((2,), F32)
    f = program(result, [spec], [spec])
    with pytest.raises(TypeError, match=message):
        run(f, np.ones(2, F32))


def test_a_program_is_given_the_functions_it_calls(device):
    text = calling([SCALAR], [SCALAR])
    with pytest.raises(ValueError, match="got none"):
        runtime.compile_text(text, [SCALAR], device)
    with pytest.raises(ValueError, match="got none"):
        runtime.load_executable(runtime.compile_code(text, device), [SCALAR], device)


def test_functions_are_known_by_their_number(device):
    functions = [runtime.Callback(lambda x, k=k: (x + k,), [SCALAR]) for k in range(3)]
    for k in range(3):
        text = calling([SCALAR], [SCALAR], index=k)
        f = runtime.compile_text(text, [SCALAR], device, callbacks=functions)
        assert run(f, np.float32(10)) == [10 + k]


def test_a_serialized_program_is_loaded_with_functions_of_its_own(device):
    text = calling([SCALAR], [SCALAR])
    code = runtime.compile_code(text, device)
    for k in range(3):
        functions = [runtime.Callback(lambda x, k=k: (x * k,), [SCALAR])]
        f = runtime.load_executable(code, [SCALAR], device, callbacks=functions)
        assert run(f, np.float32(7)) == [7 * k]
    with pytest.raises(runtime.XlaRuntimeError, match="was loaded"):
        f.serialize()


def test_a_function_lives_as_long_as_the_executable(program):
    class Function:
        def __call__(self, x):
            return (x,)

    function = Function()
    f, seen = program(function, [SCALAR], [SCALAR]), weakref.ref(function)
    run(f, np.float32(1))
    del function
    gc.collect()
    assert seen() is not None
    del f
    gc.collect()
    assert those_left([seen]) == []


def test_an_exception_keeps_nothing_alive(program):
    class Thing:
        pass

    seen = []

    def unlucky(x):
        held = Thing()
        seen.append(weakref.ref(held))
        raise ValueError("bad luck")

    with pytest.raises(ValueError, match="bad luck"):
        run(program(unlucky, [SCALAR], [SCALAR]), np.float32(1))
    gc.collect()
    assert seen[0]() is None


def test_from_several_threads(program):
    spec = ((8,), F32)
    f = program(lambda x: (x + 1,), [spec], [spec])
    wrong = []

    def work(k):
        for i in range(100):
            (out,) = run(f, np.full(8, i * k, F32))
            if not (out == i * k + 1).all():
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_errors_in_several_threads_are_each_ones_own(program):
    def fail(x):
        raise ValueError(str(int(x)))

    f = program(fail, [((), I32)], [])
    said = {}

    def work(k):
        for _ in range(20):
            with pytest.raises(ValueError, match=f"^{k}$"):
                run(f, np.int32(k))
        said[k] = True

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert said == dict.fromkeys(range(4), True)


# Large enough that XLA would run it in a thread of its own, of which there are as many as cores.
NESTED = """
    import os, threading
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:CORES])
    import numpy as np
    from weft import runtime
    from weft.runtime import callback
    n, d = 256, runtime.devices()[0]
    spec, kind = ((n, n), np.dtype("f4")), f"tensor<{n}x{n}xf32>"
    dot = f": ({kind}, {kind}) -> {kind}"
    def program(inside, *functions):
        text = f'''func.func public @main(%a: {kind}) -> {kind} {{
          %b = stablehlo.dot %a, %a {dot}
          {inside}
          %z = stablehlo.dot %c, %c {dot}
          return %z : {kind} }}'''
        callbacks = [runtime.Callback(f, [spec]) for f in functions]
        return runtime.compile_text(text, [spec], d, callbacks=callbacks)
    def run(p, x):
        return runtime.to_host(p.execute([runtime.put(x, d)])[0], *spec)
    inner = program(f"%c = stablehlo.dot %b, %b {dot}")
    call = (f"%c = stablehlo.custom_call @{callback.CALLBACKS['cpu']}(%b) {{api_version = 4 : i32, "
            f"backend_config = {{index = 0 : ui64}}}} : ({kind}) -> {kind}")
    threads_of_callbacks = set()
    def one(x):
        threads_of_callbacks.add(threading.get_ident())
        return (run(inner, x),)
    middle = program(call, one)
    outer = program(call, lambda x: (run(middle, x),))
    ours = set()
    def work():
        ours.add(threading.get_ident())
        for _ in range(3):
            run(outer, np.zeros((n, n), "f4"))
        pending = inner.execute([runtime.put(np.zeros((n, n), "f4"), d)])
        outer.execute(pending)[0].block_until_ready()
    work()
    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert threads_of_callbacks <= ours
    print("done")
"""


@pytest.mark.parametrize("cores", [1, 2])
def test_a_callback_may_run_programs_that_call_back(python, cores):
    assert python(NESTED.replace("CORES", str(cores))).stdout == "done\n"


def test_ctrl_c_between_two_callbacks_is_not_lost(python):
    done = python(
        """
        import os, signal, threading
        import numpy as np
        from weft import runtime
        from weft.runtime import callback
        n, d = 768, runtime.devices()[0]
        f32 = np.dtype("f4")
        small, big = "tensor<f32>", f"tensor<{n}x{n}xf32>"
        def call(out, names, kinds, index):
            return (f"{out} = stablehlo.custom_call @{callback.CALLBACKS['cpu']}({names}) "
                    f"{{api_version = 4 : i32, has_side_effect = true, "
                    f"backend_config = {{index = {index} : ui64}}}} : ({kinds}) -> {small}")
        dots = "".join(
            f"%m{k + 1} = stablehlo.dot %m{k}, %m{k} : ({big}, {big}) -> {big}\\n"
            for k in range(30)
        )
        text = f'''func.func public @main(%a: {small}, %m: {big}) -> {small} {{
          {call("%b", "%a", small, 0)}
          %w = stablehlo.broadcast_in_dim %b, dims = [] : ({small}) -> {big}
          %m0 = stablehlo.add %m, %w : {big}
          {dots}
          {call("%c", f"%b, %m30", f"{small}, {big}", 1)}
          return %c : {small} }}'''
        def first(x):  # the signal comes while XLA computes
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            return (x,)
        def second(x, m):
            print("called")
            return (x,)
        spec = ((), f32)
        functions = [runtime.Callback(f, [spec]) for f in (first, second)]
        f = runtime.compile_text(text, [spec], d, callbacks=functions)
        args = [runtime.put(np.float32(0), d), runtime.put(np.zeros((n, n), f32), d)]
        try:
            f.execute(args)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    # on a busy machine the signal may come when the second one is running already
    assert done.stdout.removeprefix("called\n") == "interrupted\n"
    assert done.stderr == ""


def test_on_several_devices(python):
    done = python(
        """
        import numpy as np
        from weft import runtime
        from weft.runtime import callback
        spec = ((2,), np.dtype("f4"))
        text = f'''func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> {{
          %0 = stablehlo.custom_call @{callback.CALLBACKS['cpu']}(%a) {{api_version = 4 : i32,
            backend_config = {{index = 0 : ui64}}}} : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32> }}'''
        for d in runtime.devices():
            functions = [runtime.Callback(lambda x: (x * 10,), [spec])]
            f = runtime.compile_text(text, [spec], d, callbacks=functions)
            (out,) = f.execute([runtime.put(np.full(2, d.id, "f4"), d)])
            print(runtime.to_host(out, *spec), runtime.device_of(out))
        """,
        WEFT_CPU_DEVICES="3",
    )
    assert done.stdout == "[0. 0.] cpu:0\n[10. 10.] cpu:1\n[20. 20.] cpu:2\n"
    assert done.stderr == ""
