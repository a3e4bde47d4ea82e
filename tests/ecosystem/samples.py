"""Samples of the libraries' own tests, with weft for their jax: `python samples.py today FOLDER`.

FOLDER/<era> has the libraries; their source archives are fetched into FOLDER/sources by pip, and
are no part of this repository. The table goes into docs/compat_samples.md. What jax does with the
same tests is in `samples_<era>.json`; an environment with jax writes it:

python samples.py --with-jax today FOLDER [LIBRARY …]

More words after FOLDER name libraries; then the page stays as it is. A test that a sample has no
time for counts as failed, and an archive that cannot be fetched has a line that says so.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "compat_samples.md"
SECONDS, SECONDS_WITH_JAX = 900, 3000
"""For the sample of one library."""

SAMPLES = {
    "optax": """
        optax/_src/base_test.py optax/_src/combine_test.py optax/_src/numerics_test.py
        optax/_src/update_test.py optax/_src/linear_algebra_test.py optax/_src/utils_test.py
        optax/losses/_classification_test.py optax/losses/_regression_test.py
        optax/transforms/_accumulation_test.py optax/transforms/_clipping_test.py
        optax/transforms/_freezing_test.py optax/tree_utils/_tree_math_test.py
    """,
    "chex": """
        chex/_src/asserts_test.py chex/_src/asserts_internal_test.py chex/_src/dataclass_test.py
        chex/_src/dimensions_test.py chex/_src/fake_test.py
    """,
    "dm-haiku": """
        haiku/_src/base_test.py haiku/_src/basic_test.py haiku/_src/conv_test.py
        haiku/_src/module_test.py haiku/_src/stateful_test.py haiku/_src/batch_norm_test.py
        haiku/_src/layer_norm_test.py haiku/_src/transform_test.py
    """,
    "flax": """
        tests/core/core_lift_test.py tests/core/core_scope_test.py tests/core/core_meta_test.py
        tests/linen/linen_activation_test.py tests/linen/linen_linear_test.py
        tests/linen/linen_module_test.py tests/linen/linen_transforms_test.py
        tests/traverse_util_test.py tests/nnx/metrics_test.py tests/nnx/module_test.py
        tests/nnx/rngs_test.py tests/nnx/variable_test.py
    """,
    "numpyro": "test/test_handlers.py test/test_distributions_util.py test/test_optimizers.py",
    "blackjax": """
        tests/mcmc/test_integrators.py tests/mcmc/test_metrics.py tests/mcmc/test_proposal.py
        tests/smc/test_resampling.py
    """,
    "distrax": """
        distrax/_src/distributions/deterministic_test.py distrax/_src/bijectors/chain_test.py
        distrax/_src/bijectors/tanh_test.py distrax/_src/bijectors/sigmoid_test.py
        distrax/_src/bijectors/scalar_affine_test.py distrax/_src/utils/math_test.py
    """,
    "rlax": """
        rlax/_src/clipping_test.py rlax/_src/losses_test.py rlax/_src/multistep_test.py
        rlax/_src/policy_gradients_test.py rlax/_src/value_learning_test.py
    """,
    "jraph": "jraph/_src/models_test.py jraph/_src/utils_test.py",
    "dm-pix": """
        dm_pix/_src/color_conversion_test.py dm_pix/_src/interpolation_test.py
        dm_pix/_src/metrics_test.py dm_pix/_src/patch_test.py
    """,
    "e3nn-jax": """
        tests/_src/basic_test.py tests/_src/irreps_test.py tests/_src/irreps_array_test.py
        tests/_src/gate_test.py
    """,
    "tinygp": "tests/test_gp.py tests/test_noise.py tests/test_transforms.py",
    "penzai": """
        tests/core/named_axes_test.py tests/core/selectors_test.py
        tests/core/struct_pytree_dataclass_test.py tests/core/variables_test.py
        tests/selectors_test.py tests/struct_pytree_dataclass_test.py
        tests/experimental/variables_test.py tests/nn/linear_and_affine_test.py
    """,
    "orbax-checkpoint": """
        orbax/checkpoint/checkpoint_args_test.py orbax/checkpoint/checkpoint_utils_test.py
        orbax/checkpoint/composite_checkpoint_handler_test.py
        orbax/checkpoint/json_checkpoint_handler_test.py
        orbax/checkpoint/metadata/sharding_test.py orbax/checkpoint/metadata/tree_test.py
        orbax/checkpoint/msgpack_utils_test.py
        orbax/checkpoint/random_key_checkpoint_handler_test.py
        orbax/checkpoint/single_host_test.py orbax/checkpoint/test_utils_test.py
        orbax/checkpoint/transform_utils_test.py orbax/checkpoint/utils_test.py
    """,
    "treescope": "tests/representation_test.py tests/utils_test.py",
    "diffrax": """
        test/test_term.py test/test_local_interpolation.py test/test_global_interpolation.py
        test/test_misc.py test/test_newton_solver.py
    """,
}
"""The files of each library's suite that are run."""

