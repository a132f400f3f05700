from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.models.vectors import VectorRefused, as_vector, unit

finite = st.floats(min_value=-1e30, max_value=1e30, allow_subnormal=False)
vectors = st.lists(finite, min_size=1, max_size=20).filter(lambda v: max(map(abs, v)) > 1e-30)


@pytest.mark.parametrize(
    "values",
    [
        [1, 0],
        [1.0, 0.0],
        (1, 0),
        [Decimal("1"), Decimal("0.0")],
        [np.float32(1), np.float64(0)],
        [np.int64(1), np.float16(0)],
        np.array([1, 0], np.float32),
        np.array([1, 0], np.int8),
    ],
    ids=repr,
)
def test_j07_numbers_of_any_kind_are_a_vector(values: list[object]) -> None:
    vector = as_vector(values, 2)
    assert vector.dtype == np.float32
    assert vector.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([float("nan"), 0], "holds at 0 no finite"),
        ([0.5, float("inf")], "holds at 1 no finite"),
        ([Decimal("sNaN"), Decimal(1)], "holds at 0 no finite"),
        ([1e39, 0], "holds at 0 no finite 32-bit"),
        ([-(10**400), 0], "holds at 0 no finite"),
        ([], "has 0 numbers, 2 are needed"),
        ([1], "has 1 numbers, 2 are needed"),
        ([1, 2, 3], "has 3 numbers, 2 are needed"),
        ([0, 0.0], "is zero everywhere"),
        ([1e-60, -1e-60], "is zero everywhere"),
        ([True, 1], "holds at 0 something that is not a number"),
        ([np.True_, 1], "holds at 0 something that is not a number"),
        (["1", 0], "holds at 0 something that is not a number"),
        ([None, 0], "holds at 0 something that is not a number"),
        ([1j, 0], "holds at 0 something that is not a number"),
        ([[1], [0]], "holds at 0 something that is not a number"),
        (np.eye(2), "holds at 0 something that is not a number"),
        ("12", "is not a list of numbers"),
        (None, "is not a list of numbers"),
        ({"0": 1, "1": 2}, "is not a list of numbers"),
    ],
    ids=repr,
)
def test_j07_anything_else_is_refused_and_named(values: list[object], problem: str) -> None:
    with pytest.raises(VectorRefused, match=f"chunk 3 {problem}"):
        as_vector(values, 2, "chunk 3")


def test_a_vector_is_a_copy_and_keeps_its_length() -> None:
    values = np.array([3, 4], np.float32)
    vector = as_vector(values, 2)
    values[0] = 9
    assert vector.tolist() == [3, 4]


@given(vectors)
def test_unit_keeps_the_direction_at_length_1(values: list[float]) -> None:
    vector = as_vector(values, len(values))
    made = unit(vector).astype(np.float64)
    assert np.linalg.norm(made) == pytest.approx(1, abs=1e-6)
    wide = vector.astype(np.float64)
    assert made @ wide == pytest.approx(np.linalg.norm(wide), rel=1e-6)


@pytest.mark.parametrize("size", [1e-44, 1e-30, 1e30, 3e38])
def test_unit_survives_extreme_lengths(size: float) -> None:
    assert unit(np.array([size, 0], np.float32)).tolist() == [1, 0]
