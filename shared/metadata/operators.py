"""The comparison operators, as they are spelled on the wire."""

from enum import StrEnum


class Operator(StrEnum):
    """What a condition asks of a field; the value is the canonical spelling."""

    CONTAINS = "contains"
    NOT_CONTAINS = "not contains"
    START_WITH = "start with"
    END_WITH = "end with"
    IS = "is"
    IS_NOT = "is not"
    IN = "in"
    NOT_IN = "not in"
    EMPTY = "empty"
    NOT_EMPTY = "not empty"
    GREATER = ">"
    LESS = "<"
    AT_LEAST = "≥"
    AT_MOST = "≤"
    BEFORE = "before"
    AFTER = "after"


SPELLINGS = {operator.value: operator for operator in Operator} | {
    "=": Operator.IS,
    "==": Operator.IS,
    "≠": Operator.IS_NOT,
    "!=": Operator.IS_NOT,
    ">=": Operator.AT_LEAST,
    "<=": Operator.AT_MOST,
}
"""Every accepted spelling; any other is refused."""

NEGATIVE = {
    Operator.NOT_CONTAINS: Operator.CONTAINS,
    Operator.IS_NOT: Operator.IS,
    Operator.NOT_IN: Operator.IN,
}
"""Each negative operator and the one whose exact complement it is."""
