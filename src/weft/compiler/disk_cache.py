from ..runtime.executable import compile_text as compile_or_load
