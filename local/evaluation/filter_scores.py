"""How well conditions that a model found agree with those that were expected. Pure."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.evaluation.questions import Question
from shared.metadata.conditions import Compares, EqualsAny, Group, Not, Reading, Relation, Tree
from shared.metadata.parse import parse_filter

type Condition = Mapping[str, Any]

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a model made of a question.

    Attributes:
        found: the conditions that can be used.
        dropped: how many can't.
        failure: why there is no answer; None where there is one.
        seconds: how long it took.
    """

    question: Question
    found: Sequence[Condition] = ()
    dropped: int = 0
    failure: str | None = None
    seconds: float

    @property
    def is_exact(self) -> bool:
        """Tells whether it found what was expected and nothing else."""
        return self.failure is None and identify(self.found) == identify(self.question.expected)


def identify(conditions: Iterable[Condition]) -> set[Hashable]:
    """Returns what the conditions mean, so that those that mean the same are equal.

    `in` with one value is `is`, the order of a list is nothing, and times count by the second:
    after 23:59:59 is from midnight on.
    """
    return {_identify(_read(condition)) for condition in conditions}


def _read(condition: Condition) -> Tree:
    group = parse_filter(None, [condition], pointer="")
    assert isinstance(group, Group)  # noqa: S101, one condition is a group of one
    return group.members[0]


def _identify(tree: Tree) -> Hashable:
    match tree:
        case Not(member):
            return ("not", _identify(member))
        case EqualsAny(name, values, numbers, booleans):
            return (name, frozenset(values), frozenset(numbers), frozenset(booleans))
        case Compares(name, Reading.INSTANTS, Relation.GREATER, bound):
            return (name, "from", -(-(int(bound) + 1) // _SECOND))
        case Compares(name, Reading.INSTANTS, _, bound):
            return (name, "before", -(-int(bound) // _SECOND))
        case _:
            return tree


def score(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Returns the figures: shares are of 1, None where there is nothing to count.

    `exact`: questions whose conditions are all right, no more and no fewer. `precision` and
    `recall` count conditions. `left_alone`: questions without a condition that were given none.
    """
    pairs = [(identify(a.found), identify(a.question.expected)) for a in attempts]
    right = sum(len(found & expected) for found, expected in pairs)
    quiet = [attempt for attempt in attempts if not attempt.question.expected]
    return {
        "questions": len(attempts),
        "exact": _share(sum(attempt.is_exact for attempt in attempts), len(attempts)),
        "precision": _share(right, sum(len(found) for found, _ in pairs)),
        "recall": _share(right, sum(len(expected) for _, expected in pairs)),
        "left_alone": _share(sum(attempt.is_exact for attempt in quiet), len(quiet)),
        "failures": sum(attempt.failure is not None for attempt in attempts),
        "dropped": sum(attempt.dropped for attempt in attempts),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
