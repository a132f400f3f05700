"""How much is done: little in every run of the tests, all of it by `make soak`."""

import os

IS_SOAK = bool(os.environ.get("WINNOW_SOAK"))


def choose(little: int, full: int) -> int:
    return full if IS_SOAK else little
