"""The command `weft` from end to end: its commands, exit statuses, help and errors."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tomllib

import numpy as onp
import pytest

from weft import checkpoints
from weft.cli.main import main
from weft.compiler import disk_cache
from weft.supervised import metric_files
from weft.supervised.training import Loop
from weft.tree_util import tree_leaves

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def weft(capsys):
    """Runs a command; returns its exit status, and what it printed on stdout and on stderr."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return status, out, err

    return run


def saved(run, name="model"):
    tree = checkpoints.restore(run / name)
    return [onp.asarray(x).tobytes() for x in tree_leaves([tree["weights"], tree["tasks"]])]


def test_train_eval_sample_and_report(files, weft):
    status, out, _ = weft("train", "lm.toml")
    assert status == 0
    assert out.startswith("out: steps 1 to 6\n")
    reported = re.findall(r"^Step +(\d+): (train|eval ) +(\w+) \|", out, re.MULTILINE)
    metrics = [("train", "CategoryCrossEntropy"), ("eval ", "CategoryAccuracy"),
               ("eval ", "CategoryCrossEntropy")]  # fmt: skip
    assert reported == [(str(step), *metric) for step in (1, 3, 6) for metric in metrics]
    assert out.endswith("Step 6 is saved in out/model; weft report out draws its curves\n")
    written = tomllib.loads((files / "out" / "config.toml").read_text())
    assert written["run"]["seed"] == 0
    assert written["model"] == tomllib.loads((files / "lm.toml").read_text())["model"]

    status, out, _ = weft("eval", "out")
    assert status == 0
    assert re.fullmatch(
        r"out: model, 2 batches\n"
        r"Step      6: eval      CategoryAccuracy \|  0\.\d{8}\n"
        r"Step      6: eval  CategoryCrossEntropy \|  \d\.\d{8}\n",
        out,
    )
    assert weft("eval", "lm.toml") == (0, out, "")
    assert "5 batches" in weft("eval", "out", "--set", "eval.batches=5")[1]

    command = ("sample", "out", "--prompt", "to be", "--n", 2, "--length", 6)
    first = weft(*command)
    assert (first[0], first[2]) == (0, "")
    one, two = re.fullmatch(r"--- 1\nto be(.*)\n\n--- 2\nto be(.*)\n", first[1], re.DOTALL).groups()
    assert (len(one), len(two)) == (6, 6), "tokens below 128 are characters"
    assert one != two
    assert weft(*command) == first
    assert weft(*command, "--seed", 1)[1] != first[1]

    status, out, _ = weft("report", "out")
    assert (status, out) == (0, "out/report.html\n")
    assert "<svg" in (files / "out" / "report.html").read_text()
    assert weft("report", "out", "-o", "page.html")[1] == "page.html\n"
    assert (files / "page.html").is_file()

    for place, options, message in [
        ("out", ["--temperature", -1], "--temperature -1.0: [sample] temperature: "),
        ("out", ["--top-p", 2], "--top-p 2.0: [sample] top_p: "),
        ("out", ["--checkpoint", "modle"], "out has no checkpoint 'modle'\n  fix: did you mean"),
        ("points.csv", [], "points.csv:1: not TOML: "),
        (".", [], ".: has no config.toml\n  fix: the folder of a run that weft train has begun"),
    ]:
        status, _, err = weft("sample", place, *options)
        assert status == 2
        assert err.startswith(f"weft sample: {message}")
        assert "\n  fix: " in err


