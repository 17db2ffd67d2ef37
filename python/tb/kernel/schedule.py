"""Ready-made manual schedules of well-known networks: their names exist, their effect is still to come."""

from __future__ import annotations

from typing import Any


def resnet50_schedule(mod: Any, batch: int = 16) -> Any:
    """Schedule of ResNet-50: still to come."""
    raise _to_come("resnet50_schedule")


def bert_schedule(mod: Any, batch: int = 1) -> Any:
    """Schedule of BERT: still to come."""
    raise _to_come("bert_schedule")


def _to_come(name: str) -> Exception:
    # Imported late: tensorturbo itself imports tb.
    from tensorturbo.errors import user_error

    return user_error(f"{name}: manual graph schedules are still to come", "use schedule=None")
