"""TrainingStepCallback: the methods that a loop calls."""

import pytest

from weft.supervised.callbacks import TrainingStepCallback, made_callbacks


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


@pytest.mark.parametrize("wrong", [Recorder([]), "Recorder", 3])
def test_callbacks_that_are_made_already_are_refused(wrong):
    name = type(wrong).__name__
    with pytest.raises(TypeError, match=rf"got an object of {name}\n  fix: callbacks=\[{name}\]"):
        made_callbacks([Recorder, wrong], [])
    (made,) = made_callbacks([Recorder], [])
    assert isinstance(made, Recorder)
