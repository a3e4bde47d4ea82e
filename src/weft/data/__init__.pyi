# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from . import (
    debug_data_pipeline as debug_data_pipeline,
    inputs as inputs,
    text_encoder as text_encoder,
    tf_inputs as tf_inputs,
    tokenizer as tokenizer,
)
from .batching import (
    Batch as Batch,
    BucketByLength as BucketByLength,
    batch as batch,
    bucket_by_length as bucket_by_length,
    pad_to_max_dims as pad_to_max_dims,
)
from .bert_inputs import (
    BertDoubleSentenceInputs as BertDoubleSentenceInputs,
    BertSingleSentenceInputs as BertSingleSentenceInputs,
    CreateBertInputs as CreateBertInputs,
    mask_random_tokens as mask_random_tokens,
)
from .debug_data_pipeline import debug_pipeline as debug_pipeline
from .fields import (
    AddLossWeights as AddLossWeights,
    CastTo as CastTo,
    Dup as Dup,
    Log as Log,
    UnBatch as UnBatch,
    add_loss_weights as add_loss_weights,
)
from .input_streams import (
    Inputs as Inputs,
    batch_fn as batch_fn,
    batcher as batcher,
    make_additional_stream as make_additional_stream,
    make_inputs as make_inputs,
    make_parallel_stream as make_parallel_stream,
)
from .left_out import (
    BertGlueEvalStream as BertGlueEvalStream,
    BertGlueTrainStream as BertGlueTrainStream,
    BertNextSentencePredictionInputs as BertNextSentencePredictionInputs,
    CorpusToRandomChunks as CorpusToRandomChunks,
    CreateAnnotatedDropInputs as CreateAnnotatedDropInputs,
    CreateAquaInputs as CreateAquaInputs,
    CreateDropInputs as CreateDropInputs,
    CreateMathQAInputs as CreateMathQAInputs,
    T5GlueEvalStream as T5GlueEvalStream,
    T5GlueEvalStreamsParallel as T5GlueEvalStreamsParallel,
    T5GlueEvalTasks as T5GlueEvalTasks,
    T5GlueTrainStream as T5GlueTrainStream,
    T5GlueTrainStreamsParallel as T5GlueTrainStreamsParallel,
)
from .lengths import (
    AppendValue as AppendValue,
    ConcatenateToLMInput as ConcatenateToLMInput,
    FilterByLength as FilterByLength,
    FilterEmptyExamples as FilterEmptyExamples,
    PadToLength as PadToLength,
    PrefixLM as PrefixLM,
    TruncateToLength as TruncateToLength,
    generate_sequential_chunks as generate_sequential_chunks,
)
from .masking import (
    MLM as MLM,
    consume_noise_mask as consume_noise_mask,
    generate_random_noise_mask as generate_random_noise_mask,
    random_spans_noise_mask as random_spans_noise_mask,
)
from .mixing import Parallel as Parallel
from .shuffling import Shuffle as Shuffle, shuffle as shuffle
from .skipping import (
    CountAndSkip as CountAndSkip,
    UniformlySeek as UniformlySeek,
    count_and_skip as count_and_skip,
    data_counters as data_counters,
    load_data_counters as load_data_counters,
    save_data_counters as save_data_counters,
)
from .sources import Arrays as Arrays, Examples as Examples, Source as Source
from .stages import (
    Flow as Flow,
    Map as Map,
    Prefetch as Prefetch,
    RandomFlow as RandomFlow,
    Stage as Stage,
)
from .streams import Serial as Serial, Stream as Stream
from .synthetic import (
    addition_input_stream as addition_input_stream,
    addition_inputs as addition_inputs,
    lower_endian_to_number as lower_endian_to_number,
    number_to_lower_endian as number_to_lower_endian,
    random_inputs as random_inputs,
    random_number_lower_endian as random_number_lower_endian,
    sequence_copy_inputs as sequence_copy_inputs,
    simple_sequence_copy_inputs as simple_sequence_copy_inputs,
    sine_inputs as sine_inputs,
)
from .text_files import CSV as CSV, JSONLines as JSONLines, Lines as Lines, Windows as Windows
from .tf_preprocessing import (
    add_eos_to_output_features as add_eos_to_output_features,
    cifar10_augmentation_flatten_preprocess as cifar10_augmentation_flatten_preprocess,
    cifar10_augmentation_preprocess as cifar10_augmentation_preprocess,
    cifar10_no_augmentation_preprocess as cifar10_no_augmentation_preprocess,
    concat_preprocess as concat_preprocess,
    downsampled_imagenet_flatten_bare_preprocess as downsampled_imagenet_flatten_bare_preprocess,
    filter_dataset_on_len as filter_dataset_on_len,
    lm1b_preprocess as lm1b_preprocess,
    lm_token_preprocessing as lm_token_preprocessing,
    no_preprocess as no_preprocess,
    pad_dataset_to_length as pad_dataset_to_length,
    squeeze_targets_preprocess as squeeze_targets_preprocess,
    truncate_dataset_on_len as truncate_dataset_on_len,
    wmt_concat_preprocess as wmt_concat_preprocess,
    wmt_preprocess as wmt_preprocess,
)
from .tfds import TFDS as TFDS, data_streams as data_streams, dataset_to_stream as dataset_to_stream
from .tokenization import (
    ConvertToUnicode as ConvertToUnicode,
    SentencePieceTokenize as SentencePieceTokenize,
    Tokenize as Tokenize,
    detokenize as detokenize,
    sentencepiece_tokenize as sentencepiece_tokenize,
    tokenize as tokenize,
    vocab_size as vocab_size,
)
