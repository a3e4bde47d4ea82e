"""Every error that a public function's docstring names is raised by a wrong call.

Calls that are easily found stand in `refusals.json`; the other tests of errors have those that
need more than a wrong argument.
"""

import difflib
import re
import warnings

import pytest
import refusals

from weft.config import eager_tier

ELSEWHERE = {
    "numpy": "load",
    "lax": "with_sharding_constraint",
    "tree_util": "flatten_axes register_dataclass register_leaf_types register_pytree_node",
    "layers": """
        Accuracy AtariConvInit AttentionQKV Bidirectional Branch CausalConv CausalDepthwiseConv
        Chunk Cond EfficientAttentionBase EncDecAttention FilterResponseNorm Fn Layer
        MacroAveragedFScore Parallel PureLayer RandomUniform Residual ReversibleReshapePermute
        ReversibleSerial SequenceAccuracy Serial WeightedCategoryCrossEntropy draw
        get_rel_att_inputs jit_forward multigaussian_loss np_from_file np_to_file shard
        unflatten_weights_and_state
    """,
}
"""Functions whose wrong calls are in other tests (tests/layers/wrong, tests/test_tree_util.py, …):
they need a layer, a function, a mesh or a file."""
TAKING_LISTS = ("layers", "tree_util", "nn.initializers")  # or functions, or whole trees
TABLE = refusals.recorded()
NAMES = refusals.imported()


def alike(message, found):
    """True if two messages refuse one thing: a word may be another one."""
    return difflib.SequenceMatcher(None, message.split(), found.split()).ratio() > 0.6


@pytest.mark.parametrize("namespace", TABLE)
def test_wrong_calls_are_refused(namespace):
    accepted = []
    with warnings.catch_warnings(), eager_tier("host"):
        warnings.simplefilter("ignore")
        for rows in TABLE[namespace].values():
            for source, kind, message in rows:
                found = refusals.caught(source, NAMES)
                if found is None or kind not in found[0] or not alike(message, found[1]):
                    accepted.append((source, kind, message, found and (found[0][0], found[1])))
    assert accepted == [], "(call, error, its beginning, what was raised)"


@pytest.mark.parametrize("namespace", refusals.NAMESPACES)
def test_every_function_that_names_errors_has_a_wrong_call(namespace):
    rows = TABLE[namespace]
    functions = refusals.public_functions(namespace)
    assert set(rows) <= set(functions)
    naming = {name for name, function in functions.items() if refusals.errors_named(function)}
    assert sorted(naming - set(rows) - set(ELSEWHERE.get(namespace, "").split())) == []


@pytest.mark.parametrize("namespace", [n for n in refusals.NAMESPACES if n not in TAKING_LISTS])
def test_what_is_no_array_is_named_with_its_function_and_parameter(
    namespace, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # np.save("text", 1) is a right call
    unnamed = []
    with warnings.catch_warnings(), eager_tier("host"):
        warnings.simplefilter("ignore")
        for name, function in refusals.public_functions(namespace).items():
            for parameter, source in refusals.calls_with_a_text(
                name, function, refusals.path_of(namespace, name)
            ):
                found = refusals.caught(source, NAMES)
                if found and "expected an array or a scalar" in found[1]:
                    expected = f"{name}: expected an array or a scalar for {parameter}"
                    message = re.sub(r"\[n\]$", "", found[1])  # the place in a sequence
                    if not message.endswith(expected[:80]):
                        unnamed.append((source, found[1], expected))
    assert unnamed == []
