"""Devices and how they are found. Each process opens them once, so most tests have their own."""

import pickle

import pytest

from weft import runtime


def test_importing_loads_neither_jaxlib_nor_jax(python):
    done = python("""
        import sys
        import weft.runtime, weft.runtime.callback, weft.runtime.distributed, weft.runtime.plugins
        import weft.compiler.disk_cache
        print([m for m in sys.modules if m.startswith("jax")], weft.runtime.is_loaded())
    """)
    assert done.stdout == "[] False\n"
    assert done.stderr == ""


def test_using_the_runtime_never_imports_jax_and_prints_nothing(python):
    done = python(
        """
        import sys
        import numpy as np
        class Watch:  # C++ code swallows the ImportError when there is no jax
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "jax":
                    print("import of", name)
        sys.meta_path.insert(0, Watch())
        from weft import runtime
        from weft.runtime import callback
        import ml_dtypes
        d, e = runtime.devices()
        f32 = np.dtype("f4")
        text = '''func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.add %a, %a : tensor<3xf32>
          return %0 : tensor<3xf32> }'''
        program = runtime.compile_text(text, [((3,), f32)], d)
        b = runtime.put(np.ones(3, f32), d)
        for _ in range(3):
            (c,) = program.execute([b])
        runtime.to_host(c, (3,), f32)
        moved = runtime.copy_to(c, e, (3,), f32)
        runtime.block_until_ready(moved)
        for name in ("bfloat16", "int4", "float8_e4m3fn"):
            dtype = np.dtype(getattr(ml_dtypes, name))
            x = runtime.put(np.ones(3, dtype), d)
            runtime.to_host(x, (3,), dtype)
            runtime.unsafe_pointer(x)
        runtime.is_ready(b), runtime.on_device_size(b), runtime.dlpack_capsule(b)
        runtime.unsafe_pointer(b), runtime.device_of(b), d.memory_stats(), runtime.has_accelerator()
        other = runtime.load_executable(program.serialize(), [((3,), f32)], e)
        other.execute([moved])
        program.cost_analysis(), program.memory_analysis(), program.as_text()
        hlo = runtime.HloComputation(text)
        hlo.as_hlo_text(), hlo.as_serialized_hlo_module_proto(), hlo.as_hlo_dot_graph()
        text = '''func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) {api_version = 4 : i32,
            has_side_effect = true, backend_config = {index = 0 : ui64}}
            : (tensor<3xf32>) -> tensor<3xf32>
          return %0 : tensor<3xf32> }'''
        twice = callback.Callback(lambda x: (2 * x,), [((3,), f32)])
        calling = runtime.compile_text(text, [((3,), f32)], d, callbacks=[twice])
        print(runtime.to_host(calling.execute([b])[0], (3,), f32))
        for wrong in (lambda: program.execute([]), lambda: runtime.compile_text("no", [], d)):
            try:
                wrong()
            except RuntimeError:
                pass
        print("jax" in sys.modules)
        """,
        WEFT_CPU_DEVICES="2",
    )
    assert done.stdout == "[2. 2. 2.]\nFalse\n"
    assert done.stderr == ""


def test_another_thread_may_import_jax_while_jaxlib_is_refused_it(python, tmp_path):
    """jaxlib 0.10 imports jax in a few calls, which weft refuses it: it alone, and no longer."""
    (tmp_path / "jax.py").write_text("name = 'of the user'")
    done = python(
        f"""
        import sys, threading
        sys.path.insert(0, {str(tmp_path)!r})
        from weft.runtime import versions
        found, inside, imported = [], threading.Event(), threading.Event()

        def other():
            inside.wait(30)
            import jax
            found.append(jax.name)
            imported.set()

        thread = threading.Thread(target=other)
        thread.start()
        with versions.without_jax():
            try:
                import jax
            except ModuleNotFoundError:
                print("refused", "jax" in sys.modules)
            inside.set()
            imported.wait(30)
        thread.join(30)
        import jax
        print(found, jax.name)
        """
    )
    assert done.stdout == "refused False\n['of the user'] of the user\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "settings",
    [{"WEFT_CPU_DEVICES": "3"}, {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}],
    ids=["switch", "XLA's flag"],
)
def test_the_devices_are_those_that_were_asked_for(python, settings):
    done = python(
        """
        import os
        before = {**os.environ}
        seen = []
        os.putenv, original = lambda *pair: seen.append(pair) or original(*pair), os.putenv
        import weft
        print(weft.device_count(), weft.local_device_count(), [d.id for d in weft.devices()])
        print([name for name, _ in seen if name == b"NPROC"], {**os.environ}.get("NPROC"))
        """,
        **settings,
    )
    assert done.stdout == "3 3 [0, 1, 2]\n[] None\n"


