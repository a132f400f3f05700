"""What counts as a vector. Pure."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from shared.model import Vector


class VectorRefused(ValueError):
    """These numbers are no vector of this space; callers name the place in their own error."""


def as_vector(
    values: Sequence[object] | NDArray[np.generic], dimension: int, where: str = "the vector"
) -> Vector:
    """Returns the numbers as float32, shape (dimension,), at the length they came with.

    Args:
        values: ints, floats, Decimals or numpy numbers; text, booleans and nulls are refused.
        dimension: how many there must be.
        where: what the error calls them.

    Raises:
        VectorRefused: the count is wrong, an element is no finite 32-bit number, or all are zero.
    """
    if not isinstance(values, (list, tuple, np.ndarray)):
        raise VectorRefused(f"{where} is not a list of numbers")
    if len(values) != dimension:
        raise VectorRefused(f"{where} has {len(values)} numbers, {dimension} are needed")
    plain = {type(value) for value in values} == {float}  # as JSON has them: nothing to read
    read = values if plain else [_read_number(v, n, where) for n, v in enumerate(values)]
    numbers = np.array(read, np.float64)
    with np.errstate(over="ignore"):
        vector = numbers.astype(np.float32)
    broken = np.flatnonzero(~np.isfinite(vector))
    if broken.size:
        raise VectorRefused(f"{where} holds at {broken[0]} no finite 32-bit number")
    if not vector.any():
        raise VectorRefused(f"{where} is zero everywhere, so it has no direction")
    return vector


def unit(vector: Vector) -> Vector:
    """Returns a vector of the same direction and length 1; its own must not be 0."""
    wide = vector.astype(np.float64)  # squares of float32 may overflow or vanish
    return (wide / np.linalg.norm(wide)).astype(np.float32)


def _read_number(value: object, position: int, where: str) -> float:
    if isinstance(value, bool) or not isinstance(
        value, (int, float, Decimal, np.integer, np.floating)
    ):
        raise VectorRefused(f"{where} holds at {position} something that is not a number")
    try:
        return float(value)
    except (OverflowError, ValueError):  # an int beyond float64, a signalling NaN
        return float("nan")
