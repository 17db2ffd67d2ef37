"""The executor: runs an object file on the simulated chip."""

from __future__ import annotations

import os
import sys
from typing import Any, Mapping, Union

import numpy as np

from tensorturbo import _core
from tensorturbo.errors import check, user_error


class Executor:
    """A loaded model. Made by load_from_stcobj()."""

    def __init__(self, core: _core.Executor) -> None:
        self._core = core

    @staticmethod
    def load_from_stcobj(path: Union[str, "os.PathLike[str]"], checks: bool = True) -> Executor:
        """Loads an object file. Raises ModelError for a missing, damaged, foreign or newer file.

        With `checks`, a run stops at reads of memory that nothing has written. Loading runs the native code of the
        file's host part: trust an object file as much as a program.
        """
        try:
            name = os.fspath(path)
        except TypeError:
            name = None
        if not isinstance(name, str) or "\0" in name:
            raise user_error(f"load_from_stcobj: a path is expected, got {path!r:.80}")
        core, findings = _core.Executor.load(name, bool(checks))
        check(findings)
        assert core is not None
        return Executor(core)

    def get_input_info(self) -> dict[str, dict[str, Any]]:
        """Shape and element type of each input."""
        return {name: {"shape": shape, "dtype": dtype} for name, shape, dtype in self._core.inputs()}

    def get_output_info(self) -> dict[str, dict[str, Any]]:
        """Shape and element type of each output."""
        return {name: {"shape": shape, "dtype": dtype} for name, shape, dtype in self._core.outputs()}

    def set_input(self, inputs: Mapping[str, Any]) -> None:
        """Sets some or all inputs, given as {name: array}; the data is copied.

        float16 is taken for float32 inputs and the other way round; any other difference of names, shapes or
        element types raises ModelError, which lists them all. Then no input changes.
        """
        if not isinstance(inputs, Mapping):
            raise user_error(f"set_input: a dictionary from input names to arrays is expected, got {type(inputs).__name__}")
        arrays = {}
        for name, value in inputs.items():
            if not isinstance(name, str):
                raise user_error(f"set_input: input names are texts, got {name!r:.80}")
            arrays[name] = _plain(name, value)
        _, findings = self._core.set_inputs(arrays)
        check(findings)

    def __call__(self) -> list[np.ndarray]:
        """Runs the model once and returns its outputs in order, in the model's element types."""
        _, findings = self._core.run()
        check(findings)
        return [_array(*result) for result in self._core.results()]

    def statistics(self) -> dict[str, Any]:
        """What the last run did: seconds, and instruction counts of each core."""
        return self._core.statistics()


def _plain(name: str, value: Any) -> tuple[str, list[int], Any]:
    """(element type, shape, bytes) of an array, whatever its strides and byte order."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise user_error(f"set_input: {name!r} is no array: {error}") from None
    if array.dtype.byteorder == (">" if sys.byteorder == "little" else "<"):
        array = array.astype(array.dtype.newbyteorder("="))
    shape = list(array.shape)
    if array.dtype.hasobject:
        return str(array.dtype), shape, b""
    flat = np.ascontiguousarray(array).reshape(-1)
    return str(array.dtype), shape, flat.view(np.uint8)


def _array(dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    if dtype == "bfloat16":
        # Only ml_dtypes knows the type; without it the bits are still of use.
        try:
            import ml_dtypes

            kind = np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            kind = np.dtype(np.uint16)
    else:
        kind = np.dtype(dtype)
    return np.frombuffer(bytearray(data), kind).reshape(shape)
