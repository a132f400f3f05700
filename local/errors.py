"""The one error of the embedded engines."""

from shared.errors import WinnowError


class EngineError(WinnowError):
    """An embedded engine can't be set up, started or kept running; the message says what to do."""
