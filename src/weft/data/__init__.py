"""Data for training: streams of examples, composed of stages, with a position that can be saved.

Source: Trax documentation, `trax.data`.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "batching": "Batch BucketByLength batch bucket_by_length pad_to_max_dims",
        "bert_inputs": """
            BertDoubleSentenceInputs BertSingleSentenceInputs CreateBertInputs mask_random_tokens
        """,
        "debug_data_pipeline": "debug_pipeline",
        "fields": "AddLossWeights CastTo Dup Log UnBatch add_loss_weights",
        "input_streams": """
            Inputs batch_fn batcher make_additional_stream make_inputs make_parallel_stream
        """,
        "left_out": """
            BertGlueEvalStream BertGlueTrainStream BertNextSentencePredictionInputs
            CorpusToRandomChunks CreateAnnotatedDropInputs CreateAquaInputs CreateDropInputs
            CreateMathQAInputs T5GlueEvalStream T5GlueEvalStreamsParallel T5GlueEvalTasks
            T5GlueTrainStream T5GlueTrainStreamsParallel
        """,
        "lengths": """
            AppendValue ConcatenateToLMInput FilterByLength FilterEmptyExamples PadToLength PrefixLM
            TruncateToLength generate_sequential_chunks
        """,
        "masking": "MLM consume_noise_mask generate_random_noise_mask random_spans_noise_mask",
        "mixing": "Parallel",
        "shuffling": "Shuffle shuffle",
        "skipping": """
            CountAndSkip UniformlySeek count_and_skip data_counters load_data_counters
            save_data_counters
        """,
        "sources": "Arrays Examples Source",
        "stages": "Flow Map Prefetch RandomFlow Stage",
        "streams": "Serial Stream",
        "synthetic": """
            addition_input_stream addition_inputs lower_endian_to_number number_to_lower_endian
            random_inputs random_number_lower_endian sequence_copy_inputs
            simple_sequence_copy_inputs sine_inputs
        """,
        "text_files": "CSV JSONLines Lines Windows",
        "tf_preprocessing": """
            add_eos_to_output_features cifar10_augmentation_flatten_preprocess
            cifar10_augmentation_preprocess cifar10_no_augmentation_preprocess concat_preprocess
            downsampled_imagenet_flatten_bare_preprocess filter_dataset_on_len lm1b_preprocess
            lm_token_preprocessing no_preprocess pad_dataset_to_length squeeze_targets_preprocess
            truncate_dataset_on_len wmt_concat_preprocess wmt_preprocess
        """,
        "tfds": "TFDS data_streams dataset_to_stream",
        "tokenization": """
            ConvertToUnicode SentencePieceTokenize Tokenize detokenize sentencepiece_tokenize
            tokenize vocab_size
        """,
    },
    modules="debug_data_pipeline inputs text_encoder tf_inputs tokenizer",
)
