"""Switches: threads, nesting, exceptions, the environment, errors."""

import os
import subprocess
import sys
import threading

import pytest

from weft.config import (
    check_tracer_leaks,
    config,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    log_compiles,
    numpy_rank_promotion,
    thread,
)

module = sys.modules["weft.config"]  # the name `weft.config` is the object in it


@pytest.fixture(autouse=True)
def unchanged():
    before = config.describe()
    yield
    assert config.describe() == before
    assert thread.key is module._Thread.key
    assert not module._overriding


class Worker:
    """A thread that runs functions one after another, when told."""

    def __enter__(self):
        self.todo, self.done, self.ready = None, threading.Semaphore(0), threading.Semaphore(0)
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self

    def work(self):
        while True:
            self.ready.acquire()
            if self.todo is None:
                return
            self.result = self.todo()
            self.done.release()

    def __call__(self, function):
        self.todo = function
        self.ready.release()
        assert self.done.acquire(timeout=10)
        return self.result

    def __exit__(self, *error):
        self.todo = None
        self.ready.release()
        self.thread.join(10)


def test_a_block_sets_and_restores():
    key = thread.key
    with enable_x64(True):
        assert thread.x64 is True
        assert config.enable_x64 is True
        assert thread.key != key
        with enable_x64(False):
            assert thread.x64 is False
            assert thread.key is key
        assert thread.x64 is True
    assert thread.x64 is False
    assert thread.key is key


def test_equal_keys_are_one_object():
    with enable_x64(True), check_tracer_leaks(True):
        first = thread.key
    with check_tracer_leaks(True), enable_x64(True):
        assert thread.key is first


def test_only_program_changing_switches_are_in_the_key():
    key = thread.key
    with log_compiles(True), config.temporarily(debug="tier"):
        assert thread.key is key
        assert thread.debug == "tier"
    for name in (
        "enable_x64",
        "numpy_rank_promotion",
        "default_matmul_precision",
        "check_tracer_leaks",
    ):
        assert module._named(name).traced


def test_a_block_restores_after_an_exception():
    with pytest.raises(ZeroDivisionError), enable_x64(True), check_tracer_leaks(True):
        raise ZeroDivisionError
    assert not thread.x64


def test_a_switch_with_its_value_is_a_decorator_and_reusable():
    @enable_x64(True)
    def recursive(n):
        return [thread.x64, *(recursive(n - 1) if n else [])]

    assert recursive(2) == [True, True, True]
    block = enable_x64(True)
    for _ in range(2):
        with block, block:
            assert thread.x64
        assert not thread.x64


def test_a_block_is_for_its_thread_only():
    with Worker() as other, enable_x64(True):
        assert other(lambda: (thread.x64, config.enable_x64)) == (False, False)
        assert thread.x64


def test_one_block_object_in_two_threads():
    block = enable_x64(True)
    with Worker() as other:
        other(block.__enter__)
        block.__enter__()
        other(lambda: block.__exit__(None, None, None))
        assert other(lambda: thread.x64) is False
        assert thread.x64
        block.__exit__(None, None, None)
        assert not thread.x64


def test_a_global_update_reaches_all_threads():
    with Worker() as early:
        before = early(lambda: thread.key)
        config.update("enable_x64", True)
        try:
            assert early(lambda: thread.x64)
            assert early(lambda: thread.key) is thread.key
            assert thread.key is not before
            with Worker() as late:
                assert late(lambda: (thread.x64, thread.key)) == (True, thread.key)
        finally:
            config.update("enable_x64", False)
        assert early(lambda: thread.key) is before


def test_a_global_update_passes_under_an_override_of_another_switch():
    with Worker() as other:
        block = check_tracer_leaks(True)
        other(block.__enter__)
        expected_key = other(lambda: thread.key)
        config.update("enable_x64", True)
        try:
            with check_tracer_leaks(True):
                expected_key = thread.key
            assert other(lambda: (thread.x64, thread.check_tracer_leaks)) == (True, True)
            assert other(lambda: thread.key) is expected_key
        finally:
            config.update("enable_x64", False)
            other(lambda: block.__exit__(None, None, None))


def test_a_global_update_does_not_pierce_an_override_of_the_same_switch():
    with enable_x64(False):
        key = thread.key
        config.update("enable_x64", True)
        assert not thread.x64
        assert thread.key is key
    assert thread.x64
    config.update("enable_x64", False)


def test_threads_that_switch_at_random_never_see_each_other():
    failures = []

    def work(value):
        for _ in range(200):
            with enable_x64(value), numpy_rank_promotion("raise" if value else "warn"):
                if thread.x64 is not value or thread.key[0] is not value:
                    failures.append(value)
            if thread.x64:
                failures.append("after")

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(8)]
    for each in threads:
        each.start()
    for i in range(50):
        config.update("enable_checks", i % 2 == 0)
    config.update("enable_checks", False)
    for each in threads:
        each.join(30)
    assert not failures


