"""Samples of the libraries' own tests, with weft for their jax: `python samples.py today FOLDER`.

FOLDER/<era> has the libraries; their source archives are fetched into FOLDER/sources by pip, and
are no part of this repository. An archive that cannot be fetched, or has no tests, has a line that
says so. The table goes into docs/compat_samples.md.
"""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "compat_samples.md"
SECONDS = 150
"""For the sample of one library."""

SAMPLES = {
    "optax": """
        optax/_src/base_test.py optax/_src/combine_test.py optax/_src/numerics_test.py
        optax/_src/update_test.py optax/_src/linear_algebra_test.py
        optax/losses/_classification_test.py optax/losses/_regression_test.py
    """,
    "chex": "chex/_src/asserts_test.py chex/_src/dataclass_test.py chex/_src/fake_test.py",
    "dm-haiku": """
        haiku/_src/base_test.py haiku/_src/basic_test.py haiku/_src/conv_test.py
        haiku/_src/module_test.py haiku/_src/stateful_test.py haiku/_src/batch_norm_test.py
    """,
    "flax": """
        tests/core/core_lift_test.py tests/core/core_scope_test.py
        tests/linen/linen_activation_test.py tests/linen/linen_linear_test.py
        tests/linen/linen_module_test.py tests/traverse_util_test.py
    """,
    "equinox": "tests/test_module.py tests/test_nn.py",
    "numpyro": "test/test_handlers.py test/test_distributions_util.py test/test_optimizers.py",
    "blackjax": """
        tests/mcmc/test_integrators.py tests/mcmc/test_metrics.py tests/mcmc/test_proposal.py
    """,
    "distrax": """
        distrax/_src/distributions/normal_test.py distrax/_src/distributions/categorical_test.py
        distrax/_src/distributions/laplace_test.py distrax/_src/bijectors/chain_test.py
        distrax/_src/bijectors/tanh_test.py
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
    """,
    "lineax": "tests/test_solve.py",
    "diffrax": "tests/test_integrate.py",
}
"""The files of each library's suite that are run."""


class Outcome(NamedTuple):
    """The outcome of a sample: how many tests passed and ran, or why none ran."""

    library: str
    passed: int
    total: int
    note: str


def source_of(requirement: str, folder: Path) -> Path | None:
    """The folder of a library's source archive, fetched if it is not there; None without one."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '[-_]')}-{version}"
    if not list(folder.glob(pattern)):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name]
        subprocess.run([*command, "-d", str(folder), requirement], check=False, timeout=300)
        for archive in folder.glob(f"{pattern}.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
    return next(iter(folder.glob(pattern)), None)


def run(requirement: str, era: str, folder: Path) -> Outcome:
    """Runs the sample of one library."""
    library = requirement.partition("==")[0]
    source = source_of(requirement, folder / "sources")
    if source is None:
        return Outcome(requirement, 0, 0, "its source archive could not be fetched")
    files = [name for name in SAMPLES[library].split() if (source / name).exists()]
    if not files:
        return Outcome(requirement, 0, 0, "its source archive has no tests")
    command = [sys.executable, "-m", "weft.compat", "--quiet", "--year", era, "-m", "pytest", "-q"]
    command += ["-p", "no:cacheprovider", "-W", "ignore", "-c", os.devnull, "--rootdir", "."]
    paths = [str(folder / era), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    try:
        done = subprocess.run(
            [*command, *files], cwd=source, env=environment, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome(requirement, 0, 0, f"not done after {SECONDS} s")
    (folder / f"sample_{era}_{library}.log").write_text(done.stdout + done.stderr)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?)", last)}
    passed = counts.get("passed", 0)
    note = "" if passed else f"pytest says: {last[:80]}"
    return Outcome(requirement, passed, sum(counts.values()), note)


def write(era: str, outcomes: list[Outcome]) -> None:
    """Puts the table of an era into the page."""
    lines = [f"## Releases of {era}" if era != "today" else "## Releases of today", ""]
    lines += ["| library | passed | of | |", "|---|--:|--:|---|"]
    lines += [f"| {o.library} | {o.passed} | {o.total} | {o.note} |" for o in outcomes]
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
writes these tables. The tests come from the source archives of the releases. A test that fails with
jax too is counted as failed.
"""


def main(era: str, folder: Path, *libraries: str) -> None:
    needs = (HERE / "requirements" / f"libraries_{era}.txt").read_text().split("\n")
    requirements = {r.partition("==")[0]: r for r in needs if "==" in r}
    outcomes = []
    for library in libraries or SAMPLES:
        outcome = run(requirements[library], era, folder)
        sys.stdout.write(f"{outcome.library}: {outcome.passed} of {outcome.total} {outcome.note}\n")
        sys.stdout.flush()
        outcomes.append(outcome)
    if not libraries:
        write(era, outcomes)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), *sys.argv[3:])
