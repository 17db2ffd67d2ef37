"""Exceptions of the product, one for each class of error, and how findings of the C++ side become exceptions."""

from __future__ import annotations

import warnings
from typing import NamedTuple, Sequence


class Finding(NamedTuple):
    """One thing that is wrong, or worth a warning."""

    #: "error", "warning" or "note"
    severity: str
    #: "user", "resource" or "internal"
    kind: str
    message: str
    #: Name of the source model's node; empty if the finding belongs to none.
    node: str
    #: What can be done about it; may be empty.
    hint: str

    def text(self) -> str:
        """The finding as one readable paragraph."""
        place = f"node {self.node!r}: " if self.node else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place}{self.message}{hint}"


class TensorTurboError(Exception):
    """What all errors of TensorTurbo have in common."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        #: Everything that was found, in order.
        self.findings: list[Finding] = list(findings)
        #: The source node of the first finding that has one, or "".
        self.node: str = next((f.node for f in self.findings if f.node), "")


class ModelError(TensorTurboError):
    """The model, a file or an argument is wrong."""


class ResourceError(TensorTurboError):
    """Something does not fit: the chip, the memory, the disk."""


class InternalError(TensorTurboError):
    """A fault of TensorTurbo itself. Please report it."""


class TensorTurboWarning(UserWarning):
    """Something that works, but perhaps not as expected."""


_CLASSES = {"user": ModelError, "resource": ResourceError, "internal": InternalError}
_GRAVITY = ("user", "resource", "internal")
_MOST = 50


def check(raw: Sequence[tuple[str, str, str, str, str]]) -> None:
    """Warns about the warnings among the findings and raises the gravest class of error, with all of them."""
    findings = [Finding(*item) for item in raw]
    errors = [f for f in findings if f.severity == "error"]
    for finding in findings:
        if finding.severity == "warning":
            warnings.warn(finding.text(), TensorTurboWarning, stacklevel=3)
    if not errors:
        return
    kind = max((f.kind for f in errors), key=_GRAVITY.index)
    lines = [f.text() for f in errors[:_MOST]]
    if len(errors) > _MOST:
        lines.append(f"... and {len(errors) - _MOST} more errors")
    raise _CLASSES[kind]("\n".join(lines), errors)


def user_error(message: str, hint: str = "") -> ModelError:
    """A ModelError for something that the Python side finds itself."""
    finding = Finding("error", "user", message, "", hint)
    return ModelError(finding.text(), [finding])
