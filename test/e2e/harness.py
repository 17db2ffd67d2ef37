"""What the end-to-end tests share: the command line tool, the folder of test models, comparisons."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import resource
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TT_SHARED", ROOT.parent / "shared")) / "models" / "onnx"
#: The regular run takes samples of big sets; TT_FULL=1 takes everything.
FULL = os.environ.get("TT_FULL", "") not in ("", "0")
#: No command may take more address space: guards against bombs. The simulated memory alone reserves 3 GiB.
MEMORY_LIMIT = 12 << 30


def tool() -> str:
    """The command line tool of the environment that runs the tests."""
    installed = pathlib.Path(sys.executable).parent / "tensorturbo"
    return str(installed if installed.exists() else ROOT / "build" / "bin" / "tensorturbo")


def run_tool(*arguments, timeout: float = 120, cwd=None, **options) -> subprocess.CompletedProcess:
    """Runs the tool with bounded memory and time; output is text."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    command = [tool(), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout, cwd=cwd, preexec_fn=limit, **options
    )


def errors_of(result: subprocess.CompletedProcess) -> list[str]:
    """The lines on stderr that report errors."""
    starts = ("error: ", "resource error: ", "internal error: ")
    return [line for line in result.stderr.splitlines() if line.startswith(starts)]


@dataclass
class Model:
    """A test model with its reference tensors."""

    file: str
    declared: dict[str, list] = field(default_factory=dict)
    tolerance: float = 1e-4
    npz: str | None = None

    @property
    def path(self) -> pathlib.Path:
        return SHARED / self.file

    @functools.cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        with np.load(SHARED / self.npz) as data:
            return dict(data)

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        return {k[3:]: v for k, v in self.arrays.items() if k.startswith("in.") and k[3:] in self.declared}

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        return {k[4:]: v for k, v in self.arrays.items() if k.startswith("out.")}

    @property
    def shape_arguments(self) -> list[str]:
        """--shape for every input: the file may leave open what its reference fixes."""
        out = []
        for name, value in self.inputs.items():
            if value.ndim:
                out += ["--shape", f"{name}={','.join(map(str, value.shape))}"]
        return out


@functools.cache
def corpus() -> dict[str, Model]:
    """All models of the shared folder by file name; empty where the folder is absent."""
    index = SHARED / "INDEX.json"
    if not index.exists():
        return {}
    models = {}
    for entry in json.loads(index.read_text()):
        declared = {i["name"]: i["shape"] for i in entry["inputs"]}
        tolerance = entry["tolerance"] if isinstance(entry["tolerance"], (int, float)) else 0.0
        models[entry["file"]] = Model(entry["file"], declared, tolerance, entry.get("npz"))
    return models


def compile_model(model: Model, folder: pathlib.Path, ncore: int = 8, target: str = "npu", timeout: float = 120):
    """Compiles; returns (process result, path of the object, report or None)."""
    out, report = folder / "model.stcobj", folder / "report.json"
    result = run_tool(
        "compile", model.path, "-o", out, "--ncore", ncore, "--target", target, "--report", report,
        *model.shape_arguments, timeout=timeout,
    )  # fmt: skip
    return result, out, json.loads(report.read_text()) if report.exists() else None


def run_model(path: pathlib.Path, inputs: dict[str, np.ndarray], folder: pathlib.Path, timeout: float = 180, flags=()):
    """Runs an object; returns (process result, outputs or None)."""
    source, out = folder / "in.npz", folder / "out.npz"
    np.savez(source, **inputs)
    arguments = ["--input", source] if inputs else []
    result = run_tool("run", path, *arguments, "--output", out, *flags, timeout=timeout)
    if result.returncode:
        return result, None
    with np.load(out) as data:
        return result, dict(data)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    norm = np.sqrt((a @ a) * (b @ b))
    return 1.0 if norm == 0 and not (a - b).any() else float(a @ b / max(norm, 1e-30))


def check_report(report: dict) -> None:
    """Every node of the source model has a place, and a reason where it is not on the NPU."""
    assert report["nodes"], "the report lists no nodes"
    for node in report["nodes"]:
        assert node["where"] in ("npu", "host", "folded"), node
        assert node["where"] == "npu" or node["reason"], node


def compare(got: dict[str, np.ndarray], expected: dict[str, np.ndarray], on_npu: bool, tolerance: float) -> None:
    """Half precision on the NPU, the reference's tolerance on the host; integers exactly."""
    assert set(got) >= set(expected), f"outputs {sorted(got)}, expected {sorted(expected)}"
    for name, want in expected.items():
        have = got[name]
        assert have.shape == want.shape, f"{name}: shape {have.shape}, expected {want.shape}"
        assert have.dtype == want.dtype, f"{name}: {have.dtype}, expected {want.dtype}"
        if want.dtype.kind not in "f":
            wrong = np.count_nonzero(have != want)
            assert wrong == 0, f"{name}: {wrong} of {want.size} elements differ"
            continue
        special = ~np.isfinite(want)
        assert np.array_equal(have[special], want[special], equal_nan=True), f"{name}: infinities or NaN differ"
        a, b = have[~special], want[~special]
        if a.size == 0:
            continue
        bound = (2e-2 if on_npu else max(10 * tolerance, 1e-3)) * max(1.0, float(np.abs(b).max()))
        worst = float(np.abs(a.astype(np.float64) - b).max())
        assert worst <= bound, f"{name}: largest difference {worst:.4g}, allowed {bound:.4g}; cosine {cosine(a, b):.6f}"
        # Where all values are tiny against the bound, only their direction tells right from wrong.
        if np.abs(b).max() > 1e-2:
            assert cosine(a, b) >= (0.998 if on_npu else 0.99999), f"{name}: cosine {cosine(a, b):.6f}"
