"""The condition tree. Only parsing makes one, so whoever evaluates it meets only values that fit.

Every leaf is positive: a negative operator is `Not` of its positive one, which makes it the exact
complement by construction. Names and texts are in NFC.
"""

from dataclasses import dataclass
from enum import StrEnum

from shared.metadata.grammar import Number


class Joiner(StrEnum):
    """How the members of a group combine."""

    AND = "and"
    OR = "or"


class Place(StrEnum):
    """Where in a field's text another text stands."""

    ANYWHERE = "anywhere"
    START = "start"
    END = "end"


class Reading(StrEnum):
    """As what a field's values are compared, and the key of `FilterValues` that holds them so."""

    NUMBERS = "numbers"
    INSTANTS = "instants"


class Relation(StrEnum):
    """How a field's value stands to a bound."""

    GREATER = ">"
    LESS = "<"
    AT_LEAST = ">="
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class EqualsAny:
    """The field has one of these as a value; with none of them, nothing matches.

    Attributes:
        values: texts and numbers, each equal to a stored value of its own JSON type.
        numbers: equal to a stored number or to the number that a stored text writes.
        booleans: equal to a stored boolean.
    """

    name: str
    values: tuple[str | Number, ...] = ()
    numbers: tuple[Number, ...] = ()
    booleans: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class HasText:
    """A text of the field, or a number's shortest decimal text, has `text` at that place."""

    name: str
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class IsFilled:
    """The field is there and not null, "", only white space, [] or {}."""

    name: str


@dataclass(frozen=True, slots=True)
class Compares:
    """A value of the field stands so to the bound: a number, or an instant in UTC microseconds."""

    name: str
    reading: Reading
    relation: Relation
    bound: Number


@dataclass(frozen=True, slots=True)
class Not:
    """What the member does not match."""

    member: "Tree"


@dataclass(frozen=True, slots=True)
class Group:
    """At least one member, joined by `and` or by `or`."""

    joiner: Joiner
    members: tuple["Tree", ...]


type Tree = EqualsAny | HasText | IsFilled | Compares | Not | Group
"""A condition tree: a leaf, or what is made of leaves."""