def test_the_same_command_resumes_and_gives_the_same_bits(files, weft, monkeypatch):
    assert weft("train", "lm.toml")[0] == 0
    one_step = Loop._one_step

    def stopped(loop):
        if loop.step == 3:
            signal.raise_signal(signal.SIGINT)
        one_step(loop)

    command = ("train", "lm.toml", "--output-dir", "again")
    monkeypatch.setattr(Loop, "_one_step", stopped)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    status, out, _ = weft(*command)
    assert status == 130
    assert "Saving after this step, then ending; Ctrl-C again ends at once\n" in out
    assert out.endswith("Step 4 is saved in again/model\n")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    monkeypatch.undo()
    monkeypatch.chdir(files)
    status, out, _ = weft(*command)
    assert status == 0
    assert out.startswith("again: steps 5 to 6\n")
    assert saved(files / "again") == saved(files / "out")
    rows = [metric_files.read_metrics(files / run).series for run in ("out", "again")]
    assert rows[0] == rows[1]

    status, out, _ = weft(*command)
    assert (status, out) == (0, "again has all 6 steps already; --steps 12 adds more\n")
    assert weft(*command, "--steps", 7)[1].startswith("again: steps 7 to 7\n")
    status, _, err = weft(*command, "--set", "model.d_ff=16")
    assert status == 2
    assert err == (
        "weft train: --set model.d_ff=16: [model] d_ff: the run in again has 8; got 16\n"
        "  fix: --output-dir with a new folder, or the model that the run has\n"
    )


def test_sigterm_saves_and_says_so(files, weft, monkeypatch):
    one_step = Loop._one_step

    def stopped(loop):
        if loop.step == 1:
            signal.raise_signal(signal.SIGTERM)
        one_step(loop)

    monkeypatch.setattr(Loop, "_one_step", stopped)
    status, out, _ = weft("train", "classifier.toml")
    assert status == 128 + signal.SIGTERM
    assert out.endswith("Step 2 is saved in runs/classifier/model\n")


def test_ctrl_c_twice_ends_at_once(files, weft, monkeypatch):
    def stopped(loop):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Loop, "_one_step", stopped)
    status, _, err = weft("train", "classifier.toml")
    assert (status, err) == (130, "weft train: interrupted\n")


