"""The alarm: planted faults in the forward and the backward pass are found in their layer."""

import functools
import inspect

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import layers as tl, random
from weft.supervised.nan_alarm import NanAlarm, StepInputs, find_nonfinite
from weft.supervised.step_values import StepValues

X = onp.random.default_rng(0).normal(size=(4, 6)).astype("float32")
BATCH = X, onp.zeros((4, 6), "float32"), onp.ones((4, 6), "float32")


class Planted(tl.base.Layer):
    """Its own gradient has a NaN."""

    def forward(self, x):
        return 2 * x

    @property
    def has_backward(self):
        return True

    def backward(self, inputs, output, grad, weights, state, new_state, rng):
        return np.sqrt(-1.0 - grad * grad), ()


def Log():
    return tl.Fn("Log", lambda x: np.log(x))


def Root():
    return tl.Fn("Root", lambda x: np.sqrt(x * x))  # fine at 0, its derivative is not


def Fine():
    return tl.Fn("Fine", lambda x: x + 1)


def found(*layers, zero=False, batch=BATCH, change=lambda tree: tree, loss=None):
    """The finding for layers and a loss, with weights made for the batch, or zero."""
    model = tl.Serial(*layers, loss or tl.L2Loss())
    weights, state = model.init(batch, rng=random.PRNGKey(0))
    if zero:
        weights = weft.tree_util.tree_map(np.zeros_like, weights)
    return find_nonfinite(model, change(weights), state, batch, random.PRNGKey(1))


def block(inner):
    return tl.Serial(tl.Dense(6), inner, name="Block")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_fault_in_the_forward_pass_in_one_of_three_equal_blocks(number):
    line = inspect.currentframe().f_lineno + 1
    blocks = [block(Log() if i == number else Fine()) for i in range(3)]
    finding = found(tl.Serial(*blocks, name="Body"))
    assert finding.layer == f"Serial > [0] Body > [{number}] Block > [1] Log"
    assert (finding.backward, finding.operation) == (False, "log")
    assert finding.made_at.startswith("test_nan_alarm.py:")
    assert int(finding.made_at.partition(":")[2]) < line  # in the function Log, above
    assert "  fix: keep the argument positive" in finding.message
    assert "log in the forward pass of test_nan_alarm.py" in finding.message


@pytest.mark.parametrize("number", [0, 1])
def test_a_fault_in_the_backward_pass(number):
    blocks = [block(Root() if i == number else tl.Relu()) for i in range(2)]
    finding = found(tl.Serial(*blocks, name="Body"), zero=True, batch=(X, 1 + X, BATCH[2]))
    assert finding.layer == f"Serial > [0] Body > [{number}] Block > [1] Root"
    assert finding.backward
    assert finding.operation == "div"
    assert "div in the backward pass of test_nan_alarm.py" in finding.message
    assert "for sqrt and its derivative" in finding.message


def test_a_fault_in_a_layers_own_gradient():
    line = inspect.currentframe().f_lineno + 1
    finding = found(tl.Dense(6), tl.Serial(tl.Relu(), Planted()))
    assert finding.layer == "Serial > [1] Serial > [1] Planted"
    assert finding.made_at == f"test_nan_alarm.py:{line}"
    assert finding.backward
    assert finding.operation == "sqrt"


def test_a_fault_in_a_branch():
    finding = found(tl.Dense(6), tl.Residual(tl.LayerNorm(), tl.Relu(), Log()))
    assert finding.layer.startswith("Serial > [1] Serial > ")
    assert finding.layer.endswith("[2] Log")


def test_a_fault_in_the_loss():
    finding = found(tl.Dense(6), loss=tl.Fn("Loss", lambda x, y, w: np.sum(x) / np.sum(y)))
    assert finding.layer == "Serial > [1] Loss"
    assert finding.operation == "div"


def test_a_fault_in_a_step_of_a_loop():
    def step(carry, x):
        return carry - 1, x + np.log(carry)  # 3, 2, 1, 0

    def loop(x):
        return weft.lax.scan(step, 3.0, x.T)[1].T

    finding = found(tl.Dense(6), tl.Fn("Loop", loop))
    assert finding.layer == "Serial > [1] Loop"
    assert finding.operation == "log"
    assert "  inside: step 3 of scan" in finding.message


