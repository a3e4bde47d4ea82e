"""Functions of Trax's `data.tf_inputs` that weft does not implement: each raises an error with the
reason.

Of T5's package: BertNextSentencePredictionInputs, CorpusToRandomChunks, T5GlueEvalStream,
T5GlueEvalStreamsParallel, T5GlueEvalTasks, T5GlueTrainStream, T5GlueTrainStreamsParallel,
c4_bare_preprocess_fn, c4_preprocess, generic_text_dataset_preprocess_fn,
get_t5_preprocessor_by_name and t5_data. Of Tensor2Tensor: bair_robot_pushing_hparams,
bair_robot_pushing_preprocess and t2t_problems. Of configurations by gin: BertGlueEvalStream and
BertGlueTrainStream. A download: download_and_prepare. Of data sets of arithmetic problems:
CreateAnnotatedDropInputs, CreateAquaInputs, CreateDropInputs, CreateMathQAInputs, compute_nums,
compute_ops, compute_program, compute_result, compute_single_result, convert_float_to_mathqa,
convert_to_subtract, execute_mathqa_dsl_program, execute_mathqa_program, is_number,
process_single_mathqa_example and single_op_to_python_command.
"""

from collections.abc import Callable
from typing import Any

from ..user_lines import noted

__all__ = [
    "BertGlueEvalStream",
    "BertGlueTrainStream",
    "BertNextSentencePredictionInputs",
    "CorpusToRandomChunks",
    "CreateAnnotatedDropInputs",
    "CreateAquaInputs",
    "CreateDropInputs",
    "CreateMathQAInputs",
    "T5GlueEvalStream",
    "T5GlueEvalStreamsParallel",
    "T5GlueEvalTasks",
    "T5GlueTrainStream",
    "T5GlueTrainStreamsParallel",
    "bair_robot_pushing_hparams",
    "bair_robot_pushing_preprocess",
    "c4_bare_preprocess_fn",
    "c4_preprocess",
    "compute_nums",
    "compute_ops",
    "compute_program",
    "compute_result",
    "compute_single_result",
    "convert_float_to_mathqa",
    "convert_to_subtract",
    "download_and_prepare",
    "execute_mathqa_dsl_program",
    "execute_mathqa_program",
    "generic_text_dataset_preprocess_fn",
    "get_t5_preprocessor_by_name",
    "is_number",
    "process_single_mathqa_example",
    "single_op_to_python_command",
    "t2t_problems",
    "t5_data",
]

T5 = (
    "it runs code of the package t5, which weft does not use",
    "data.Serial(data.Examples(…) or data.TFDS(…), data.Tokenize(…), …), with data.MLM or PrefixLM",
    (
        ">>> from weft import data",
        '>>> source = data.Examples([("a cat",), ("a dog",)])',
        '>>> stream = data.Serial(source, data.Tokenize(vocab_type="char"))()',
        ">>> next(stream)[0].tolist()",
        "[97, 32, 99, 97, 116]",
    ),
)
TENSOR2TENSOR = (
    "it runs code of the package tensor2tensor, which is no longer maintained",
    "data.Examples(dataset) takes any data set",
    (
        ">>> from weft import data",
        '>>> list(data.Examples([("a cat", "un chat"), ("a dog", "un chien")])())',
        "[('a cat', 'un chat'), ('a dog', 'un chien')]",
    ),
)
GIN = (
    "gin fills its sizes and vocabulary, and weft has no gin",
    "data.Serial(data.TFDS(…), data.Tokenize(…), data.CreateBertInputs(…), data.PadToLength(…), "
    "data.Batch(…))",
    (
        ">>> import numpy",
        ">>> from weft import data",
        ">>> sentences = [(numpy.array([5, 6]), numpy.array([7]), 1)]",
        ">>> next(data.CreateBertInputs()(sentences))[0].tolist()",
        "[101, 5, 6, 102, 7, 102]",
    ),
)
DOWNLOAD = (
    "weft downloads nothing",
    "tensorflow_datasets.load(name, data_dir=…) once, then data.TFDS(name, data_dir=…)",
    (
        ">>> from weft import data",
        '>>> next(data.Examples([{"text": "from a local data set"}])())',
        "{'text': 'from a local data set'}",
    ),
)
ARITHMETIC = (
    "it is for one data set of arithmetic problems",
    "data.JSONLines(file, keys=…), and data.Map with a function of your own",
    (
        ">>> import pathlib",
        ">>> from weft import data",
        """>>> line = '{"question": "2 + 3", "answer": 5}'""",
        '>>> _ = pathlib.Path("problems.jsonl").write_text(line)',
        '>>> next(data.JSONLines("problems.jsonl", ["question", "answer"])())',
        "('2 + 3', array(5))",
    ),
)


