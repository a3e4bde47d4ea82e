"""Every error that a public function's docstring names is raised by a wrong call.

Calls that are easily found stand in `wrong_calls.json`; the other tests of errors have those that
need more than a wrong argument.
"""

import ast
import difflib
import functools
import inspect
import re
import warnings

import numpy as onp
import pytest
import wrong_calls

import weft.numpy as np
from weft.config import eager_tier

ELSEWHERE = {
    "numpy": "load",
    "lax": "with_sharding_constraint",
    "tree_util": "flatten_axes register_dataclass register_leaf_types register_pytree_node",
    "layers": """
        Accuracy AtariConvInit AttentionQKV Bidirectional Branch CausalConv CausalDepthwiseConv
        Chunk Cond EfficientAttentionBase EncDecAttention FilterResponseNorm Fn InPrecision Layer
        MacroAveragedFScore Parallel PureLayer RandomUniform Residual ReversibleReshapePermute
        ReversibleSerial SequenceAccuracy Serial WeightedCategoryCrossEntropy draw
        get_rel_att_inputs in_mode jit_forward multigaussian_loss np_from_file np_to_file shard
        share_weights unflatten_weights_and_state
    """,
}
"""Functions whose wrong calls are in other tests (tests/layers/wrong, tests/test_tree_util.py, …):
they need a layer, a function, a mesh or a file."""
TAKING_LISTS = ("layers", "tree_util", "nn.initializers")  # or functions, or whole trees
TABLE = wrong_calls.recorded()
NAMES = wrong_calls.imported()


@functools.cache
def raised(namespace):
    """(function, call, error, its recorded beginning, what is raised) for each wrong call."""
    with warnings.catch_warnings(), eager_tier("host"):
        warnings.simplefilter("ignore")
        return [
            (name, source, kind, message, wrong_calls.caught(source, NAMES))
            for name, rows in TABLE[namespace].items()
            for source, kind, message in rows
        ]


def alike(message, found):
    """True if two messages refuse one thing: a word may be another one."""
    return difflib.SequenceMatcher(None, message.split(), found.split()).ratio() > 0.6


@pytest.mark.parametrize("namespace", TABLE)
def test_wrong_calls_are_refused(namespace):
    accepted = []
    for _, source, kind, message, found in raised(namespace):
        if found is None or kind not in found[0] or not alike(message, found[1]):
            accepted.append((source, kind, message, found and (found[0][0], found[1])))
    assert accepted == [], "(call, error, its beginning, what was raised)"


@pytest.mark.parametrize("namespace", wrong_calls.NAMESPACES)
def test_every_function_that_names_errors_has_a_wrong_call(namespace):
    rows = TABLE[namespace]
    functions = wrong_calls.public_functions(namespace)
    assert set(rows) <= set(functions)
    naming = {name for name, function in functions.items() if wrong_calls.errors_named(function)}
    assert sorted(naming - set(rows) - set(ELSEWHERE.get(namespace, "").split())) == []


OTHERS = {
    "numpy": {"histogram": "histogram_bin_edges"},  # for a NotImplementedError
    # the layer is an object of a class, which the function returns
    "layers": {"Favor": "FavorAttention", "CausalFavor": "CausalFavorAttention"},
    "tree_util": {"tree_unflatten": "unflatten"},  # the method of a structure
}
"""Functions whose messages begin with another name than theirs."""


@pytest.mark.parametrize("namespace", TABLE)
def test_a_message_begins_with_the_name_of_the_function_that_was_called(namespace):
    functions = wrong_calls.public_functions(namespace)
    others = []
    for name, source, _, _, found in raised(namespace):
        head = re.match(r"\w+(?=: )", found[1]) if found else None
        allowed = OTHERS.get(namespace, {}).get(name, name)
        is_alias = head and functions.get(head[0]) is functions[name]
        if head and not is_alias and head[0] not in (name, allowed):
            others.append((source, found[1]))
    assert others == []


NAMED_PARAMETERS = re.compile(
    r"\w+: (?:expected an array or a scalar for (\w+)|(\w+)(?:\[n\])?: "
    r"|(?:(\w+),? and )?([a-zA-Z_]\w*)(?:\[n\])? must\b)"
)
"""How messages name a parameter: "for a", "a: …", "a must …", "a and b must …"."""
WORDS = set("arrays edges leaves lengths operands vectors".split())  # noqa: SIM905
"""Words for several arguments, or for the elements of one."""
OTHER_NAMES = {
    # parameters of the function that it returns
    "nn.initializers": {"delta_orthogonal": {"shape"}, "orthogonal": {"shape"}},
    # the class that the user passed
    "tree_util": {
        "register_pytree_node_class": {"int"},
        "register_pytree_with_keys_class": {"int"},
    },
}
"""Names in messages that are not parameters of the function."""


def named_parameters(name, message):
    """The parameters that a message of a function names."""
    match = NAMED_PARAMETERS.match(message)
    if not match or message.partition(":")[0] != name:
        return set()
    return {word for word in match.groups() if word and word not in WORDS}