def test_the_second_layer_that_uses_a_jitted_function_is_named():
    logarithm = weft.jit(lambda x: np.log(x))
    first = tl.Fn("First", lambda x: logarithm(x * x + 3))
    second = tl.Fn("Second", lambda x: logarithm(x))
    finding = found(tl.Dense(6), first, tl.Dense(6), second)
    assert finding.layer == "Serial > [3] Second"


def test_layers_between_are_counted():
    inner = tl.Serial(tl.Dense(6), Log(), name="Inner")
    finding = found(tl.Accelerate(inner, n_devices=1))
    assert finding.layer == "Serial > [0.0] Inner > [1] Log"


def test_a_layer_that_occurs_twice():
    shared = tl.Dense(6)
    finding = found(shared, tl.Relu(), shared, tl.Fn("Log", lambda x: np.log(x - 100)))
    assert finding.layer == "Serial > [3] Log"


def test_weights_that_are_bad_already():
    def spoil(weights):
        leaves, tree = weft.tree_util.tree_flatten(weights)
        leaves[3] = leaves[3].at[2].set(onp.nan)
        return tree.unflatten(leaves)

    finding = found(
        tl.Dense(6), tl.Serial(tl.Relu(), tl.Serial(tl.Dense(6), name="Last")), change=spoil
    )
    assert finding.layer == "Serial > [1] Serial > [1] Last > [0] Dense_6"
    assert (finding.backward, finding.operation) == (False, "")
    assert "it came in with weights[1][1][0][1]: float32[6], 1 of 6 are nan" in finding.message
    assert "fix: an earlier step made it" in finding.message


def test_a_batch_that_is_bad():
    y = BATCH[1].copy()
    y[3, 5] = onp.inf
    finding = found(tl.Dense(6), batch=(X, y, BATCH[2]))
    assert finding.layer == ""
    assert "it came in with batch[1]: float32[4,6], 1 of 24 are inf" in finding.message
    assert "fix: look at the data" in finding.message


def test_a_constant_that_is_bad():
    table = np.asarray(onp.array([1.0, onp.nan, 1.0, 1.0, 1.0, 1.0], "float32"))
    finding = found(tl.Dense(6), tl.Fn("Table", lambda x: x * table))
    assert "it came in with a constant of the model" in finding.message


@pytest.mark.parametrize(
    "layer",
    [
        tl.Fn("Mask", lambda x: np.max(np.where(x > 0, x, -np.inf), -1, keepdims=True) + 0 * x),
        tl.Fn("Unused", lambda x: np.where(x > 5, np.log(x - 5), x)),
        tl.Fn("Constant", lambda x: x + np.exp(-np.asarray(1.0) / np.zeros(()))),
    ],
)
def test_infinities_that_do_no_harm_are_none(layer):
    model = tl.Serial(layer, tl.L2Loss())
    positive = abs(X) + 1, *BATCH[1:]
    weights, state = model.init(positive)
    loss, _ = model.pure_fn(positive, weights, state, None)
    assert onp.isfinite(loss)
    assert find_nonfinite(model, weights, state, positive, None) is None


def test_an_infinity_that_is_computed_while_tracing_is_none():
    def masked(x):
        with weft.ensure_compile_time_eval():
            least = float(np.log(np.asarray(0.0)))
        return np.max(np.where(x > 0, x, least), -1, keepdims=True) + 0 * x

    layers = [tl.Fn("Mask", masked), tl.Dense(6)]
    batch = abs(X), *BATCH[1:]
    assert found(*layers, batch=batch) is None
    finding = found(*layers, tl.Fn("Log", lambda x: np.log(x - 1e6)), batch=batch)
    assert finding.layer == "Serial > [2] Log"


def test_a_sound_model_with_dropout_and_state():
    layers = [
        tl.Dense(6),
        tl.BatchNorm(axis=0),
        tl.Dropout(0.5),
        tl.SummaryScalar("x"),
        tl.Dense(6),
    ]
    assert found(*layers) is None


def test_the_layer_is_left_as_it_was():
    model = tl.Serial(tl.Dense(6), Log(), tl.L2Loss())
    weights, state = model.init(BATCH)
    before = model.weights[0][0]
    find_nonfinite(model, weights, state, BATCH, random.PRNGKey(1))
    assert model.weights[0][0] is before
    assert not weft.config.debug_nans
    assert not weft.config.debug_infs