def refused(name: str, reason: tuple[str, str, tuple[str, ...]]) -> Callable[..., Any]:
    """A function with this name, which raises an error with the reason and a fix."""
    why, instead, example = reason

    def function(*arguments: Any, **options: Any) -> Any:
        raise noted(NotImplementedError(f"{name} is left out of weft: {why}\n  fix: {instead}"))

    function.__name__ = function.__qualname__ = name
    lines = [
        f"weft does not have this function: {why}.",
        "",
        f"Instead: {instead}.",
        "",
        "Example:",
    ]
    function.__doc__ = "\n".join([*lines, *(f"  {line}" for line in example)])
    return function


BertNextSentencePredictionInputs = refused("BertNextSentencePredictionInputs", T5)
CorpusToRandomChunks = refused("CorpusToRandomChunks", T5)
T5GlueEvalStream = refused("T5GlueEvalStream", T5)
T5GlueEvalStreamsParallel = refused("T5GlueEvalStreamsParallel", T5)
T5GlueEvalTasks = refused("T5GlueEvalTasks", T5)
T5GlueTrainStream = refused("T5GlueTrainStream", T5)
T5GlueTrainStreamsParallel = refused("T5GlueTrainStreamsParallel", T5)
c4_bare_preprocess_fn = refused("c4_bare_preprocess_fn", T5)
c4_preprocess = refused("c4_preprocess", T5)
generic_text_dataset_preprocess_fn = refused("generic_text_dataset_preprocess_fn", T5)
get_t5_preprocessor_by_name = refused("get_t5_preprocessor_by_name", T5)
t5_data = refused("t5_data", T5)
bair_robot_pushing_hparams = refused("bair_robot_pushing_hparams", TENSOR2TENSOR)
bair_robot_pushing_preprocess = refused("bair_robot_pushing_preprocess", TENSOR2TENSOR)
t2t_problems = refused("t2t_problems", TENSOR2TENSOR)
BertGlueEvalStream = refused("BertGlueEvalStream", GIN)
BertGlueTrainStream = refused("BertGlueTrainStream", GIN)
download_and_prepare = refused("download_and_prepare", DOWNLOAD)
CreateAnnotatedDropInputs = refused("CreateAnnotatedDropInputs", ARITHMETIC)
CreateAquaInputs = refused("CreateAquaInputs", ARITHMETIC)
CreateDropInputs = refused("CreateDropInputs", ARITHMETIC)
CreateMathQAInputs = refused("CreateMathQAInputs", ARITHMETIC)
compute_nums = refused("compute_nums", ARITHMETIC)
compute_ops = refused("compute_ops", ARITHMETIC)
compute_program = refused("compute_program", ARITHMETIC)
compute_result = refused("compute_result", ARITHMETIC)
compute_single_result = refused("compute_single_result", ARITHMETIC)
convert_float_to_mathqa = refused("convert_float_to_mathqa", ARITHMETIC)
convert_to_subtract = refused("convert_to_subtract", ARITHMETIC)
execute_mathqa_dsl_program = refused("execute_mathqa_dsl_program", ARITHMETIC)
execute_mathqa_program = refused("execute_mathqa_program", ARITHMETIC)
is_number = refused("is_number", ARITHMETIC)
process_single_mathqa_example = refused("process_single_mathqa_example", ARITHMETIC)
single_op_to_python_command = refused("single_op_to_python_command", ARITHMETIC)
