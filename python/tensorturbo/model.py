"""Importing models, asking and changing their inputs, compiling them."""

from __future__ import annotations

import operator
import os
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from tb.relay.graph_schedule import AutoSchedule

from . import _core
from .errors import check, user_error

Path = Union[str, "os.PathLike[str]"]
Shapes = Mapping[str, Sequence[int]]


class Node(NamedTuple):
    """Where a node of the source model ended up."""

    name: str
    op: str
    #: "npu", "host" or "folded"
    where: str
    #: Why it is not on the NPU, or into what it was folded.
    reason: str


class Module:
    """A compiled model: the object file and what the compiler tells about it."""

    def __init__(self, path: str, report: tuple[list[tuple[str, str, str, str]], int, list[tuple[str, float]]]) -> None:
        nodes, size, phases = report
        #: Path of the object file.
        self.path = path
        #: Size of the object file in bytes.
        self.object_bytes = size
        #: Placement of every node of the source model.
        self.nodes = [Node(*n) for n in nodes]
        #: Seconds of each phase of the compilation.
        self.phases = dict(phases)

    def __repr__(self) -> str:
        return f"<tensorturbo Module {self.path!r}, {self.object_bytes} bytes>"


class Model:
    """An imported model. Made by the from_... functions of this module."""

    def __init__(self, core: _core.Model) -> None:
        self._core = core

    def get_input_info(self) -> dict[str, dict[str, Any]]:
        """Shape and element type of each input: {name: {"shape": [...], "dtype": "float32"}}."""
        return _info(self._core.inputs())

    def get_output_info(self) -> dict[str, dict[str, Any]]:
        """Shape and element type of each output: {name: {"shape": [...], "dtype": "float32"}}."""
        return _info(self._core.outputs())

    def set_input_shape(self, input_shape: Shapes) -> None:
        """Changes the shapes of inputs (the batch size, say) and infers all types anew.

        Raises ModelError for an unknown name, a wrong rank or an impossible shape; the model then stays as it was.
        """
        _, findings = self._core.set_input_shapes(_shapes(input_shape, "input_shape"))
        check(findings)

    def compile(
        self,
        output_file: Path,
        kernel: str = "NPUKernel",
        schedule: Union[Callable[..., Any], None] = AutoSchedule,
        **config: Any,
    ) -> Module:
        """Compiles the model into the object file `output_file` (.stcobj).

        `config` takes the options of the manual by name. An unknown one is an error that names the nearest; one
        whose effect is still to come is refused or warned about. Nothing is written after an error.
        """
        if schedule is not None and schedule is not AutoSchedule and not isinstance(schedule, AutoSchedule):
            raise user_error(
                "manual graph schedules are still to come",
                "pass schedule=None (or leave it out) for the automatic schedule",
            )
        options = [("kernel", _value(kernel, "kernel"))]
        options += [(name, _value(value, name)) for name, value in config.items()]
        report, findings = self._core.compile(_path(output_file, "output_file"), options)
        check(findings)
        assert report is not None
        return Module(os.fspath(output_file), report)

    def relay_text(self) -> str:
        """The imported model as Relay text."""
        return self._core.relay_text()


def from_onnx(path: Path, shape: Optional[Shapes] = None) -> Model:
    """Imports an ONNX model. `shape` gives or overrides the shapes of inputs.

    Raises ModelError with everything that is wrong with the file, or unsupported in it.
    """
    core, findings = _core.Model.from_onnx(_path(path, "path"), {} if shape is None else _shapes(shape, "shape"))
    check(findings)
    assert core is not None
    return Model(core)


def from_tensorflow(
    pb_path: Path, inputs: Optional[Sequence[str]] = None, outputs: Optional[Sequence[str]] = None
) -> Model:
    """Imports a frozen TensorFlow graph: still to come."""
    raise _to_come("TensorFlow")


def from_mxnet(prefix: str, epoch: int, shape: Optional[Shapes] = None) -> Model:
    """Imports an MXNet model: still to come."""
    raise _to_come("MXNet")


def from_keras(path: Path, shape: Optional[Shapes] = None) -> Model:
    """Imports a Keras model: still to come."""
    raise _to_come("Keras")


def from_relay(relay_file: Path, **args: Any) -> Model:
    """Imports Relay text: still to come."""
    raise _to_come("Relay")


def _to_come(framework: str) -> Exception:
    return user_error(f"importing {framework} models is still to come", "convert the model to ONNX and use from_onnx")


def _info(tensors: Sequence[tuple[str, list[int], str]]) -> dict[str, dict[str, Any]]:
    return {name: {"shape": list(shape), "dtype": dtype} for name, shape, dtype in tensors}


def _path(value: Path, what: str) -> str:
    try:
        path = os.fspath(value)
    except TypeError:
        path = None
    if not isinstance(path, str) or "\0" in path:
        raise user_error(f"{what}: a path is expected, got {_kind(value)}")
    return path


def _kind(value: Any) -> str:
    return f"{value!r}"[:80]


def _shapes(value: Shapes, what: str) -> dict[str, list[int]]:
    if not isinstance(value, Mapping):
        raise user_error(f"{what}: a dictionary from input names to shapes is expected, got {_kind(value)}")
    out = {}
    for name, shape in value.items():
        try:
            dims = [operator.index(d) for d in shape]
        except TypeError:
            dims = None
        if not isinstance(name, str) or dims is None or any(abs(d) >= 2**62 for d in dims):
            raise user_error(f"{what}[{_kind(name)}]: a list of integers is expected, got {_kind(shape)}")
        out[name] = dims
    return out


def _value(value: Any, name: str) -> Any:
    """An option's value as the C++ side takes it; it checks type and range."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value):
        return list(value)
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is not None and abs(number) < 2**62:
        return number
    # Text that stands for any other value: good enough to refuse it by name.
    return _kind(value)
