"""Switches as programs of the JAX era set and read them."""

import sys
import types

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.switch_options import HINTS, SETTLED, in_command_line

config = weft.config


@pytest.fixture(autouse=True)
def unchanged():
    before = config.describe()
    yield
    assert config.describe() == before


# --- blocks ---


def test_a_value_may_be_given_by_its_name():
    with weft.disable_jit(disable=True):
        assert config.disable_jit
        with weft.disable_jit(disable=False):
            assert not config.disable_jit
    with weft.enable_x64(new_val=True):
        assert config.enable_x64


@pytest.mark.parametrize("given", [{"disabled": True}, {"new_val": True}])
def test_a_value_by_another_name_is_refused(given):
    with pytest.raises(TypeError, match="disable_jit: expected its value, disable="):
        weft.disable_jit(**given)


def test_a_value_given_twice_is_refused():
    with pytest.raises(TypeError, match="expected one value; got 2"):
        weft.disable_jit(True, disable=True)


# --- reading and setting by JAX's names ---


@pytest.mark.parametrize("name", ["enable_x64", "jax_enable_x64", "weft_enable_x64"])
def test_read_is_the_value_of_this_thread(name):
    assert config.read(name) is False
    with weft.enable_x64(True):
        assert config.read(name) is True


@pytest.mark.parametrize("name", SETTLED)
def test_an_option_that_weft_has_always_can_be_set_to_what_it_is(name):
    config.update(f"jax_{name}", SETTLED[name])
    assert config.read(f"jax_{name}") == getattr(config, f"jax_{name}") == SETTLED[name]
    with pytest.raises(ValueError, match="as weft has it always; got 'another'"):
        config.update(f"jax_{name}", "another")


@pytest.mark.parametrize("name", sorted(HINTS))
def test_hints_to_jaxs_compiler_are_taken(name):
    config.update(f"jax_{name}", 3)
    assert config.read(f"jax_{name}") is None


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("enable_x46", "'enable_x64'"),
        ("jax_enable_x46", "'enable_x64'"),
        ("jax_numpy_dtype_promotions", "'numpy_dtype_promotion'"),
    ],
)
def test_an_unknown_switch_names_a_near_one(name, near):
    for ask in (config.read, lambda n: config.update(n, 1), lambda n: getattr(config, n)):
        with pytest.raises(AttributeError, match=f"no switch '{name}'\n  fix: did you mean {near}"):
            ask(name)


def test_an_unknown_switch_that_is_like_none_says_where_all_are():
    with pytest.raises(AttributeError, match=r"'zzzz'\n  fix: config\.describe\(\) lists all"):
        config.read("zzzz")


# --- the command line ---


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--jax_enable_x64"], [("jax_enable_x64", "true")]),
        (["-jax_enable_x64=0"], [("jax_enable_x64", "0")]),
        (["--nojax_enable_x64"], [("jax_enable_x64", "false")]),
        (["--jax_platforms", "cpu", "more"], [("jax_platforms", "cpu")]),
        (["--jax_platforms=cpu"], [("jax_platforms", "cpu")]),
        (["--weft_debug=jaxpr", "--other=1"], [("weft_debug", "jaxpr")]),
        (["file", "--", "--jax_enable_x64"], []),
    ],
)
def test_options_of_the_command_line(arguments, found):
    def is_flag(name):
        return "enable" in name

    assert list(in_command_line(arguments, is_flag)) == found


def test_flags_set_switches(monkeypatch):
    line = ["program", "--jax_log_compiles", "--jax_array=true", "--jax_debug=tier", "--own=1"]
    monkeypatch.setattr(sys, "argv", line)
    try:
        config.parse_flags_with_absl()
        assert config.log_compiles
        assert config.debug == "tier"
    finally:
        config.update("log_compiles", False)
        config.update("debug", "")


@pytest.mark.parametrize(
    ("option", "error"),
    [("--jax_log_compile=1", AttributeError), ("--jax_log_compiles=perhaps", ValueError)],
)
def test_wrong_flags_are_refused(monkeypatch, option, error):
    monkeypatch.setattr(sys, "argv", ["program", option])
    with pytest.raises(error, match="log_compile"):
        config.parse_flags_with_absl()


