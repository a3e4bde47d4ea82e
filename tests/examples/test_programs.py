"""Each example runs, shortened, prints what it achieved, and achieves what few steps can."""

import math

import examples_folder
import numpy as np
import pytest

# name -> (arguments of main, what holds of its result)
PROGRAMS = {
    "digits": ({"quick": True, "picture": ""}, lambda score: score > 0.2),
    "stax_digits": ({"model": "mlp", "quick": True}, lambda score: score > 0.4),
    "private_sgd": ({"quick": True}, lambda r: r[0] > 0.3 and 0.1 < r[1] < 5),
    "resnet": ({"quick": True}, lambda score: score > 0.1),
    "vae": ({"quick": True, "picture": ""}, lambda r: r[0] > 1.5 * r[1]),
    "gaussian_process": ({"quick": True, "picture": ""}, lambda r: r[0] < 5),
    "hmc": ({"quick": True, "chains": 4}, lambda r: r[1] > 0.7),
    "neural_ode": ({"quick": True, "picture": ""}, lambda r: all(map(math.isfinite, r))),
    "char_lm": ({"quick": True}, lambda r: r[0] < math.log2(97)),
    "fixed_point": ({"quick": True}, lambda r: r[1] < 1e-3),
    "influence": ({"quick": True}, lambda correlation: correlation > 0.9),
    "copy_task": ({"quick": True, "attention": "transformer"}, lambda r: r[1] > 0.1),
    "reverse_task": ({"quick": True}, lambda r: r[1] > 0.1),
    "short_lm": ({"quick": True}, lambda r: r[0] < math.log2(97)),
    "dates": ({"quick": True}, lambda r: r[1] > 1),
    "transformer_lm": ({"quick": True}, lambda r: r[0] < math.log2(97)),
    "orbit": ({"quick": True, "picture": ""}, lambda r: r[1] < r[0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_and_prints_what_it_achieved(name, capsys):
    arguments, holds = PROGRAMS[name]
    result = examples_folder.load(name).main(**arguments)
    assert holds(result), result
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 3
    assert all(np.isfinite(result).flat if isinstance(result, tuple) else [math.isfinite(result)])


@pytest.mark.filterwarnings("ignore:BatchNorm in mode 'eval'")  # it saw ten batches
@pytest.mark.parametrize(
    "model",
    ["mlp", "wide_resnet", "encoder", "decoder", pytest.param("resnet50", marks=pytest.mark.slow)],
)
def test_each_classifier_begins_to_learn(model, capsys):
    score, fell = examples_folder.load("classifiers").main(model, quick=True)
    assert 0 < score < 1
    assert fell > 0
    assert "test accuracy" in capsys.readouterr().out


@pytest.mark.devices(4)
def test_losses_on_several_devices_are_those_of_one(capsys):
    score, apart = examples_folder.load("data_parallel").main(devices=4, quick=True)
    assert 0 <= score <= 1
    assert apart < 1e-5
    assert "each with 16 of 64 scans" in capsys.readouterr().out


def test_convolutions_learn():
    example = examples_folder.load("stax_digits")
    data = example.scans.load(0)
    few = example.scans.Scans(data.images[:64], data.labels[:64], *data[2:])
    _, losses = example.trained("conv", few, 8)
    assert np.mean(losses[-2:]) < losses[0] - 0.1


def test_accountant_against_published_and_simple_cases():
    example = examples_folder.load("private_sgd")
    # without sampling it is the Gaussian mechanism, whose divergence is order / (2 noise²)
    assert example.renyi(8, 1 - 1e-12, 2.0) == pytest.approx(1.0, rel=1e-6)
    # Abadi et al. (2016), section 5.1: q = 0.01, σ = 4, 10,000 steps, δ = 1e-5: ε is 1.26
    assert example.epsilon(10_000, 0.01, 4.0, 1e-5) == pytest.approx(1.26, abs=0.03)
    assert example.epsilon(10, 0.1, 1.0, 1e-5) < example.epsilon(100, 0.1, 1.0, 1e-5)


def test_one_example_moves_a_private_step_by_no_more_than_the_clipping_norm():
    example = examples_folder.load("private_sgd")
    _, params = example.INIT(example.random.PRNGKey(0), (-1, 8, 8, 1))
    large = np.full((8, 8, 1), 50, "float32")
    gradient = example.clipped_gradient(params, large, 3, 1.0)
    norm = math.sqrt(sum(float((g**2).sum()) for g in example.tree_util.tree_leaves(gradient)))
    assert norm == pytest.approx(example.CLIP, rel=1e-4)


def test_scans_that_are_held_out_are_not_learnt_from():
    scans = examples_folder.load("scans")
    data = scans.load(3)
    assert (len(data.images), len(data.test_images)) == (1437, 360)
    both = np.concatenate([data.images, data.test_images]).reshape(1797, -1).sum(1)
    everything = np.sort(scans.load_digits().images.sum((1, 2)) / 16)
    np.testing.assert_allclose(np.sort(both), everything, rtol=1e-5)
    drawn = np.sort(np.concatenate(list(scans.batches(12, 4, 1))))
    assert drawn.tolist() == list(range(12))


def test_without_matplotlib_there_is_no_picture(capsys, monkeypatch):
    pictures = examples_folder.load("pictures")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    pictures.save("never.png", None)
    assert "matplotlib" in capsys.readouterr().out
    pictures.save("", None)
    assert capsys.readouterr().out == ""
