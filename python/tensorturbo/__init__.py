"""TensorTurbo: compiles neural networks for the STCP920 NPU."""

from . import model
from ._core import version as _version
from .errors import InternalError, ModelError, ResourceError, TensorTurboError, TensorTurboWarning

__version__: str = _version()
__all__ = [
    "InternalError",
    "ModelError",
    "ResourceError",
    "TensorTurboError",
    "TensorTurboWarning",
    "model",
]
