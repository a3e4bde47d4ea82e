"""Every name that weft.compat shows is the same as weft's, adapted, or refused with a reason."""

import subprocess
import sys
from pathlib import Path

import numpy as onp
import pytest

import weft
import weft.compat
from weft import jax_names
from weft.compat.names import names_of
from weft.compat.stand_ins import Refused
from weft.compat.table import ADAPTED, REFUSED, SAME, as_markdown, rows

ROOT = Path(__file__).parents[2]
VERSIONS = weft.compat.VERSIONS.values()


@pytest.mark.parametrize("version", VERSIONS)
def test_every_name_has_a_kind_and_refused_ones_a_reason(version):
    table = rows(version)
    assert len({(row.module, row.name) for row in table}) == len(table)
    for row in table:
        assert row.kind in (SAME, ADAPTED, REFUSED), row
        assert (row.kind == REFUSED) == bool(row.reason), row


def test_the_kinds_are_true():
    names = names_of("0.10.2")
    for row in rows("0.10.2"):
        value = names[row.module].get(row.name)
        assert row.name.startswith("*") or (row.kind == REFUSED) == isinstance(value, Refused), row
    kinds = {(row.module, row.name): row.kind for row in rows("0.10.2")}
    assert kinds["jax", "Array"] == SAME
    assert kinds["jax.core", "Trace"] == SAME
    assert kinds["jax.numpy", "zeros"] == ADAPTED  # it takes out_sharding
    assert kinds["jax.core", "gensym"] == REFUSED
    assert kinds["jax.experimental.jax2tf", "*"] == REFUSED


@pytest.mark.parametrize("version", VERSIONS)
def test_small_definitions_that_the_tests_of_libraries_use(version):
    names = names_of(version)
    backend = names["jax.lib.xla_bridge"]["get_backend"]
    before = backend()
    backend.cache_clear()
    assert backend() is before is backend()
    assert names["jax.core"]["get_aval"](weft.ShapeDtypeStruct((2,), "int32")).shape == (2,)
    assert names["jax.core"]["get_aval"](1.0).weak_type
    with pytest.raises(TypeError):
        names["jax.interpreters.xla"]["abstractify"](object())
    assert names["jax.experimental.multihost_utils"]["reached_preemption_sync_point"](3) is False


def test_uniform_takes_bounds_of_one_element_as_scalars():
    uniform = names_of("0.10.2")["jax.random"]["uniform"]
    key = weft.random.PRNGKey(0)
    number = weft.random.uniform(key, minval=1.0, maxval=3.0)
    assert uniform(key, (), float, onp.ones(1), 3.0).tolist() == [number]
    assert uniform(key, minval=1.0, maxval=onp.full((1, 1), 3.0)).shape == ()
    between = weft.vmap(uniform, in_axes=(None, None, None, 0, 0))
    assert between(key, (), float, onp.ones((2, 1)), onp.full((2, 1), 3.0)).shape == (2, 1)
    with pytest.raises(ValueError, match="uniform: parameters don't broadcast"):
        uniform(key, (), float, onp.ones(2))


def test_the_page_shows_the_table():
    page = (ROOT / "docs" / "compat.md").read_text()
    assert as_markdown("0.10.2") in page, "python -m weft.compat.table prints it"


PROGRAM = """
import importlib, json, sys, weft.compat
from weft import jax_names
weft.compat.install(quiet=True)
names = json.load(open("tests/names/newest.json"))
for space, listed in names.items():
    for name in listed:
        try:
            module = importlib.import_module(space.replace("weft", "jax", 1))
            getattr(module, name)
        except (ImportError, AttributeError):
            full = f"{space}.{name}"
            said = name.endswith("_p") or full in jax_names.LEFT_OUT or full in jax_names.INSTEAD
            print(full, "said" if said or name in jax_names.NOT_YET.get(space, "").split() else "")
"""


def test_every_public_name_of_jax_is_there_or_has_its_line_in_the_list_of_missing_ones():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, check=True
    )
    missing = [line.split(" ") for line in done.stdout.splitlines()]
    assert [name for name, said in missing if not said] == []


def test_what_weft_lacks_and_compat_has_is_real():
    names = names_of("0.10.2")
    for owner, listed in jax_names.NOT_YET.items():
        for name in listed.split():
            value = names.get(owner.replace("weft", "jax", 1), {}).get(name)
            assert not isinstance(value, Refused), (owner, name)