def test_a_loss_that_is_not_finite_is_one_error(files, weft):
    status, _, err = weft("train", "classifier.toml", "--set", "optimizer.learning_rate=1e38",
                          "--steps", 20)  # fmt: skip
    assert status == 1
    assert "weft train: Loop: " in err
    with pytest.raises(FloatingPointError):
        main(["train", "classifier.toml", "--set", "optimizer.learning_rate=1e38", "--steps", "20",
              "--output-dir", "other", "--traceback"])  # fmt: skip


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.learning_rate=-1", "--set optimizer.learning_rate=-1: [optimizer] "
         "learning_rate: SGD: learning_rate must be at least 0.0; got -1.0\n"
         "  fix: another value of learning_rate\n"),
        ("data.source.files=no.csv", "--set data.source.files=no.csv: [data] source.files: "
         "CSV: there is no file 'no.csv'\n  fix: the path of a file that is there\n"),
        ("data.source.columns.z=int32", "classifier.toml:20: [data] source: CSV: points.csv has no "
         "column 'z'; it has ['x', 'y', 'kind']\n  fix: other values in this table\n"),
        ("data.stages.Batch.batch_size=100", "classifier.toml:17: [data]: TrainTask: labeled_data "
         "has no batches\n  fix: more data, or a smaller batch_size\n"),
        ("loss.name=WeightedCategoryCrossEntropy", "classifier.toml:10: [loss]: Loop: "
         "WeightedCategoryCrossEntropy takes 3 tensors; the model gives 1, and the batch has 1 "
         "beside the model's inputs\n  fix: batches of (inputs, targets, weights); "
         "data.AddLossWeights() adds the weights\n"),
        ("run.lowest=L2Loss", "--set run.lowest=L2Loss: [run] lowest: evaluations have no metric "
         "'L2Loss'\n  fix: [eval] with metrics = [\"L2Loss\"]\n"),
        ("run.devices=99", "--set run.devices=99: [run] devices: "),
        ("run.devices=2", "--set run.devices=2: [run] devices: 2 devices do not divide a batch of "
         "5\n  fix: devices = 1, or a batch_size that is a multiple of 2\n"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_errors_of_the_file(files, weft, override, message):
    status, _, err = weft("train", "classifier.toml", "--set", override)
    assert status == 2
    assert err.startswith(f"weft train: {message}")
    assert err.endswith(message) or message.endswith(": ")


def test_eval_needs_its_table_and_a_checkpoint(files, weft):
    status, _, err = weft("eval", "classifier.toml")
    assert (status, err) == (
        2,
        "weft eval: classifier.toml: the table [eval] is missing\n"
        "  fix: [eval] with metrics, batches and data\n",
    )
    status, _, err = weft("eval", "lm.toml")
    assert (status, err) == (
        2, "weft eval: out has no checkpoint 'model'\n  fix: weft train makes one\n",
    )  # fmt: skip


def test_a_model_that_is_no_language_model_is_not_sampled(files, weft):
    assert weft("train", "classifier.toml")[0] == 0
    status, _, err = weft("sample", "runs/classifier")
    assert status == 2
    assert "[model]: the model does not map tokens to logits: Dense_" in err


def test_report_of_a_folder_without_a_run(files, weft):
    status, _, err = weft("report", "nowhere")
    assert status == 2
    assert err.startswith("weft report: ")


def test_info_and_cache(files, weft, monkeypatch):
    status, out, _ = weft("info")
    assert status == 0
    assert re.search(r"^devices     \S", out, re.MULTILINE)
    place = files / "cache"
    monkeypatch.setattr(disk_cache._cache, "directory", str(place))
    status, out, _ = weft("cache")
    assert status == 0
    assert out.split() == ["folder", str(place), "entries", "0", "size", "0.0", "MiB"]
    place.mkdir(mode=0o700, exist_ok=True)
    (place / "old.xla").write_bytes(b"x")
    assert weft("cache", "--clear")[0] == 0
    assert not (place / "old.xla").exists()
    monkeypatch.setattr(disk_cache._cache, "directory", "")
    assert weft("cache")[1] == "The cache is off: the switch cache_dir is empty\n"


PROGRAM = """
import sys
import weft
import weft.numpy as np

step = weft.jit(lambda x: (x * 0.9, x.sum()))
x = np.ones(9)
for i in range(int(sys.argv[1])):
    x, total = step(x)
    print(float(total))
if len(sys.argv) > 2:
    raise ValueError(sys.argv[2])
"""


def test_explain(tmp_path, monkeypatch, weft):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decay.py").write_text(PROGRAM)
    before = [*sys.argv], [*sys.path]
    status, out, err = weft("explain", "decay.py", "6")
    assert (status, err) == (0, "")
    assert out.startswith("9.0\n8.1")
    assert "decay.py: 1 finding; 1 programs, 6 calls" in out
    assert "decay.py:10: read in a loop: " in out
    assert "    + if i % 100 == 0: print(float(total))" in out
    assert out.endswith("The page is decay.html\n")
    assert "<h2>Findings</h2>" in (tmp_path / "decay.html").read_text()
    assert before == ([*sys.argv], [*sys.path])


def test_explain_a_program_that_fails(tmp_path, monkeypatch, capsys):
    """Its error is printed, and what ran before is explained."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decay.py").write_text(PROGRAM)
    status = main(["explain", "-o", "page.html", "decay.py", "6", "too bad"])
    out, err = capsys.readouterr()
    assert status == 1
    assert err.rstrip().endswith("ValueError: too bad")
    assert "read in a loop" in out
    assert (tmp_path / "page.html").exists()


def test_explain_a_file_that_is_not_there(tmp_path, monkeypatch, weft):
    monkeypatch.chdir(tmp_path)
    status, _, err = weft("explain", "missing.py")
    assert status == 2
    assert err == "weft explain: there is no file missing.py\n  fix: weft explain PROGRAM.py\n"


@pytest.mark.parametrize(
    "command", ["train", "eval", "sample", "report", "explain", "replay", "info", "cache"]
)
def test_each_command_has_help_with_an_example(weft, command):
    status, out, _ = weft(command, "--help")
    assert status == 0
    assert re.search(rf"^examples?:\n  weft {command}", out, re.MULTILINE)
    assert command in weft("--help")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "weft: the following arguments are required: command\n  fix: weft --help\n"),
        (["trian"], "weft: there is no command 'trian'\n  fix: did you mean train?\n"),
        (["train"], "weft train: the following arguments are required: CONFIG.toml\n"
         "  fix: weft train examples/configs/digits.toml\n"),
        (["train", "a.toml", "--stepz", "3"], "weft train: there is no option --stepz\n"
         "  fix: did you mean --steps?\n"),
        (["train", "a.toml", "--steps", "many"], "weft train: argument --steps: invalid int value: "
         "'many'\n  fix: weft train examples/configs/digits.toml\n"),
        (["info", "more"], "weft info: one argument too many: more\n  fix: weft info\n"),
        (["train", "a.toml"], "weft train: a.toml: can't be read: No such file or directory\n"
         "  fix: the path of a file\n"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_one_error(files, weft, arguments, message):
    assert weft(*arguments) == (2, "", message)


def test_steps_of_the_command_line_are_named_in_errors(files, weft):
    assert weft("train", "lm.toml", "--steps", -3)[2] == (
        "weft train: --steps -3: [run] steps: expected a whole number of at least 1; got -3\n"
        "  fix: steps = 1\n"
    )


CHARS = [
    "run.devices=1", "model.d_model=8", "model.d_ff=8", "model.n_layers=1", "model.n_heads=2",
    "model.max_len=64",
    "data.stages.Batch.batch_size=2", "data.source.length=8", "eval.data.source.length=8",
    "eval.batches=1", "sample.every=2", "sample.length=4",
]  # fmt: skip
DIGITS = ["run.devices=1", "data.stages.Batch.batch_size=8", "eval.batches=1"]


@pytest.mark.parametrize(("name", "overrides"), [("chars", CHARS), ("digits", DIGITS)])
def test_the_ready_configurations_run(files, weft, name, overrides):
    path = ROOT / "examples" / "configs" / f"{name}.toml"
    options = [part for override in overrides for part in ("--set", override)]
    status, out, err = weft("train", path, "--steps", 2, *options)
    assert status == 0
    assert "weft train:" not in err
    assert f"Step 2 is saved in runs/{name}/model" in out
    texts = metric_files.read_metrics(files / "runs" / name).texts
    assert [tag for _, _, tag, _ in texts] == (["sample"] if name == "chars" else [])


def test_output_that_nobody_reads_is_no_error(files):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "weft.cli", "info"]
    done = subprocess.run(
        command, env=environment, stdout=write, stderr=subprocess.PIPE, timeout=120
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_process_is_stopped_by_ctrl_c_and_leaves_a_checkpoint(files):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "train", "classifier.toml", "--steps", "10000000"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stdout:
            if line.startswith("Step     10:"):
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert re.search(r"Step (\d+) is saved in runs/classifier/model\n$", out)


def test_folders_and_checkpoints_that_are_none(files, weft):
    status, _, err = weft("train", "classifier.toml", "--output-dir", "points.csv")
    assert status == 2
    assert err.startswith("weft train: --output-dir points.csv: [run] output_dir: ")
    assert weft("train", "classifier.toml")[0] == 0
    run = files / "runs" / "classifier"
    tree = next((run / "model").rglob("tree.json"))
    tree.write_bytes(tree.read_bytes()[:-20])
    status, _, err = weft("train", "classifier.toml", "--steps", 4)
    assert status == 2
    assert re.match(r"weft train: classifier.toml:\d+: \[run\]: .*tree.json", err)
    assert "\n  fix: " in err
    (run / "config.toml").write_text("[run]\nstepz = 3\n")
    assert weft("train", "classifier.toml", "--steps", 4)[2].startswith("weft train: ")
    status, _, err = weft("sample", run)
    assert status == 2
    assert re.match(r"weft sample: .*config.toml: the table \[model\] is missing", err)
