"""Small files of runs, in the working directory of each test."""

import pytest

TEXT = "to be or not to be, that is the question. " * 20

LANGUAGE_MODEL = """\
[run]
steps = 6
devices = 1
save_every = 2
report_every = 3
output_dir = "out"

[model]
name = "TransformerLM"
vocab_size = 128
d_model = 8
d_ff = 8
n_layers = 1
n_heads = 2
max_len = 40
ff_activation = "Gelu"

[loss]
name = "CategoryCrossEntropy"

[optimizer]
name = "Adam"
learning_rate = 0.01

[schedule]
name = "warmup"
n_warmup_steps = 3
max_value = 0.01

[data]
source = { name = "Windows", text = "text.txt", length = 8, shuffle = true }
stages = [{ name = "Batch", batch_size = 4 }]

[eval]
metrics = ["CategoryAccuracy", { name = "CategoryCrossEntropy", label_smoothing = 0.0 }]
batches = 2
data = { source = { name = "Windows", text = "text.txt", length = 8 } }

[sample]
length = 12
"""

CLASSIFIER = """\
[run]
steps = 3
report_every = 10
devices = 1

[model]
name = "MLP"
layer_widths = [4, 2]

[loss]
name = "CategoryCrossEntropy"

[optimizer]
name = "SGD"
learning_rate = 0.1

[data]
stages = [{ name = "Batch", batch_size = 5 }]

[data.source]
name = "CSV"
files = "points.csv"

[data.source.columns]
"x, y" = "float32"
kind = "int32"
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The working directory, with `lm.toml`, `classifier.toml` and what they read."""
    points = "".join(f"{i % 5},{i % 3},{i % 2}\n" for i in range(30))
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "points.csv").write_text(f"x,y,kind\n{points}")
    (tmp_path / "lm.toml").write_text(LANGUAGE_MODEL)
    (tmp_path / "classifier.toml").write_text(CLASSIFIER)
    monkeypatch.chdir(tmp_path)
    return tmp_path
