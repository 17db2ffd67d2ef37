"""Graph schedules: the automatic one. The primitives of manual schedules are still to come."""

from __future__ import annotations

from typing import Any


class AutoSchedule:
    """Stands for the automatic graph schedule in `compile(schedule=...)`.

    Its level is the option graph_schedule_level.
    """

    def __call__(self, mod: Any) -> Any:
        """The compiler schedules by itself; a module passes unchanged."""
        return mod


_TO_COME = ("GetNPUSubFunctions", "Group", "GroupOps", "ListOps", "NPUMemScope", "Schedule", "ScheduleInfo", "SplitGroups")


def __getattr__(name: str) -> Any:
    if name in _TO_COME:
        raise AttributeError(f"tb.relay.graph_schedule.{name}: manual graph schedules are still to come")
    raise AttributeError(f"module 'tb.relay.graph_schedule' has no attribute {name!r}")
