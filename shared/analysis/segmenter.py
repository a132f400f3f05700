"""jieba, loaded at the first Chinese text: its dictionary takes a second and 90 MB."""

import warnings
from threading import Lock
from typing import Any

_lock = Lock()
_loaded: list[Any] = []


def load_segmenter() -> Any:
    """Returns the process's one `jieba.Tokenizer`; once built, threads may share it."""
    with _lock:
        if not _loaded:
            _loaded.append(_build())
        return _loaded[0]


def _build() -> Any:
    with warnings.catch_warnings():
        # jieba 0.42.1 writes "\." in plain strings, which warns where no .pyc is at hand, as on
        # Lambda, and imports pkg_resources where there is one, which is deprecated.
        warnings.simplefilter("ignore")
        import jieba  # noqa: PLC0415 - loaded only where it is needed

    segmenter = jieba.Tokenizer()
    # What `initialize` does, without its log on standard error and without its cache: a file that
    # anybody can place in the temporary folder, unmarshalled unchecked, to gain a quarter second.
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter
