"""`import jax` gives weft after `install`, in a process of its own."""

import subprocess
import sys
import textwrap

import pytest


def run(program: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a program, or `python arguments`, and checks its exit status."""
    command = arguments or ("-c", textwrap.dedent(program))
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


PYTEST = "import sys, pytest; sys.path.insert(0, sys.argv.pop(1)); sys.exit(pytest.main())"


def test_jax_is_weft_after_install_and_not_after_uninstall():
    out = run("""
        import importlib.metadata, importlib.util, sys
        import weft.compat
        before = "jax" in sys.modules
        weft.compat.install()
        import jax, jax.numpy as jnp, jax.random as jr
        from jax import lax
        from jax.experimental import sparse
        print(before, jax.grad(lambda x: jnp.sum(x**2))(jnp.ones(2)), jax.__version__)
        print(lax.add is weft.lax.add, sparse.BCOO is weft.experimental.sparse.BCOO)
        print(importlib.metadata.version("jax"), importlib.util.find_spec("jax.numpy") is not None)
        weft.compat.uninstall()
        print("jax" in sys.modules, any("jax" in name.split(".") for name in sys.modules))
        """)
    lines = out.stdout.splitlines()
    assert lines[0] == "False [2. 2.] 0.10.2"
    assert lines[1:3] == ["True True", "0.10.2 True"]
    assert lines[3].startswith("False")
    assert out.stderr == "weft.compat: `import jax` gives weft, as jax 0.10.2\n"


def test_config_is_read_as_an_attribute_and_imported_as_a_module():
    out = run("""
        import weft.compat
        weft.compat.install(quiet=True)
        import jax
        print(jax.config.jax_enable_x64)
        from jax.config import config
        config.update("jax_enable_x64", True)
        print(jax.config.jax_enable_x64, config.jax_enable_x64, hasattr(jax.config, "jax_x65"))
        """).stdout
    assert out.split() == ["False", "True", "True", "False"]


def test_modules_have_all_their_names_where_they_are_copied():
    out = run("""
        import weft.compat
        weft.compat.install(quiet=True)
        import jax.numpy as jnp, weft.numpy
        names = vars(jnp)
        print(names["abs"] is weft.numpy.abs, names["linalg"] is jnp.linalg)
        print({name for name in weft.numpy.__all__ if name[0] != "_"} <= set(names))
        names["added"] = 3
        print(jnp.added, jnp.zeros is names["zeros"], jnp.zeros is not weft.numpy.zeros)
        space = {}
        exec("from jax.lax import *", space)
        print(space["scan"] is weft.lax.scan, "dot" in space)
        """).stdout
    assert out.split() == ["True"] * 3 + ["3"] + ["True"] * 4


def test_the_real_jax_is_refused_when_it_is_loaded_already():
    out = run("""
        import sys, types
        sys.modules["jax"] = types.ModuleType("jax")
        import weft.compat
        try:
            weft.compat.install()
        except RuntimeError as error:
            print(error)
        """).stdout
    assert "jax is imported already" in out
    assert "fix: call weft.compat.install() before" in out


def test_an_unknown_year_is_refused():
    out = run("""
        import weft.compat
        try:
            weft.compat.install("1999")
        except ValueError as error:
            print(error)
        """).stdout
    assert "year must be one of 2024, today; got '1999'" in out


@pytest.mark.parametrize(("year", "version"), [("2024", "0.4.30"), ("today", "0.10.2")])
def test_the_year_decides_which_version_is_shown(year, version):
    program = "import jax, importlib.metadata as m; print(jax.__version__, m.version('jax'))"
    out = run(
        "", "-m", "weft.compat", "--quiet", "--year", year, "-m", "timeit", "-n1", "-r1", program
    )
    assert out.stdout.splitlines()[0] == f"{version} {version}"
    assert out.stderr == ""


def test_a_program_runs_with_its_arguments_and_its_folder(tmp_path):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, jax, beside\n"
        "print(__name__, sys.argv[1:], jax.jit(lambda x: x + 1)(2), beside.NAME)\n"
    )
    out = run("", "-m", "weft.compat", str(program), "--steps", "3")
    assert out.stdout == "__main__ ['--steps', '3'] 3 beside\n"


def test_trax_is_weft_too():
    out = run("""
        import weft.compat
        weft.compat.install(quiet=True)
        from trax import layers as tl
        from trax.fastmath import numpy as jnp
        layer = tl.Serial(tl.Dense(3), tl.Relu())
        layer.init(jnp.ones((2, 4)))
        print(layer(jnp.ones((2, 4))).shape)
        import weft
        from trax import data, models, optimizers, shapes
        from trax.supervised import callbacks, history
        from trax.optimizers.adam import Adam
        from trax.supervised import decoding, lr_schedules, training
        print(optimizers.Adam is Adam is weft.optimizers.Adam, training.Loop.__module__)
        print(callable(data.Serial), callable(models.ReformerLM), callable(decoding.beam_search))
        import trax
        print(trax.lr.warmup is lr_schedules.warmup, hasattr(__import__("jax"), "lr"))
        """).stdout
    assert out.splitlines() == [
        "(2, 3)", "True weft.supervised.training", "True True True", "True False",
    ]  # fmt: skip


def test_a_module_that_weft_has_not_is_not_found():
    out = run("""
        import weft.compat
        weft.compat.install(quiet=True)
        try:
            import jax.no_such_module
        except ModuleNotFoundError as error:
            print(error.name)
        """).stdout
    assert out == "jax.no_such_module\n"


def test_nothing_is_loaded_when_nobody_asks():
    out = run("import sys, weft.numpy; weft.numpy.ones(2) + 1; print('weft.compat' in sys.modules)")
    assert out.stdout == "False\n"


def test_random_numbers_are_as_before_after_uninstall():
    out = run("""
        import weft, weft.compat
        before = weft.random.uniform(weft.random.PRNGKey(0), (3,)).tolist()
        weft.compat.install(quiet=True)
        weft.compat.install("today", quiet=True)
        during = weft.random.uniform(weft.random.PRNGKey(0), (3,)).tolist()
        weft.compat.uninstall()
        weft.compat.uninstall()
        after = weft.random.uniform(weft.random.PRNGKey(0), (3,)).tolist()
        print(during == before, after == before)
        """).stdout
    assert out == "False True\n"


def test_jaxlib_does_not_find_the_names_of_jax():
    out = run("""
        import os
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
        import weft.compat
        weft.compat.install(quiet=True)
        import jax, numpy as np
        import jax._src.sharding_impls
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        sharding = NamedSharding(Mesh(np.array(jax.devices()[:4]), ("a",)), P("a"))
        x = jax.make_array_from_callback((8,), sharding, lambda index: np.arange(8)[index])
        print([shard.data.tolist() for shard in x.addressable_shards])
        """).stdout
    assert out == "[[0, 1], [2, 3], [4, 5], [6, 7]]\n"


def test_the_plug_in_installs_before_other_plug_ins_and_not_at_its_import(tmp_path):
    (tmp_path / "other_plug_in.py").write_text("import jax\n")
    (tmp_path / "test_it.py").write_text(
        "import jax, weft\ndef test_it(): assert jax.jit is weft.jit\n"
    )
    plug_ins = ("-p", "weft.compat.pytest_plugin", "-p", "other_plug_in")
    options = ("-q", "--rootdir", str(tmp_path), *plug_ins, str(tmp_path / "test_it.py"))
    done = run("", "-c", PYTEST, str(tmp_path), *options)
    assert "1 passed" in done.stdout
    imported = run("import sys, weft.compat.pytest_plugin; print('jax' in sys.modules)")
    assert imported.stdout == "False\n"