ONE_IN = {
    "dm-haiku": 2, "flax": 4, "numpyro": 2, "distrax": 4, "diffrax": 2,
}  # fmt: skip
"""One in so many tests of these files is run; of other libraries all are."""

ARCHIVES = {
    "diffrax": "diffrax==0.4.1",
    "treescope": "treescope==0.1.2",
}
"""The releases that have the tests of libraries whose own archives have none."""

PROGRAMS = {
    "equinox": "the 16 programs of `with_equinox`",
    "lineax": "the programs of `with_science` and `with_solvers`",
    "optimistix": "the programs of `with_science` and `with_solvers`",
    "jaxopt": "a program of `with_science`",
    "orbax-checkpoint": "`serialization.py` saves and restores with it",
    "tensorflow-probability": "the tests of distrax use it",
    "neural-tangents": "it needs TensorFlow, and is not run",
}
"""What stands in for tests, where no archive has any that can be run."""

WITHOUT_CONFTEST = ("diffrax",)
"""Libraries whose conftest.py is too old for jax 0.4.30: `outcomes.py` does what it does."""

WANTED = {"optax": 97, "chex": 97, "dm-haiku": 97, "flax": 97}
OTHERS = 92
"""How many of a hundred tests that jax passes have to pass."""


class Outcome(NamedTuple):
    """The outcome of a sample.

    Attributes:
      library: the requirement, such as "optax==0.2.8".
      passed: how many of the tests that jax passes weft passes too.
      total: how many jax passes.
      note: why there are none, or what happened.
    """

    library: str
    passed: int
    total: int
    note: str


def source_of(requirement: str, folder: Path) -> Path | None:
    """The folder of a library's source archive, fetched if it is not there; None without one."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '[-_]')}-{version}"
    if not any(path.is_dir() for path in folder.glob(pattern)):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name]
        command += ["--disable-pip-version-check", "-d", str(folder), requirement]
        try:
            subprocess.run(command, check=False, timeout=300)
        except subprocess.TimeoutExpired:
            return None
        for archive in folder.glob(f"{pattern}.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
    return next((path for path in folder.glob(pattern) if path.is_dir()), None)


def tests_of(requirement: str, folder: Path) -> tuple[Path, list[str]] | str:
    """The folder and the files of a library's sample, or why there are none."""
    library = requirement.partition("==")[0]
    source = source_of(ARCHIVES.get(library, requirement), folder / "sources")
    if source is None:
        return "its source archive could not be fetched"
    files = [name for name in SAMPLES[library].split() if (source / name).exists()]
    return (source, files) if files else "its source archive has no tests"


