"""Every error Winnow raises on purpose.

One base class; the docstring of each class is its default message. What status a class becomes on
the wire stands in one table, `shared.http.problems`.
"""

from dataclasses import dataclass

MOST_PROBLEMS = 100
"""An error names the first so many: a body may hold a million."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong place in a request: a JSON pointer to it (RFC 6901) and what is wrong there."""

    pointer: str
    detail: str


def join_pointer(pointer: str, *steps: str | int) -> str:
    """Returns the JSON pointer that goes on from another by these keys and positions, escaped."""
    escaped = (str(step).replace("~", "~0").replace("/", "~1") for step in steps)
    return "/".join((pointer, *escaped))


class WinnowError(Exception):
    """Something went wrong."""

    def __init__(self, message: str | None = None, *problems: Problem) -> None:
        self.problems = problems
        super().__init__(message or type(self).__doc__)


class InvalidRequest(WinnowError):
    """The request holds a value that means nothing."""

    def __init__(self, *problems: Problem) -> None:
        named = problems[:MOST_PROBLEMS]
        said = "; ".join(f"{p.pointer or 'body'}: {p.detail}" for p in named)
        super().__init__(said, *named)

    @classmethod
    def at(cls, pointer: str, detail: str) -> "InvalidRequest":
        """Returns the error of one problem."""
        return cls(Problem(pointer, detail))


class Unauthorized(WinnowError):
    """No valid key was sent: Authorization: Bearer KEY is needed."""


class KeyUnknown(Unauthorized):
    """This key is not known."""


class Forbidden(WinnowError):
    """This key does not allow that."""


class NotFound(WinnowError):
    """There is no such thing, or it is another tenant's."""


class Conflict(WinnowError):
    """It exists already, or changed in the meantime."""


class StaleVersion(Conflict):
    """The document has a newer version already."""


class TooLarge(WinnowError):
    """The body is too large."""


class UnsupportedMediaType(WinnowError):
    """Files of this type can't be read."""


class Unavailable(WinnowError):
    """A part that this needs does not answer now; try again."""


class IndexUnavailable(Unavailable):
    """The search index does not answer."""


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""


class EmbedderFailed(Unavailable):
    """The embedding model does not answer, or not with what was asked for."""


class EmbedderRefused(EmbedderFailed):
    """The embedding model answers, but not to this input: asking again won't help."""


class Overtaken(Unavailable):
    """The document changed while its source was read; it has to be read again."""


class ChatModelFailed(Unavailable):
    """The chat model does not answer, or not with what was asked for."""


class RerankerFailed(Unavailable):
    """The reranking model does not answer, or not with what was asked for."""


class ExternalFailed(Unavailable):
    """The external knowledge base does not answer, or not with what was asked for."""


class ContentMissing(WinnowError):
    """The content store holds nothing under this key."""


class DocumentRefused(WinnowError):
    """The document can't be used, and trying again won't help.

    Attributes:
        code: one of no_text, password, encoding, too_large, expands_too_far, unsupported, broken,
            embedding, metadata, sidecar, internal.
    """

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        super().__init__(reason)


class ChangeMalformed(WinnowError):
    """The message is not a change that this system knows."""


class ConfigurationError(WinnowError):
    """A setting is missing or does not fit."""
