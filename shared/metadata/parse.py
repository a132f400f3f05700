"""Reads the conditions of a request into a tree, or refuses them, pointing at what is wrong."""

from collections.abc import Mapping
from typing import Any

from shared.errors import InvalidRequest, join_pointer
from shared.metadata.conditions import Group, Joiner, Not, Tree
from shared.metadata.leaf import list_values, read_leaf
from shared.metadata.operators import SPELLINGS, Operator
from shared.metadata.problems import Problems
from shared.metadata.variables import fill_variables

MOST_CONDITIONS = 100
MOST_LEVELS = 8
MOST_LISTED = 10_000

_NOT = "not"
_WORDS = frozenset({*Joiner, _NOT})
_GROUP_KEYS = frozenset({"logical_operator", "conditions"})
_CONDITION_KEYS = frozenset({"name", "comparison_operator", "value"})


def parse_filter(
    logical_operator: Any,
    conditions: Any,
    *,
    pointer: str,
    inputs: Mapping[str, Any] | None = None,
    default: Joiner = Joiner.AND,
) -> Tree | None:
    """Returns the tree of the conditions, or None where there are none (null, [] or {}): no filter.

    Args:
        logical_operator: `and`, `or` or `not`, any case; null means `default`. `not` takes one
            condition.
        conditions: a list of conditions and groups.
        pointer: the JSON pointer of the object that holds these two.
        inputs: the variables of `{{name}}`; None leaves such text as it is.
        default: what joins the conditions at the top; inside groups it is `and`.

    Raises:
        InvalidRequest: with every problem found. The top is the first level; conditions and listed
            values are counted over the whole filter.
    """
    parser = _Parser(inputs)
    word = parser.read_word(logical_operator, pointer, default)
    is_absent = conditions in (None, [], {}) and word != _NOT
    tree = None if is_absent else parser.read_group(word, conditions, pointer, level=1)
    parser.problems.raise_any()
    return tree


class _Parser:
    """Walks one filter. A problem is noted and the walk goes on; the tree is then worthless."""

    def __init__(self, inputs: Mapping[str, Any] | None) -> None:
        self.problems = Problems()
        self._inputs = inputs
        self._conditions = 0
        self._listed = 0

    def read_word(self, word: Any, pointer: str, default: Joiner) -> str:
        joiner = default if word is None else word
        if isinstance(joiner, str) and joiner.lower() in _WORDS:
            return joiner.lower()
        self.problems.add(join_pointer(pointer, "logical_operator"), "must be and, or or not")
        return default

    def read_group(self, word: str, members: Any, pointer: str, level: int) -> Tree | None:
        place = join_pointer(pointer, "conditions")
        wrong = _find_fault(word, members, level)
        if wrong:
            self.problems.add(place, wrong)
            return None
        found = [
            self._read_member(member, join_pointer(place, position), level)
            for position, member in enumerate(members)
        ]
        tree = tuple(member for member in found if member is not None)
        if not tree:
            return None
        return Not(tree[0]) if word == _NOT else Group(Joiner(word), tree)

    def _read_member(self, member: Any, pointer: str, level: int) -> Tree | None:
        if not isinstance(member, Mapping):
            self.problems.add(pointer, "must be a condition or a group of conditions")
            return None
        is_group = not _GROUP_KEYS.isdisjoint(member)
        known = _GROUP_KEYS if is_group else _CONDITION_KEYS
        for key in member:
            if key not in known:
                self.problems.add(join_pointer(pointer, key), "is not a known key here")
        if not is_group:
            return self._read_condition(member, pointer)
        word = self.read_word(member.get("logical_operator"), pointer, Joiner.AND)
        return self.read_group(word, member.get("conditions"), pointer, level + 1)

    def _read_condition(self, member: Mapping[str, Any], pointer: str) -> Tree | None:
        self._count_condition(pointer)
        name = self._read_name(member.get("name"), join_pointer(pointer, "name"))
        operator = self._read_operator(
            member.get("comparison_operator"), join_pointer(pointer, "comparison_operator")
        )
        if name is None or operator is None:
            return None
        place = join_pointer(pointer, "value")
        try:
            value = self._fill(operator, member.get("value"), place)
            leaf = read_leaf(name, operator, value, place)
        except InvalidRequest as refusal:
            self.problems.extend(refusal.problems)
            return None
        self._count_listed(operator, value, place)
        return leaf

    def _read_name(self, name: Any, pointer: str) -> str | None:
        if isinstance(name, str) and name:
            return name
        self.problems.add(pointer, "must be the name of a field")
        return None

    def _read_operator(self, spelling: Any, pointer: str) -> Operator | None:
        if isinstance(spelling, str) and spelling in SPELLINGS:
            return SPELLINGS[spelling]
        self.problems.add(pointer, f"must be one of: {', '.join(SPELLINGS)}")
        return None

    def _fill(self, operator: Operator, value: Any, pointer: str) -> Any:
        if self._inputs is None or operator in {Operator.EMPTY, Operator.NOT_EMPTY}:
            return value
        return fill_variables(value, self._inputs, pointer)

    def _count_condition(self, pointer: str) -> None:
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            self._stop(pointer, f"there are more than {MOST_CONDITIONS} conditions")

    def _count_listed(self, operator: Operator, value: Any, pointer: str) -> None:
        if operator in {Operator.IN, Operator.NOT_IN} or isinstance(value, list | tuple):
            self._listed += len(list_values(operator, value))
        if self._listed > MOST_LISTED:
            self._stop(pointer, f"there are more than {MOST_LISTED:,} listed values")

    def _stop(self, pointer: str, detail: str) -> None:
        """Ends the reading: going on would be work without bound."""
        self.problems.add(pointer, detail)
        self.problems.raise_any()


def _find_fault(word: str, members: Any, level: int) -> str | None:
    if level > MOST_LEVELS:
        return f"is deeper than {MOST_LEVELS} levels"
    if not isinstance(members, list | tuple) or not members:
        return "must be a list of at least one condition or group"
    if word == _NOT and len(members) != 1:
        return "must be exactly one condition or group after not"
    return None
