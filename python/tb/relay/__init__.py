"""Relay-level interface: graph schedules."""

from . import graph_schedule

__all__ = ["graph_schedule"]