def test_a_device_describes_itself(device):
    assert repr(device) == "CpuDevice(id=0)"
    assert (device.id, device.platform, device.process_index) == (0, "cpu", 0)
    assert device.device_kind == "cpu"
    assert device.memory_stats() is None
    assert device.client.local_devices[0] is device


def test_devices_are_the_same_objects_every_time(device):
    assert runtime.devices()[0] is runtime.devices("cpu")[0] is runtime.local_devices()[0] is device
    assert pickle.loads(pickle.dumps(device)) is device


def test_counts(device):
    assert runtime.device_count() == runtime.local_device_count() == len(runtime.devices())
    assert (runtime.process_index(), runtime.process_count()) == (0, 1)
    assert runtime.default_backend() == "cpu"
    assert runtime.is_loaded()
    assert runtime.local_devices(process_index=1) == []


@pytest.mark.parametrize(
    "variables",
    [
        {"WEFT_CPU_DEVICES": "3"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"},
    ],
)
def test_virtual_devices(python, variables):
    done = python(
        """
        import numpy as np
        from weft import runtime
        devices = runtime.devices()
        print(devices, runtime.device_count("cpu"))
        buffers = [runtime.put(np.full(2, d.id), d) for d in devices]
        print([runtime.to_host(b, (2,), np.dtype(int)).tolist() for b in buffers])
        print([runtime.device_of(b).id for b in buffers])
        text = '''func.func public @main(%a: tensor<2xi64>) -> tensor<2xi64> {
          %0 = stablehlo.add %a, %a : tensor<2xi64>
          return %0 : tensor<2xi64> }'''
        for d, b in zip(devices, buffers):
            program = runtime.compile_text(text, [((2,), np.dtype(int))], d)
            (out,) = program.execute([b])
            print(runtime.to_host(out, (2,), np.dtype(int)).tolist(), runtime.device_of(out))
        """,
        **variables,
    )
    assert done.stdout.splitlines() == [
        "[CpuDevice(id=0), CpuDevice(id=1), CpuDevice(id=2)] 3",
        "[[0, 0], [1, 1], [2, 2]]",
        "[0, 1, 2]",
        "[0, 0] cpu:0",
        "[2, 2] cpu:1",
        "[4, 4] cpu:2",
    ]


def test_an_unknown_platform_is_named_with_those_that_exist():
    with pytest.raises(runtime.PlatformError, match=r"no platform 'abacus'; this process has: cpu"):
        runtime.devices("abacus")


def test_wrong_weft_platform(python):
    done = python(
        """
        from weft import runtime
        try:
            runtime.devices()
        except RuntimeError as error:
            print(error)
        """,
        WEFT_PLATFORM="abacus",
    )
    assert done.stdout == "WEFT_PLATFORM: no platform 'abacus' here; installed: cpu\n"


def test_threads_open_one_client(python):
    done = python("""
        import threading
        from weft import runtime
        found = []
        barrier = threading.Barrier(8)
        def look():
            barrier.wait()
            found.append(runtime.default_device())
        threads = [threading.Thread(target=look) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(len(found), len(set(map(id, found))))
    """)
    assert done.stdout == "8 1\n"


def test_a_forked_child_gets_an_error_and_can_read_what_is_there(python):
    done = python("""
        import os
        import sys
        import numpy as np
        from weft import runtime
        d = runtime.default_device()
        f32 = np.dtype("f4")
        text = '''func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.add %a, %a : tensor<3xf32>
          return %0 : tensor<3xf32> }'''
        program = runtime.compile_text(text, [((3,), f32)], d)
        b = runtime.put(np.ones(3, f32), d)
        execute = program.execute
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            for use in (
                lambda: execute([b]),
                lambda: runtime.put(np.ones(3, f32), d),
                lambda: runtime.copy_to(b, d, (3,), f32),
                lambda: runtime.compile_text(text, [((3,), f32)], d),
                lambda: runtime.load_executable(b"", [((3,), f32)], d),
                runtime.devices,
                runtime.default_device,
            ):
                try:
                    use()
                except runtime.ForkError as error:
                    print("fork" in str(error) and "spawn" in str(error))
            print(runtime.to_host(b, (3,), f32))
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(status, runtime.to_host(execute([b])[0], (3,), f32))
    """)
    assert done.stdout.splitlines() == ["True"] * 7 + ["[1. 1. 1.]", "0 [2. 2. 2.]"]


def test_forking_before_the_first_use_is_fine(python):
    done = python("""
        import os
        from weft import runtime
        child = os.fork()
        if child == 0:
            assert runtime.device_count() == 1
            os._exit(0)
        print(os.waitpid(child, 0)[1], runtime.device_count())
    """)
    assert done.stdout == "0 1\n"
