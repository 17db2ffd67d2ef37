"""Kernel-level interface of TensorTurbo: running compiled models and scheduling graphs."""

from . import kernel, relay

__all__ = ["kernel", "relay"]