@pytest.mark.parametrize("model", [None, lambda x: x])
def test_what_is_no_layer_is_refused(model):
    with pytest.raises(TypeError, match="find_nonfinite: model_with_loss must be a layer; got"):
        find_nonfinite(model, (), (), BATCH, None)
    if model is not None:
        with pytest.raises(TypeError, match="NanAlarm: model_with_loss must be a layer whose"):
            NanAlarm(model)


# The alarm.


def alarmed(alarm, *arguments):
    with pytest.raises(FloatingPointError) as error:
        alarm.check(*arguments)
    assert any(note.startswith("  at test_nan_alarm.py") for note in error.value.__notes__)
    return str(error.value)


@pytest.mark.parametrize("count", [3, 64, 150])
def test_the_first_bad_step_is_named(count):
    alarm = NanAlarm()
    for step in range(1, count + 1):
        alarm.update(np.asarray(1.0 if step < count - 1 else onp.inf), gradients_l2=np.asarray(1.0))
    assert alarmed(alarm, count).startswith(f"NanAlarm: the loss of step {count - 1} is inf\n")


def test_gradients_may_go_wrong_first():
    alarm = NanAlarm()
    alarm.update(np.asarray(1.0), gradients_l2=np.asarray(onp.nan))
    alarm.update(np.asarray(onp.nan), gradients_l2=np.asarray(onp.nan))
    assert alarmed(alarm, 11).startswith("NanAlarm: the gradients_l2 of step 10 is nan\n")


def test_a_check_begins_anew():
    alarm = NanAlarm()
    for _ in range(10):
        alarm.update(np.asarray(1.0))
    alarm.check(10)
    assert len(alarm._values) == 0
    alarm.check(10)
    alarm.update(np.asarray(onp.nan))
    assert "the loss of step 11 is nan" in alarmed(alarm, 11)


def test_numbers_that_somebody_else_collects_stay():
    values = StepValues()
    alarm = NanAlarm(values=values)
    values.add({"loss": np.asarray(1.0)})
    alarm.check(1)
    assert len(values) == 1


def test_the_layer_is_named_for_the_inputs_of_the_step():
    model = tl.Serial(tl.Dense(6), Log(), tl.L2Loss())
    weights, state = model.init(BATCH, rng=random.PRNGKey(0))
    key = random.PRNGKey(1)
    asked = []

    def inputs(step):
        asked.append(step)
        return StepInputs(weights, state, BATCH, key)

    step = weft.jit(model.pure_fn)
    for given in (inputs, inputs(6)):
        alarm = NanAlarm(model)
        alarm.update(np.asarray(1.0))
        alarm.update(step(BATCH, weights, state, key)[0])
        message = alarmed(alarm, 6, given)
        assert message.startswith("NanAlarm: the loss of step 6 is nan\n  operation: log in the ")
        assert "\n  layer: Serial > [1] Log, made at test_nan_alarm.py:" in message
        assert "\n  fix: keep the argument positive" in message
    assert asked == [6, 6]


def test_inputs_with_which_all_is_well():
    model = tl.Serial(tl.Dense(6), tl.L2Loss())
    weights, state = model.init(BATCH)
    alarm = NanAlarm(model)
    alarm.update(onp.nan)
    message = alarmed(alarm, 1, StepInputs(weights, state, BATCH, None))
    said = "the step is finite when run operation by operation\n  fix: give it the weights"
    assert said in message


def test_without_inputs_the_message_says_how_to_find_the_layer():
    alarm = NanAlarm()
    alarm.update(onp.nan)
    assert "fix: a lower learning rate" in alarmed(alarm, 1)
    assert "nan_alarm.find_nonfinite names the layer" in alarmed(alarm, 1)


def test_a_switch_names_the_layer_too():
    model = tl.Serial(tl.Dense(6), tl.Serial(tl.Dense(6), Log(), name="Inner"), tl.L2Loss())
    weights, state = model.init(BATCH, rng=random.PRNGKey(0))
    loss = functools.partial(lambda weights: model.pure_fn(BATCH, weights, state, None)[0])
    with (
        weft.debug_nans(True),
        pytest.raises(FloatingPointError, match=r"  layer: Serial > Inner > Log, made at test_nan"),
    ):
        weft.jit(weft.grad(loss))(weights)
