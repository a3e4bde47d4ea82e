"""Streams of examples: the names of Trax's `data.inputs`, each from the file of its subject."""

from .batching import Batch, BucketByLength, batch, bucket_by_length, pad_to_max_dims
from .fields import AddLossWeights, CastTo, Dup, Log, UnBatch, add_loss_weights
from .input_streams import (
    Inputs,
    batch_fn,
    batcher,
    make_additional_stream,
    make_inputs,
    make_parallel_stream,
)
from .lengths import (
    AppendValue,
    ConcatenateToLMInput,
    FilterByLength,
    FilterEmptyExamples,
    PadToLength,
    PrefixLM,
    TruncateToLength,
    generate_sequential_chunks,
)
from .masking import (
    MLM,
    consume_noise_mask,
    generate_random_noise_mask,
    random_spans_noise_mask,
)
from .mixing import Parallel
from .shuffling import Shuffle, shuffle
from .skipping import (
    CountAndSkip,
    UniformlySeek,
    count_and_skip,
    data_counters,
    load_data_counters,
    save_data_counters,
)
from .stages import Prefetch
from .streams import Serial
from .synthetic import (
    addition_input_stream,
    addition_inputs,
    lower_endian_to_number,
    number_to_lower_endian,
    random_inputs,
    random_number_lower_endian,
    sequence_copy_inputs,
    simple_sequence_copy_inputs,
    sine_inputs,
)

__all__ = [
    "MLM",
    "AddLossWeights",
    "AppendValue",
    "Batch",
    "BucketByLength",
    "CastTo",
    "ConcatenateToLMInput",
    "CountAndSkip",
    "Dup",
    "FilterByLength",
    "FilterEmptyExamples",
    "Inputs",
    "Log",
    "PadToLength",
    "Parallel",
    "Prefetch",
    "PrefixLM",
    "Serial",
    "Shuffle",
    "TruncateToLength",
    "UnBatch",
    "UniformlySeek",
    "add_loss_weights",
    "addition_input_stream",
    "addition_inputs",
    "batch",
    "batch_fn",
    "batcher",
    "bucket_by_length",
    "consume_noise_mask",
    "count_and_skip",
    "data_counters",
    "generate_random_noise_mask",
    "generate_sequential_chunks",
    "load_data_counters",
    "lower_endian_to_number",
    "make_additional_stream",
    "make_inputs",
    "make_parallel_stream",
    "number_to_lower_endian",
    "pad_to_max_dims",
    "random_inputs",
    "random_number_lower_endian",
    "random_spans_noise_mask",
    "save_data_counters",
    "sequence_copy_inputs",
    "shuffle",
    "simple_sequence_copy_inputs",
    "sine_inputs",
]
