"""Which plugins are found, and what happens when one can't be used. None is installed here, so
they are made up of files."""

import sys

import pytest

from weft.config import config
from weft.runtime import plugins
from weft.runtime.failures import PlatformError


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.delenv("WEFT_PJRT_PLUGIN", raising=False)
    plugins.discover.cache_clear()
    yield
    plugins.discover.cache_clear()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Makes files in a folder of installed packages."""

    def make(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("raise SystemExit('this file must not be imported')")
        monkeypatch.syspath_prepend(str(tmp_path))
        return tmp_path

    return make


def test_none_installed():
    assert plugins.discover() == []


def test_the_newest_cuda_wheel_is_found_and_not_imported(installed):
    folder = installed(
        "jax_plugins/xla_cuda12/__init__.py",
        "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
        "jax_plugins/xla_cuda13/__init__.py",
        "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
        "jax_plugins/xla_cuda14/__init__.py",
    )
    library = str(folder / "jax_plugins/xla_cuda13/xla_cuda_plugin.so")
    assert plugins.discover() == [plugins.Plugin("cuda", library, "jax_cuda13_plugin")]
    assert not any(name.startswith("jax_plugins") for name in sys.modules)


def test_named_by_the_environment(installed, monkeypatch):
    installed("jax_plugins/xla_cuda13/xla_cuda_plugin.so")
    monkeypatch.setenv("WEFT_PJRT_PLUGIN", "abacus:/opt/abacus.so, cuda:/opt/cuda.so")
    assert plugins.discover() == [("abacus", "/opt/abacus.so", ""), ("cuda", "/opt/cuda.so", "")]
    assert plugins.find("abacus").path == "/opt/abacus.so"
    with pytest.raises(PlatformError, match="no plugin for platform 'slide_rule'"):
        plugins.find("slide_rule")


@pytest.mark.parametrize("text", ["abacus", ":/path", "abacus:", "cpu:/path"])
def test_named_wrongly(monkeypatch, text):
    monkeypatch.setenv("WEFT_PJRT_PLUGIN", text)
    with pytest.raises(ValueError, match="WEFT_PJRT_PLUGIN"):
        plugins.discover()


def test_a_library_that_is_not_there():
    with pytest.raises(PlatformError, match=r"'abacus': there is no file /nowhere/abacus.so"):
        plugins.make_client(plugins.Plugin("abacus", "/nowhere/abacus.so"))


def test_a_library_that_is_none(tmp_path):
    (tmp_path / "abacus.so").write_bytes(b"not a library")
    with pytest.raises(PlatformError, match=r"'abacus' could not be opened: .*abacus.so"):
        plugins.make_client(plugins.Plugin("abacus", str(tmp_path / "abacus.so")))


def test_platforms_wanted():
    assert plugins.platforms_wanted() == []
    with config.temporarily(platform=" cuda, cpu ,"):
        assert plugins.platforms_wanted() == ["cuda", "cpu"]


def test_cuda_is_told_where_its_tools_are(installed):
    plugins.compile_options.cache_clear()
    folder = installed("nvidia/cu13/nvvm/libdevice/libdevice.10.bc")
    expected = {"xla_gpu_cuda_data_dir": str(folder / "nvidia" / "cu13")}
    assert plugins.compile_options("cuda") == expected
    assert plugins.compile_options("cpu") == {}
    plugins.compile_options.cache_clear()


def test_nvidia_libraries_that_do_not_load_are_passed_over(installed):
    installed("nvidia/cu13/lib/libcublas.so.13", "nvidia/cudnn/lib/libcudnn.so.9")
    plugins._load_cuda_libraries()


def test_the_version_of_a_wheel(installed):
    installed("jax_cuda13_plugin/__init__.py", "jax_cuda13_plugin-1.2.3.dist-info/METADATA")
    assert plugins._installed_version("jax_cuda13_plugin") == "1.2.3"
    assert plugins._installed_version("jax_cuda12_plugin") == "of unknown version"


def test_one_warning_and_the_cpu_when_a_plugin_fails(python):
    done = python(
        """
        import warnings
        from weft import runtime
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(runtime.has_accelerator(), runtime.devices(), runtime.default_device())
            print(runtime.has_accelerator(), runtime.default_backend())
        for warning in caught:
            print(warning.category.__name__, warning.message)
        try:
            runtime.devices("abacus")
        except runtime.PlatformError as error:
            print(error)
        """,
        WEFT_PJRT_PLUGIN="abacus:/nowhere/abacus.so",
    )
    assert done.stdout.splitlines() == [
        "False [CpuDevice(id=0)] cpu:0",
        "False cpu",
        "RuntimeWarning weft: platform 'abacus': there is no file /nowhere/abacus.so; "
        "the next platform is used (WEFT_PLATFORM=cpu silences this)",
        "platform 'abacus': there is no file /nowhere/abacus.so",
    ]
    assert done.stderr == ""


def test_a_platform_asked_for_is_not_replaced_by_another(python):
    done = python(
        """
        from weft import runtime
        try:
            runtime.devices()
        except runtime.PlatformError as error:
            print(error)
        print(runtime.devices("cpu"))
        """,
        WEFT_PJRT_PLUGIN="abacus:/nowhere/abacus.so",
        WEFT_PLATFORM="abacus,cpu",
    )
    assert done.stdout.splitlines() == [
        "platform 'abacus': there is no file /nowhere/abacus.so",
        "[CpuDevice(id=0)]",
    ]


def test_weft_platform_leaves_a_plugin_alone(python):
    done = python(
        """
        import sys
        from weft import runtime
        print(runtime.has_accelerator(), "jaxlib" in sys.modules)
        print(runtime.devices())
        """,
        WEFT_PJRT_PLUGIN="abacus:/nowhere/abacus.so",
        WEFT_PLATFORM="cpu",
    )
    assert done.stdout == "False False\n[CpuDevice(id=0)]\n"


def test_without_plugins_asking_for_one_loads_nothing(python):
    done = python("""
        import sys
        from weft import runtime
        print(runtime.has_accelerator(), "jaxlib" in sys.modules)
    """)
    assert done.stdout == "False False\n"
