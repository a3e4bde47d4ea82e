"""What all tests share: eight devices, the executables of one run, quick compilation, samples,
repeatable hypothesis runs, and the markers `gpu`, `devices` and `combinations`."""

import contextlib
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

# Processes that tests start find weft too, installed or not.
SOURCE = str(Path(__file__).parents[1] / "src")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (SOURCE, os.environ.get("PYTHONPATH"))))

# Read when weft is imported. The processes of one run share the executables that they compile, in a
# folder that goes when the run ends: no test passes because an earlier run left an executable.
FOLDER_OF_RUN = None
if "PYTEST_XDIST_WORKER" not in os.environ:
    FOLDER_OF_RUN = tempfile.mkdtemp(prefix="weft-tests-")
    os.environ["WEFT_CACHE_DIR"] = os.path.join(FOLDER_OF_RUN, "executables")

# The CPU acts as eight devices, unless the environment says otherwise. Processes that tests start
# get as many; those that need another number say so themselves.
os.environ.setdefault("WEFT_CPU_DEVICES", "8")

# Who works on weft wants its frames in the tracebacks of failing tests.
os.environ.setdefault("WEFT_TRACEBACK_FILTERING", "off")

# A shell that runs the tests in the background has them ignore Ctrl-C, and the processes that they
# start too; tests of interrupts need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore = ["ecosystem"]  # in an environment of its own: make test-ecosystem

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import sampling  # noqa: E402

hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


LEAST_EFFORT = (
    "cli",
    "core",
    "distributed",
    "docs",
    "errors",
    "examples",
    "experimental",
    "export",
    "extend",
    "fastmath",
    "generated",
    "higher_order",
    "image",
    "interop",
    "interpreters",
    "laws/test_derivatives.py",
    "laws/test_same_bits.py",
    "laws/test_values.py",
    "laws/test_warm_arguments.py",
    "layers",
    "lax",
    "models",
    "nn/test_activations.py",
    "nn/test_attention.py",
    "nn/test_initializers.py",
    "nn/test_normalization.py",
    "numpy",
    "optimizers",
    "programs",
    "random",
    "scipy/optimize",
    "scipy/sparse",
    "scipy/stats",
    "scipy/test_fft.py",
    "scipy/test_interpolation.py",
    "scipy/test_linalg.py",
    "scipy/test_signal.py",
    "scipy/test_transform.py",
    "seeds",
    "supervised",
    "test_debug.py",
    "test_ops.py",
    "test_test_util.py",
    "threads",
    "transforms",
)
"""The tests whose programs XLA compiles with the least effort: they are about what weft makes of
functions, which is the text. The others, as those of special functions' digits, compile as for
users."""


def pytest_addoption(parser):
    group = parser.getgroup("weft")
    group.addoption(
        "--whole",
        action="store_true",
        help="all combinations that are sampled otherwise, compiled as for users",
    )
    group.addoption(
        "--sample-seed", type=int, default=0, metavar="N", help="takes other samples (default: 0)"
    )


def pytest_configure(config):
    sampling.whole = config.getoption("whole")
    sampling.seed = config.getoption("sample_seed")