@pytest.mark.parametrize("namespace", TABLE)
def test_a_message_names_parameters_as_the_signature_does(namespace):
    functions = wrong_calls.public_functions(namespace)
    others = []
    for name, source, _, message, found in raised(namespace):
        named = named_parameters(name, found[1]) if found else set()
        keywords = {k.arg for k in ast.parse(source).body[-1].value.keywords}  # of savez(**kwds)
        own = {*inspect.signature(functions[name]).parameters, *keywords}
        own |= OTHER_NAMES.get(namespace, {}).get(name, set())
        if not named <= own or named != named_parameters(name, message):
            others.append((source, message, found[1]))
    assert others == []


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        ("np.trapezoid(np.ones(3), dx=None)", "dx"),  # `x` is None by default
        ("np.unwrap(np.ones(3), period=None)", "period"),  # and `discont`
        ("np.linspace(0, None)", "stop"),
        ("scipy.special.beta(1.0, None)", "b"),
    ],
)
def test_a_message_names_the_parameter_that_is_none(call, parameter):
    found = wrong_calls.caught(call, NAMES)
    assert found
    assert found[1].endswith(f": expected an array or a scalar for {parameter}")


@pytest.mark.parametrize(
    ("call", "beginning"),
    [
        ("np.trace(np.ones(3))", "trace: expected at least two axes"),
        ("np.corrcoef(np.ones((2, 2, 2)))", "corrcoef: expected one or two axes"),
        ("np.append(np.ones(2), 5, axis=9)", "append: axis n is out of range"),
        ("np.bitwise_and(1.5, 3)", "bitwise_and: expected operands of integer or bool dtype"),
        ("np.allclose(np.ones(2), np.ones(3))", "allclose: shapes don't broadcast together"),
        ("np.linalg.trace(1.5)", "trace: expected at least two axes"),
        ("lax.reciprocal(np.ones(3, int))", "reciprocal: integers have no negative powers"),
        ("scipy.special.i0(1j * np.ones(3))", "i0: expected operands of float dtype"),
        ("nn.elu(np.ones(2), np.ones(3))", "elu: shapes don't broadcast together"),
        ("random.orthogonal('wrong', 3)", "orthogonal: expected a key"),
        ("tl.Attention(8, 'eval')", "Attention: n_heads must be an int"),
        # a function of the user's is between: it called `trace`
        ("lax.scan(lambda c, x: (c, np.trace(x)), 0.0, np.ones((2, 2)))", "trace: expected"),
        ("lax.map(np.trace, np.ones((2, 2)))", "trace: expected at least two axes"),
        # layers that the user named keep their names
        ("tl.Fn('Mine', lambda x, *, y: x)", "Mine: f has keyword-only arguments"),
        ("tl.Serial(tl.Dense(2), tl.Dense(-1))", "Dense: n_units must be at least n"),
        # operators and methods
        ("np.ones(3) + np.ones(4)", "add: shapes don't broadcast together"),
        ("np.ones(3).sum(4)", "sum: axis n is out of range"),
        # errors about tracing name the operation
        ("grad(lambda x: lax.while_loop(lambda y: y < 3, lambda y: 2 * y, x))(1.0)", "while_loop"),
        ("jit(lambda x: np.reshape(np.arange(4), (x, 2)))(2)", "reshape: "),
    ],
)
def test_the_first_word_of_a_message(call, beginning):
    found = wrong_calls.caught(call, NAMES)
    assert found
    assert found[1].startswith(beginning), found[1]


def test_an_axis_error_has_its_message_once_more_for_numpy():
    with pytest.raises(onp.exceptions.AxisError) as caught:
        np.append(np.ones(2), 5, axis=9)
    assert str(caught.value).startswith(caught.value.args[0])
    assert caught.value.args[0].startswith("append: axis 9")


@pytest.mark.parametrize("namespace", [n for n in wrong_calls.NAMESPACES if n not in TAKING_LISTS])
def test_what_is_no_array_is_named_with_its_function_and_parameter(
    namespace, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # np.save("text", 1) is a right call
    unnamed = []
    with warnings.catch_warnings(), eager_tier("host"):
        warnings.simplefilter("ignore")
        for name, function in wrong_calls.public_functions(namespace).items():
            for parameter, source in wrong_calls.calls_with_a_text(
                name, function, wrong_calls.path_of(namespace, name)
            ):
                found = wrong_calls.caught(source, NAMES)
                own = {*inspect.signature(function).parameters}
                if found and not named_parameters(name, found[1]) <= own:
                    unnamed.append((source, found[1], sorted(own)))
                if found and "expected an array or a scalar" in found[1]:
                    expected = f"{name}: expected an array or a scalar for {parameter}"
                    message = re.sub(r"\[n\]$", "", found[1])  # the place in a sequence
                    if not message.endswith(expected[:80]):
                        unnamed.append((source, found[1], expected))
    assert unnamed == []