def run(
    command: list[str], library: str, source: Path, files: list[str], libraries: Path, log: Path,
    seconds: int,
) -> dict[str, bool]:  # fmt: skip
    """Runs the sample of a library in a process; returns which tests passed, by id."""
    written = log.with_suffix(".outcomes")
    written.unlink(missing_ok=True)
    command = [*command, "-q", "-p", "no:cacheprovider", "-p", "outcomes", "-W", "ignore"]
    command += ["--noconftest"] if library in WITHOUT_CONFTEST else []
    command += ["-c", os.devnull, "--rootdir", ".", "--timeout=60"]
    environment = {
        **os.environ,
        "OUTCOMES": str(written),
        "ONE_IN": str(ONE_IN.get(library, 1)),
        "X64": "1" if library in WITHOUT_CONFTEST else "",
        "PYTHONPATH": os.pathsep.join([str(libraries), str(HERE)]),
    }
    with log.open("w") as output:
        try:
            subprocess.run(
                [*command, *files], cwd=source, env=environment, stdout=output, timeout=seconds,
                stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            output.write(f"not done after {seconds} s\n")
    passed: dict[str, bool] = {}
    for line in written.read_text().splitlines() if written.exists() else ():
        name, outcome = json.loads(line)
        if outcome != "skipped":
            passed[name] = outcome == "passed" and passed.get(name, True)
    return passed


def with_weft(requirement: str, era: str, folder: Path, known: dict[str, Any] | None) -> Outcome:
    """Runs the sample of a library with weft."""
    library = requirement.partition("==")[0]
    found = tests_of(requirement, folder)
    if isinstance(found, str):
        return Outcome(requirement, 0, 0, found)
    source, files = found
    log = folder / f"sample_{era}_{library}.log"
    command = [sys.executable, "-m", "weft.compat", "--quiet", "--year", era, "-m", "pytest"]
    passed = run(command, library, source, files, folder / era, log, SECONDS)
    if not known or not known["passed"]:
        note = "jax was not asked" if known is None else "jax cannot import it; of all its tests"
        return Outcome(requirement, sum(passed.values()), len(passed), note)
    fail_with_jax = set(known["failed"])
    n = sum(ok for name, ok in passed.items() if name not in fail_with_jax)
    note = "" if n else f"none ran: {log.name} says why"
    return Outcome(requirement, n, known["passed"], note)


def record(requirement: str, era: str, folder: Path) -> dict[str, Any] | None:
    """Runs the sample of a library with jax."""
    library = requirement.partition("==")[0]
    found = tests_of(requirement, folder)
    if isinstance(found, str):
        return None
    log = folder / f"sample_{era}_{library}_jax.log"
    command = [sys.executable, "-m", "pytest"]
    passed = run(command, library, *found, folder / era, log, SECONDS_WITH_JAX)
    failed = sorted(name for name, ok in passed.items() if not ok)
    return {"passed": sum(passed.values()), "failed": failed}


def write(era: str, outcomes: list[Outcome]) -> None:
    """Puts the table of an era into the page."""
    lines = [f"## Releases of {era}" if era != "today" else "## Releases of today", ""]
    lines += ["| library | passed | of those that jax passes | % | |", "|---|--:|--:|--:|---|"]
    for o in outcomes:
        share = f"{100 * o.passed / o.total:.1f}" if o.total else ""
        lines.append(f"| {o.library} | {o.passed} | {o.total} | {share} | {o.note} |")
    counted = {o.library.partition("==")[0] for o in outcomes if o.passed}
    lines += [f"| {name} | | | | {why} |" for name, why in PROGRAMS.items() if name not in counted]
    section = "\n".join(lines) + "\n"
    page = PAGE.read_text() if PAGE.exists() else HEAD
    pattern = re.compile(rf"^{re.escape(lines[0])}\n.*?(?=^## |\Z)", re.M | re.S)
    if pattern.search(page):
        page = pattern.sub(lambda found: section + "\n", page).rstrip() + "\n"
    else:
        page = f"{page.rstrip()}\n\n{section}"
    PAGE.write_text(page)


HEAD = """# Tests of other libraries on weft

`make test-ecosystem` runs a fixed sample of each library's own tests, with weft for its jax, and
writes these tables. The tests come from the source archives of the releases, files of each library
that are listed in `tests/ecosystem/samples.py`. Of long files it takes one test in so many, chosen
by a checksum of the test's name. jax 0.10.2 and jax 0.4.30 ran the same tests in the same
environment, and a test that fails with jax is not counted.

Most of the tests of blackjax that fail compare two orders of operations to the last digit.

The archives of some libraries have no tests. Programs that follow their documentation stand in for
them (`tests/ecosystem/programs`): their values are those of jax, to four digits. Of diffrax and
treescope, older releases have tests; each runs with its own release.
"""


def main(*words: str) -> int:
    jax_is_real = "--with-jax" in words
    era, place, *libraries = [word for word in words if word != "--with-jax"]
    folder = Path(place).resolve()
    needs = (HERE / "requirements" / f"libraries_{era}.txt").read_text().split("\n")
    requirements = {r.partition("==")[0]: r for r in needs if "==" in r}
    of_jax = HERE / f"samples_{era}.json"
    known = json.loads(of_jax.read_text()) if of_jax.exists() else {}
    outcomes = []
    for library in libraries or SAMPLES:
        requirement = requirements[library]
        if jax_is_real:
            known[requirement] = found = record(requirement, era, folder)
            count = found and f"{found['passed']} pass, {len(found['failed'])} fail"
            sys.stdout.write(f"{requirement}: {count}\n")
            of_jax.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        else:
            outcome = with_weft(requirement, era, folder, known.get(requirement))
            sys.stdout.write(f"{requirement}: {outcome.passed} of {outcome.total} {outcome.note}\n")
            if outcome.total or library not in PROGRAMS:
                outcomes.append(outcome._replace(library=ARCHIVES.get(library, requirement)))
        sys.stdout.flush()
    if outcomes and not libraries:
        write(era, outcomes)
    few = [o for o in outcomes if o.total and not enough(o)]
    sys.stdout.writelines(f"too few: {o.library}, {o.passed} of {o.total}\n" for o in few)
    return len(few) > 0


def enough(outcome: Outcome) -> bool:
    """True if as many tests pass as have to."""
    wanted = WANTED.get(outcome.library.partition("==")[0], OTHERS)
    return 100 * outcome.passed >= wanted * outcome.total


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
