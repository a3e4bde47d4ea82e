"""TrainingStepCallback: the methods that a loop calls."""

import pytest

from weft.supervised.callbacks import TrainingStepCallback


class Recorder(TrainingStepCallback):
    def call_at(self, step):
        return step in (2, 4)

    def on_step_end(self, step):
        self._loop.append(("end", step))


def test_a_subclass_has_the_loop_and_the_methods_that_it_needs():
    loop = []
    callback = Recorder(loop)
    for step in range(1, 6):
        if callback.call_at(step):
            callback.on_step_begin(step)
            callback.on_step_end(step)
    assert loop == [("end", 2), ("end", 4)]


def test_a_subclass_has_to_say_when():
    class Empty(TrainingStepCallback):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty: a subclass .* needs call_at\(step\)"):
        Empty(None).call_at(1)
