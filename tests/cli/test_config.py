"""The file of a run: what it may have, and the error for all else."""

import tomllib

import pytest

from weft.cli import config
from weft.cli.config import ConfigError, read

# (file, a text in it, the text in its place, the error, the fix)
WRONG = [
    # tables and keys
    ("lm", "[model]", "[modle]", "lm.toml:8: [modle]: there is no table 'modle'",
     "did you mean model?"),
    ("lm", "[loss]\nname", "[sample]\nname",
     "lm.toml:39: not TOML: Cannot declare ('sample',) twice",
     "TOML, as in steps = 100"),
    ("classifier", '[loss]\nname = "CategoryCrossEntropy"', "",
     "classifier.toml: the table [loss] is missing", '[loss] with name = "CategoryCrossEntropy"'),
    ("lm", "[run]", "loss = 3\n[run]", None, None),
    ("lm", "steps = 6", "stepz = 6", "lm.toml:2: [run] stepz: there is no such key",
     "did you mean steps?"),
    ("lm", "steps = 6", "", "lm.toml:1: [run]: the key steps is missing: the number of steps of "
     "the whole run", "steps = …  # a whole number"),
    ("lm", "d_model = 8", "d_modle = 8", "lm.toml:11: [model] d_modle: TransformerLM has no "
     "parameter 'd_modle'", "did you mean d_model?"),
    ("lm", "vocab_size = 128", "", "lm.toml:8: [model]: TransformerLM needs vocab_size: the number "
     "of tokens, padding included", "vocab_size = …  # a whole number"),
    ("lm", "vocab_size = 128", 'vocab_size = 128\nmode = "eval"', "lm.toml:11: [model] mode: "
     "the mode of TransformerLM is set automatically", "leave it out"),
    ("lm", 'name = "Adam"', 'name = "Adam"\nnesterov = true', "lm.toml:23: [optimizer] nesterov: "
     "Adam has no parameter 'nesterov'",
     "one of learning_rate, weight_decay_rate, b1, b2, eps, clip_grad_norm"),
    ("lm", "length = 12", "size = 12", "lm.toml:40: [sample] size: there is no such key",
     "one of prompt, length, temperature, top_k, top_p, n, seed, eos_id, every"),
    ("classifier", "layer_widths", "units", "classifier.toml:8: [model] units: MLP has no "
     "parameter 'units'", "one of layer_widths, activation_fn, out_activation, flatten"),
    # names
    ("lm", '"TransformerLM"', '"TransfomerLM"', "lm.toml:9: [model] name: there is no model "
     "'TransfomerLM'", "did you mean TransformerLM?"),
    ("lm", '"TransformerLM"', '"os.system"', "lm.toml:9: [model] name: there is no model "
     "'os.system'", None),
    ("lm", '"TransformerLM"', "8", "lm.toml:9: [model] name: there is no model 8", None),
    ("lm", 'name = "TransformerLM"', "", "lm.toml:8: [model]: the name of the model is missing",
     'name = "TransformerLM"'),
    ("lm", '"Adam"', '"adam"', "lm.toml:22: [optimizer] name: there is no optimizer 'adam'",
     "did you mean Adam?"),
    ("lm", '"warmup"', '"warm_up"', "lm.toml:26: [schedule] name: there is no schedule 'warm_up'",
     "did you mean warmup?"),
    ("lm", '"CategoryAccuracy"', '"Accurracy"', "lm.toml:35: [eval] metrics[0]: there is no loss "
     "or metric 'Accurracy'", "did you mean Accuracy?"),
    ("lm", '"Windows"', '"Window"', "lm.toml:31: [data] source.name: there is no source of data "
     "'Window'", "did you mean Windows?"),
    ("lm", '"Batch"', '"Btch"', "lm.toml:32: [data] stages[0].name: there is no stage of data "
     "'Btch'", "did you mean Batch?"),
    ("lm", '"Gelu"', '"Gellu"', "lm.toml:16: [model] ff_activation: there is no layer 'Gellu'",
     "did you mean Gelu?"),
    ("lm", '"Gelu"', '{ name = "LeakyRelu", b = 1 }', "lm.toml:16: [model] ff_activation.b: "
     "LeakyRelu has no parameter 'b'", "a"),
    # types
    ("lm", "steps = 6", "steps = 6.5", "lm.toml:2: [run] steps: expected a whole number; got 6.5",
     "steps = 6"),
    ("lm", "steps = 6", "steps = true", "lm.toml:2: [run] steps: expected a whole number; got true",
     "steps = …  # a whole number"),
    ("lm", "d_model = 8", 'd_model = "8"', "lm.toml:11: [model] d_model: expected a whole number; "
     'got "8" (a string)', "d_model = 8"),
    ("lm", "d_model = 8", 'd_model = "much"', "lm.toml:11: [model] d_model: expected a whole "
     'number; got "much" (a string)', "d_model = 512, its default"),
    ("lm", "learning_rate = 0.01", 'learning_rate = "1e-2"', "lm.toml:23: [optimizer] "
     'learning_rate: expected a number; got "1e-2" (a string)', "learning_rate = 1e-2"),
    ("lm", "shuffle = true", 'shuffle = "True"', "lm.toml:31: [data] source.shuffle: expected true "
     'or false; got "True" (a string)', "shuffle = true"),
    ("lm", "shuffle = true", 'epochs = "all"', "lm.toml:31: [data] source.epochs: expected a whole "
     'number or "none"; got "all" (a string)', "epochs = 1, its default"),
    ("lm", '"Gelu"', "3", "lm.toml:16: [model] ff_activation: expected the name of a layer; got 3",
     "ff_activation = …  # the name of a layer"),
    ("classifier", "[4, 2]", "[4, 2.5]", "classifier.toml:8: [model] layer_widths: expected a list "
     "of whole numbers; got [4, 2.5]", "layer_widths = [128, 64], its default"),
    ("classifier", "stages = [{", "stages = {", None, None),
    ("classifier", '[{ name = "Batch", batch_size = 5 }]', "[5]", "classifier.toml:18: [data] "
     "stages: expected a list of strings or tables; got [5]", None),
    ("lm", "metrics = [", "metrics = 5 #", None, None),
    ("lm", "metrics = [", 'metrics = "L2Loss" #', "lm.toml:35: [eval] metrics: expected a list of "
     'strings or tables; got "L2Loss" (a string)', 'metrics = ["L2Loss"]'),
    ("classifier", '[{ name = "Batch", batch_size = 5 }]', '{ name = "Batch" }', "classifier.toml"
     ':18: [data] stages: expected a list of strings or tables; got { name = "Batch" }',
     'stages = [{ name = "Batch" }]'),
    ("lm", "batches = 2", "batches = 0", "lm.toml:36: [eval] batches: expected at least 1",
     "batches = 10"),
    ("lm", "data = {", "data_ = {", "lm.toml:37: [eval] data_: there is no such key",
     "did you mean data?"),
    # values
    ("lm", "steps = 6", "steps = 0", "lm.toml:2: [run] steps: expected a whole number of at least "
     "1; got 0", "steps = 1"),
    ("lm", "steps = 6", "steps = 6\nseed = -1", "lm.toml:3: [run] seed: expected a whole number of "
     "at least 0; got -1", "seed = 0"),
    ("lm", "steps = 6", 'steps = 6\nprecision = "float61"', "lm.toml:3: [run] precision: there is "
     "no precision 'float61'", "did you mean float16?"),
    # text
    ("lm", "steps = 6", "steps = ", "lm.toml:2: not TOML: Invalid value",
     "TOML, as in steps = 100"),
    ("lm", "steps = 6", "steps = 6\nsteps = 7", "lm.toml:3: not TOML: Cannot overwrite a value",
     "TOML, as in steps = 100"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text", "other", "message", "fix"), WRONG)
def test_each_wrong_file_has_one_clear_error(files, file, text, other, message, fix):
    path = files / f"{file}.toml"
    before = path.read_text()
    assert text in before
    path.write_text(before.replace(text, other, 1))
    with pytest.raises(ConfigError) as caught:
        read(f"{file}.toml")
    first, line, rest = str(caught.value).partition("\n  fix: ")
    assert line
    assert rest
    assert message is None or first == message
    assert fix is None or rest == fix


def test_the_files_themselves_are_right(files):
    assert read("lm.toml").run["steps"] == 6
    run = read("classifier.toml").run
    assert (run["output_dir"], run["seed"], run["save_every"], run["report_every"]) == (
        "runs/classifier", 0, 1, 10,
    )  # fmt: skip


def test_a_missing_file_and_a_binary_one(files):
    with pytest.raises(ConfigError, match=r"^no.toml: can't be read: No such file"):
        read("no.toml")
    (files / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"^bad.toml: is not UTF-8"):
        read("bad.toml")


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("model.d_model=64", ("model", "d_model"), 64),
        ("optimizer.learning_rate = 1e-4", ("optimizer", "learning_rate"), 1e-4),
        ("optimizer.name=SM3", ("optimizer", "name"), "SM3"),
        ("run.output_dir='a b'", ("run", "output_dir"), "a b"),
        ("data.stages.Batch.batch_size=2", ("data", "stages", 0, "batch_size"), 2),
        ("data.stages.0.batch_size=2", ("data", "stages", 0, "batch_size"), 2),
        ("eval.metrics.0=L2Loss", ("eval", "metrics", 0), "L2Loss"),
        ("eval.metrics.CategoryAccuracy.name=L2Loss", ("eval", "metrics", 0, "name"), "L2Loss"),
        ("eval.data.source.shuffle=true", ("eval", "data", "source", "shuffle"), True),
        ("model.dropout_shared_axes=[0]", ("model", "dropout_shared_axes"), [0]),
    ],
)
def test_overrides_take_the_place_of_values(files, override, path, value):
    found = read("lm.toml", [override]).tables
    for key in path:
        found = found[key]
    assert found == value