def pytest_unconfigure():
    if FOLDER_OF_RUN:
        shutil.rmtree(FOLDER_OF_RUN, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leaves out slow tests, and the combinations that a test marked `combinations` does not need.

    A test that is asked for by its full name always runs, and a slow one by a marker too.
    """
    if sampling.whole or any("[" in arg for arg in config.args):
        return
    tests = defaultdict(list)
    left_out = set()
    for item in items:
        if item.get_closest_marker("slow") and not config.option.markexpr:
            left_out.add(item)
            continue
        if item.get_closest_marker("combinations"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, group in tests.items():
        strength = group[0].get_closest_marker("combinations").kwargs.get("strength", 2)
        rows = [tuple(map(id, item.callspec.params.values())) for item in group]
        left_out.update(set(group).difference(
            group[i] for i in sampling.covering(rows, strength, name)
        ))  # fmt: skip
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def pytest_runtest_setup(item):
    """Layers draw the seeds of their weights from `random`: each test has its own, in every run."""
    random.seed(item.nodeid)


def pytest_collection_finish():
    """Tests that collect garbage need not go through thousands of tests and all modules."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def what_was_there_uncounted():
    """Leaves what earlier tests made, and what becomes of it, out of counts of objects."""
    for _ in range(4):  # what dies may hold another one
        gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def shared_bytecode():
    """Where Python writes no bytecode beside the sources, the processes that tests start share it
    in the folder of the run: without it each compiles weft anew, half of what a start takes."""
    if not sys.dont_write_bytecode:
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    folder = Path(os.environ["WEFT_CACHE_DIR"]).parent / "bytecode"
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    with contextlib.suppress(FileExistsError):
        folder.mkdir()  # by the first process of the run, which fills it
        subprocess.run([sys.executable, "-c", USUAL], check=True)


USUAL = """
import weft.layers, weft.numpy as np
weft.jit(weft.grad(lambda x: np.sum(np.sin(x))))(np.ones(3))
weft.distributed.initialize
"""


@pytest.fixture(scope="session", autouse=True)
def all_digits_of_products():
    """On an accelerator products of float32 round to TF32 or bfloat16 unless all digits are asked
    for; tests compare values with NumPy's."""
    from weft.runtime import client

    if client.has_accelerator():
        import weft

        weft.config.update("default_matmul_precision", "highest")


@pytest.fixture(scope="session")
def least_effort():
    """XLA's options with which it compiles soonest, of those that this jaxlib has."""
    import weft

    program = weft.jit(lambda x: x + 1).lower(1)
    wanted = {
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
        "xla_cpu_use_fusion_emitters": False,  # the emitters build much before they begin
        "xla_cpu_parallel_codegen_split_count": 1,  # of 32 parts each would begin anew
    }
    options = {}
    for name, value in wanted.items():
        with contextlib.suppress(weft.errors.WeftError):  # it came or went with a release
            program.compile(compiler_options={name: value})
            options[name] = value
    return options


@pytest.fixture(scope="module", autouse=True)
def effort_of_compilation(request):
    """Has XLA compile with the least effort, in processes that tests start too, but where its
    effort is what tests are about."""
    path = request.path.relative_to(Path(__file__).parent).as_posix()
    if sampling.whole or not path.startswith(LEAST_EFFORT):
        yield
        return
    from weft.compiler import lowered

    options = request.getfixturevalue("least_effort")
    before = dict(lowered.OPTIONS)
    lowered.OPTIONS |= {name: given | options for name, given in before.items()}
    with pytest.MonkeyPatch.context() as patch:
        # for the processes that tests start; XLA in this one has read it long ago
        flags = " ".join(f"--{name}={value}".lower() for name, value in options.items())
        patch.setenv("XLA_FLAGS", f"{os.environ.get('XLA_FLAGS', '')} {flags}".lstrip())
        yield
    lowered.OPTIONS |= before


@pytest.fixture
def loops_on_one_device(monkeypatch):
    """Training loops that ask for no number of devices take one, as on the CPU of a user: a
    program for eight compiles and runs for twice as long."""
    from weft.supervised import hosts

    devices = hosts.local_devices()
    monkeypatch.setattr(hosts, "local_devices", lambda: devices[:1])


@pytest.fixture(scope="session")
def has_gpu():
    """Whether this machine has a GPU that weft can use."""
    import weft

    return any(device.platform in ("cuda", "gpu", "rocm") for device in weft.devices())


@pytest.fixture(autouse=True)
def skipped_without_hardware(request):
    """Skips a test marked `gpu` where there is none, and one marked `devices(n)` where the
    preferred platform has fewer, as where that is one GPU."""
    if request.node.get_closest_marker("gpu") and not request.getfixturevalue("has_gpu"):
        pytest.skip("needs a GPU")
    if marker := request.node.get_closest_marker("devices"):
        import weft

        if weft.local_device_count() < marker.args[0]:
            pytest.skip(f"needs {marker.args[0]} devices")