def test_callbacks_come_after_each_change_of_a_traced_value():
    seen = []

    @config.on_change
    def note():
        seen.append(thread.x64)

    try:
        with enable_x64(True):
            with enable_x64(True):
                pass
            with log_compiles(True):
                pass
        config.update("enable_x64", True)
        config.update("enable_x64", False)
    finally:
        module.callbacks.remove(note)
    assert seen == [True, False, True, False]


def test_a_failing_callback_leaves_no_override():
    @config.on_change
    def fail():
        if thread.x64:
            raise ZeroDivisionError

    try:
        with pytest.raises(ZeroDivisionError), enable_x64(True):
            pass
        assert not thread.x64
    finally:
        module.callbacks.remove(fail)


@pytest.mark.parametrize("prefix", ["", "jax_", "weft_"])
def test_names_may_carry_a_prefix(prefix):
    config.update(prefix + "enable_x64", True)
    assert getattr(config, prefix + "enable_x64") is True
    config.update(prefix + "enable_x64", False)
    config.update("jax_platform_name", "cpu")
    assert config.platform == "cpu"
    config.update("platform", None)


def test_unknown_names():
    with pytest.raises(
        AttributeError, match=r"no switch 'enable_x63'\n  fix: did you mean 'enable_x64'"
    ):
        config.update("enable_x63", True)
    with pytest.raises(AttributeError, match="no switch 'nope'"):
        _ = config.nope
    with pytest.raises(AttributeError, match=r"config\.update\('enable_x64', True\)"):
        config.enable_x64 = True


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("enable_x64", "maybe", "expected True or False"),
        ("enable_x64", 2, "expected True or False"),
        ("enable_x64", None, "expected True or False"),
        ("numpy_rank_promotion", "forbid", "one of 'allow', 'warn', 'raise'"),
        ("numpy_rank_promotion", ["allow"], "one of 'allow', 'warn', 'raise'"),
        ("eager_tier", None, "one of 'auto', 'host', 'xla'"),
        ("cpu_devices", 0, "whole number >= 1"),
        ("cpu_devices", "2.5", "whole number >= 1"),
        ("cpu_devices", True, "whole number >= 1"),
        ("debug", "jaxpr,nope", "comma-separated list of jaxpr, hlo, retrace, tier"),
        ("debug", 3, "comma-separated list"),
        ("cache_dir", 3, "a string or None"),
        ("default_matmul_precision", "wrong", "'highest'"),
    ],
)
def test_wrong_values(name, wrong, expected):
    with pytest.raises(ValueError, match="update") as caught:
        config.update(name, wrong)
    assert expected in str(caught.value)
    assert repr(wrong) in str(caught.value)


def test_a_block_checks_its_value_before_it_is_entered():
    with pytest.raises(ValueError, match="numpy_rank_promotion: expected one of"):
        numpy_rank_promotion("forbid")
    with pytest.raises(TypeError, match="expected one value"):
        numpy_rank_promotion()
    with disable_jit():
        assert config.disable_jit


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("debug", "tier, jaxpr", "jaxpr,tier"),
        ("default_matmul_precision", "float32", "highest"),
        ("default_matmul_precision", "None", None),
        ("eager_tier", "XLA", "xla"),
        ("cpu_devices", "4", 4),
        ("enable_checks", 1, True),
    ],
)
def test_values_are_kept_in_one_form(name, given, kept):
    with module._named(name)(given):
        value = getattr(config, name)
        assert value == kept
        assert type(value) is type(kept)


def test_several_at_once():
    with config.temporarily(enable_x64=True, eager_tier="host"):
        assert (config.enable_x64, config.eager_tier) == (True, "host")
    with (
        pytest.raises(ValueError, match="eager_tier"),
        config.temporarily(enable_x64=True, eager_tier="nope"),
    ):
        pass
    with default_matmul_precision("high"):
        assert config.default_matmul_precision == "high"


def test_the_table_names_every_switch():
    lines = config.describe().splitlines()
    assert len(lines) == len(module.switches()) + 1
    assert lines[1].split()[:4] == ["enable_x64", "False", "False", "WEFT_ENABLE_X64"]
    assert {"debug", "cache_dir"} <= set(dir(config))


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_is_read_at_import():
    code = (
        "from weft.config import config, thread; import threading; out = [];"
        "t = threading.Thread(target=lambda: out.append(thread.x64)); t.start(); t.join();"
        "print(config.enable_x64, out, thread.key[0], config.debug, config.cpu_devices)"
    )
    for true in ("1", "true", "ON", "Yes"):
        done = run(code, WEFT_ENABLE_X64=true, WEFT_DEBUG="hlo", WEFT_CPU_DEVICES="5")
        assert done.stdout.split() == ["True", "[True]", "True", "hlo", "5"], done.stderr
    for false in ("0", "off", ""):
        assert run(code, WEFT_ENABLE_X64=false).stdout.split()[0] == "False"


def test_a_wrong_environment_variable_is_named():
    done = run("import weft.config", WEFT_CPU_DEVICES="many")
    assert "environment variable WEFT_CPU_DEVICES: expected a whole number >= 1" in done.stderr


def test_importing_is_cheap():
    done = run(
        "import weft.config, sys; print([m for m in ('jaxlib', 'scipy') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
