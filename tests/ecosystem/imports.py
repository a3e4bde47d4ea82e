"""Every library of the era imports, in a process of its own, without jax."""

import subprocess
import sys

import pytest

MODULES = """
    blackjax chex diffrax distrax dm_pix e3nn_jax equinox flax flax.linen flax.nnx haiku jaxopt
    jraph lineax numpyro numpyro.infer optax optimistix orbax.checkpoint penzai.pz rlax
    tensorflow_probability.substrates.jax tinygp treescope
"""
OF_TODAY = ("flax.nnx",)
"""The modules of which the releases of 2024 are not expected to import."""

# neural_tangents is not among them: it imports TensorFlow, which is no requirement of this test.


@pytest.mark.parametrize("module", MODULES.split())
def test_a_library_imports(module: str, pytestconfig: pytest.Config) -> None:
    year = pytestconfig.getoption("--era")
    program = (
        f"import weft.compat; weft.compat.install({year!r}, quiet=True); import {module} as library"
        "; print(library.__file__)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"/{year}/" in done.stdout.strip().splitlines()[-1]