def test_absl_is_told_of_the_switches_where_a_program_uses_it(monkeypatch):
    class Flags(dict):
        parsed = 0

        def is_parsed(self):
            return self.parsed

        def mark_as_parsed(self):
            self.parsed += 1

    defined = Flags()
    flags = types.SimpleNamespace(
        FLAGS=defined,
        DEFINE_bool=lambda name, default, meaning: defined.update({name: bool}),
        DEFINE_string=lambda name, default, meaning: defined.update({name: str}),
    )
    monkeypatch.setitem(sys.modules, "absl.flags", flags)
    monkeypatch.setattr(sys, "argv", ["program"])
    for _ in range(2):
        config.parse_flags_with_absl()
    assert defined["jax_enable_x64"] is bool
    assert defined["jax_platforms"] is str
    assert defined.parsed == 1  # so that the program may read its own flags


# --- numpy_dtype_promotion ---

f32, i32, u8, c64, flags = (np.ones(2, d) for d in ("float32", "int32", "uint8", "complex64", bool))
bf16 = np.ones(2, np.bfloat16)

MEETING = {  # a program, its result by standard promotion, and the dtypes that "strict" refuses
    "a scalar of the kind": (lambda: f32 + 1.0, onp.float32([2, 2]), None),
    "a lesser scalar": (lambda: c64 * 2, onp.complex64([2, 2]), None),
    "a scalar on the left": (lambda: 2 - bf16, np.bfloat16([1, 1]), None),
    "two scalars": (lambda: np.array([1, 2.5]), onp.float32([1, 2.5]), None),
    "one dtype": (lambda: np.where(flags, f32, f32) @ f32, onp.float32(2), None),
    "a branch that is a number": (lambda: np.where(flags, f32, 0), onp.float32([1, 1]), None),
    "an update by a number": (lambda: f32.at[0].set(3), onp.float32([3, 1]), None),
    "division of integers": (lambda: i32 / i32, onp.float32([1, 1]), None),
    "a mean of integers": (lambda: np.mean(i32), onp.float32(1), None),
    "traced": (lambda: weft.jit(lambda x: x * 2)(f32), onp.float32([2, 2]), None),
    "differentiated": (
        lambda: weft.grad(lambda x: np.sum(x**3) * 2)(f32),
        onp.float32([6, 6]),
        None,
    ),
    "a float with integers": (lambda: i32 + 1.0, onp.float32([2, 2]), "int32 and weak float32"),
    "integers with floats": (lambda: f32 + i32, onp.float32([2, 2]), "float32 and int32"),
    "floats of two widths": (lambda: bf16 * f32, onp.float32([1, 1]), "bfloat16 and float32"),
    "a boolean": (lambda: flags + 1, onp.int32([2, 2]), "bool and weak int32"),
    "True": (lambda: f32 + True, onp.float32([2, 2]), "float32 and bool"),
    "a complex number": (
        lambda: f32 + 1j,
        onp.complex64([1 + 1j, 1 + 1j]),
        "float32 and weak complex64",
    ),
    "two widths of integers": (lambda: u8 + i32, onp.int32([2, 2]), "uint8 and int32"),
    "an update": (lambda: f32.at[0].set(i32[0] * 3), onp.float32([3, 1]), "float32 and int32"),
    "joined": (
        lambda: np.concatenate([f32, i32]),
        onp.float32([1, 1, 1, 1]),
        "float32 and int32",
    ),
}


@pytest.mark.parametrize("case", MEETING)
def test_strict_promotion(case):
    program, expected, refused = MEETING[case]

    def holds():
        found = program()
        assert found.dtype == expected.dtype
        onp.testing.assert_array_equal(found, expected)

    holds()
    with weft.numpy_dtype_promotion("strict"):
        if refused is None:
            holds()
        else:
            with pytest.raises(TypeError, match=f"{refused} .*'strict'\n  fix: "):
                program()
    holds()


def test_promotion_can_be_set_for_all_by_jaxs_name():
    config.update("jax_numpy_dtype_promotion", "strict")
    try:
        with pytest.raises(TypeError, match="strict"):
            f32 + i32
        with weft.numpy_dtype_promotion("standard"):
            assert (f32 + i32).dtype == "float32"
    finally:
        config.update("jax_numpy_dtype_promotion", "standard")
