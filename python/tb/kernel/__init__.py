"""Running compiled models."""

from . import schedule
from .executor import Executor

__all__ = ["Executor", "schedule"]
