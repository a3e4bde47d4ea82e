"""What weft does not have says why, and what to use."""

import pytest

from weft.data import left_out, tf_inputs


@pytest.mark.parametrize("name", left_out.__all__)
def test_a_call_says_why(name):
    function = getattr(left_out, name)
    assert getattr(tf_inputs, name) is function
    assert function.__name__ == name
    assert function.__doc__.startswith("weft does not have this function: ")
    with pytest.raises(NotImplementedError, match=f"^{name} is left out of weft: .*\n  fix: ") as e:
        function("glue/sst2", option=1)
    assert "test_left_out.py" in e.value.__notes__[0]
