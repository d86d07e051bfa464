"""errors.py - what Takt raises: one class per kind of failure, each derived from Python's own.

Every exception has `code` (a stable number, ``takt.explain(code)`` says more), `status` (the
kind's name), `node`, `hint`, `line`, `column` and `offset`.
"""
from __future__ import annotations


class Error(Exception):
    """The base of all exceptions of Takt."""

    status: str = ""
    code: int = 0
    message: str = ""
    hint: str = ""
    node: str = ""
    offset: int = -1
    line: int = 0
    column: int = 0
    rendered: str = ""  # of a text model: the lines, with a caret where the mistake is

    def __str__(self) -> str:
        text = self.rendered.rstrip() or self.message or super().__str__()
        if self.hint and self.hint not in text:
            text += f"\nhint: {self.hint}"
        if self.code:
            text = f"[TAKT{self.code}] {text}"
        return text


class ArgumentError(Error, ValueError, TypeError):
    """The caller broke a documented precondition."""


class ModelSyntaxError(Error, ValueError):
    """A text model does not follow the language."""


class ShapeError(Error, ValueError):
    """Shapes or element types do not fit the operation."""


class UnsupportedError(Error, NotImplementedError):
    """A valid request that no kernel or backend can carry out."""


class FormatError(Error, ValueError):
    """A file is malformed."""


class FileError(Error, OSError):
    """The operating system refused to read or write."""


class NotFoundError(Error, LookupError):
    """No such file, name, op or option."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class LimitError(Error, ValueError):
    """A configured limit would be exceeded."""


class RangeError(Error, ValueError, IndexError):
    """A value at run time is outside what the operation allows."""


class DeadlineError(Error, TimeoutError):
    """The deadline passed before the run ended."""


class CancelledError(Error, RuntimeError):
    """The run was cancelled."""


class DeviceError(Error, RuntimeError):
    """A device failed or is missing."""


class RequirementError(Error, RuntimeError):
    """A requirement or budget that the caller stated is not met."""


class StateError(Error, RuntimeError):
    """The object is not in a state that allows this call."""


class InternalError(Error, RuntimeError):
    """A bug in Takt; please report it."""


_BY_STATUS: dict[str, type[Error]] = {
    "TAKT_ERR_ARGUMENT": ArgumentError,
    "TAKT_ERR_SYNTAX": ModelSyntaxError,
    "TAKT_ERR_SHAPE": ShapeError,
    "TAKT_ERR_UNSUPPORTED": UnsupportedError,
    "TAKT_ERR_FORMAT": FormatError,
    "TAKT_ERR_IO": FileError,
    "TAKT_ERR_NOT_FOUND": NotFoundError,
    "TAKT_ERR_MEMORY": OutOfMemoryError,
    "TAKT_ERR_LIMIT": LimitError,
    "TAKT_ERR_RANGE": RangeError,
    "TAKT_ERR_DEADLINE": DeadlineError,
    "TAKT_ERR_CANCELLED": CancelledError,
    "TAKT_ERR_DEVICE": DeviceError,
    "TAKT_ERR_REQUIREMENT": RequirementError,
    "TAKT_ERR_STATE": StateError,
    "TAKT_ERR_INTERNAL": InternalError,
}

# onnxruntime's names of them, for scripts that catch them by name.
Fail = Error
InvalidArgument = ArgumentError
NoSuchFile = FileError
NoModel = FileError
InvalidProtobuf = FormatError
InvalidGraph = ShapeError
NotImplemented = UnsupportedError
RuntimeException = Error
EPFail = DeviceError


def _make(status: str, code: int, message: str, hint: str, node: str, offset: int, line: int,
          column: int) -> Error:
    """Called by the extension for every failure."""
    made = _BY_STATUS.get(status, InternalError)(message)
    made.status, made.code, made.message, made.hint = status, code, message, hint
    made.node, made.offset, made.line, made.column = node, offset, line, column
    return made