def test_an_override_of_a_name_alone_gives_it_parameters(files):
    text = (files / "classifier.toml").read_text().partition("[data]")[0]
    (files / "digits.toml").write_text(text + '[data]\nsource = "Digits"\n')
    source = read("digits.toml", ["data.source.part=eval"]).tables["data"]["source"]
    assert source == {"name": "Digits", "part": "eval"}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.d_modle=64", "--set model.d_modle=64: [model] d_modle: TransformerLM has no "
         "parameter 'd_modle'\n  fix: did you mean d_model?"),
        ("model.d_model=x", "--set model.d_model=x: [model] d_model: expected a whole number; got "
         '"x" (a string)\n  fix: d_model = 512, its default'),
        ("modl.d_model=1", "--set modl.d_model=1: [modl]: there is no table 'modl'\n"
         "  fix: did you mean model?"),
        ("d_model", "--set d_model: expected a key and a value\n  fix: --set model.d_model=64"),
        (".=3", "--set .=3: expected a key and a value\n  fix: --set model.d_model=64"),
        ("data.stages.Batc.batch_size=2", "--set data.stages.Batc.batch_size=2: there is no "
         "element 'Batc' in the list\n  fix: did you mean Batch?"),
        ("data.stages.7.batch_size=2", "--set data.stages.7.batch_size=2: there is no "
         "element '7' in the list\n  fix: Batch"),
        ("run.steps.x=2", "--set run.steps.x=2: run.steps is not a table\n  "
         "fix: --set run.steps=…"),
        ("loss=3", "--set loss=3: [loss]: expected a table\n  fix: [loss] in a line of its own"),
    ],
)  # fmt: skip
def test_wrong_overrides(files, override, message):
    with pytest.raises(ConfigError) as caught:
        read("lm.toml", [override])
    assert str(caught.value) == message


def test_the_text_of_a_configuration_is_read_back_as_the_same(files):
    one = read("lm.toml", ["run.seed=3", "data.stages.Batch.batch_size=2"])
    (files / "again.toml").write_text(one.text())
    assert read("again.toml").tables == one.tables
    assert tomllib.loads(one.text()) == one.tables


def test_none_is_pythons_none_where_a_parameter_takes_it(files):
    assert read("lm.toml", ['data.source.epochs="none"'])
    with pytest.raises(ConfigError, match="expected a whole number"):
        read("lm.toml", ['data.source.length="none"'])


def test_reading_runs_nothing_and_reads_no_data(files):
    (files / "text.txt").unlink()
    assert isinstance(read("lm.toml"), config.Config)
