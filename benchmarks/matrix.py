#!/usr/bin/env python3
"""Every network at every batch, schedule level and number of cores, against onnxruntime in FP32.

    benchmarks/matrix.py                      the full matrix; takes hours
    benchmarks/matrix.py --quick              reduced images, batches 1 and 3
    benchmarks/matrix.py --nets vgg16,unet --batch 4 --level 0 --ncore 8

Prints a table with one line for each case and writes all numbers as JSON (--json FILE). Exit status 1 if a case
fails: no object, a wrong result, or a limit of compile time or memory passed.

Columns: `cosine` against the reference; `worst`: the lowest over the inputs of a batch, after the mean over several
inputs is taken off both sides, so that only what tells one input from another counts; `compile` seconds of the whole command; `peak` memory of it in MB;
`object` size in MB; `host`: nodes of the model on the host; `cycles` of the simulated chip, where the run reports
them; `run` seconds of the simulator.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "models" / "imagenet"))
import make_nets  # noqa: E402

COSINE = 0.998
#: A result that belongs to another input has about 0 or less; the error of half precision grows against what tells
#: inputs from each other, which is a small part of a deep network's result.
WORST = 0.5
COMPILE_SECONDS = 40.0
#: The mean over this many inputs is what all results share.
REFERENCES = 4


def photo_like(shape, rng):
    """Random patches of several sizes with the mean and deviation of normalised photos."""
    image = np.zeros(shape, np.float32)
    for cells in (4, 13, 50):
        patches = rng.normal(0, 1, (*shape[:2], cells, cells)).astype(np.float32)
        rows, columns = (np.arange(n) * cells // n for n in shape[2:])
        image += patches[:, :, rows][:, :, :, columns]
    return image / np.sqrt(np.float32(3))


def input_of(name, size, batch):
    """(name of the input, array)."""
    rng = np.random.default_rng(5)
    if name == "transformer":
        return "tokens", rng.integers(0, 4096, (batch, size))
    if name == "mlp":
        return "features", rng.normal(0, 1, (batch, size)).astype(np.float32)
    return "image", photo_like((batch, 3, size, size), rng)


def size_of(name, quick):
    return make_nets.NETS[name][2 if quick else 1]


def model_file(folder, name, size):
    path = folder / f"{name}_{size}.onnx"
    if not path.exists():
        make_nets.make(name, path, size)
    return path


class Reference:
    """A network's results in FP32 for a batch, and their mean over several inputs."""

    def __init__(self, model, name, size, batch):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.input, array = input_of(name, size, max(batch, REFERENCES))
        results = [session.run(None, {self.input: array[i : i + 1]})[0] for i in range(len(array))]
        every = np.concatenate(results)
        self.array, self.want, self.mean = array[:batch], every[:batch], every.mean(axis=0, keepdims=True)
        self.output = session.get_outputs()[0].name


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-30))


def tool():
    installed = ROOT / ".venv" / "bin" / "tensorturbo"
    return installed if installed.exists() else ROOT / "build" / "bin" / "tensorturbo"


def resident(pid):
    """Highest resident memory of a process so far, in bytes; the resource usage of a child also counts its parent's."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return next((int(row.split()[1]) << 10 for row in status.splitlines() if row.startswith("VmHWM")), 0)
    except OSError:
        return 0


def command(arguments, timeout):
    """(problem or "", seconds, peak bytes, what it wrote to stderr)."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.DEVNULL, stderr=errors)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            if time.monotonic() - start > timeout:
                process.kill()
            time.sleep(0.01)
        seconds = time.monotonic() - start
        errors.seek(0)
        text = errors.read().strip()
    problem = ""
    if process.returncode:
        first = next((line for line in text.splitlines() if "error" in line), text[:200])
        problem = f"status {process.returncode} after {seconds:.0f} s: {first}"
    return problem, seconds, peak, text


def compile_case(row, model, out, reference, binary, timeout):
    """Fills in what the compiler says; false if there is no object."""
    report = out.with_suffix(".json")
    shape = f"{reference.input}={','.join(map(str, reference.array.shape))}"
    problem, row["compile_s"], row["peak"], row["messages"] = command(
        [binary, "compile", model, "-q", "-o", out, "--shape", shape, "--level", row["level"], "--ncore", row["ncore"],
         "--report", report], timeout,
    )  # fmt: skip
    if problem:
        row["problems"].append(f"compile: {problem}")
        return False
    row["object"] = out.stat().st_size
    nodes = json.loads(report.read_text())["nodes"]
    row["nodes"] = len(nodes)
    row["host"] = {n["name"]: f"{n['op']}: {n['reason']}" for n in nodes if n["where"] == "host"}
    if row["compile_s"] > COMPILE_SECONDS:
        row["problems"].append(f"compile time {row['compile_s']:.1f} s > {COMPILE_SECONDS:.0f} s")
    bound = 2 * model.stat().st_size + (1 << 30)
    if row["peak"] > bound:
        row["problems"].append(f"compiler's memory {row['peak'] >> 20} MB > {bound >> 20} MB")
    return True


def run_case(row, out, reference, folder, binary, timeout):
    """Runs the object and compares."""
    source, results, report = folder / "in.npz", folder / "out.npz", folder / "run.json"
    np.savez(source, **{reference.input: reference.array})
    problem, row["run_s"], _, _ = command(
        [binary, "run", out, "--input", source, "--output", results, "--report", report], timeout
    )
    if problem:
        row["problems"].append(f"run: {problem}")
        return
    row["cycles"] = json.loads(report.read_text()).get("cycles")
    with np.load(results) as data:
        got = data[reference.output]
    if got.shape != reference.want.shape or not np.isfinite(got).all():
        row["problems"].append(f"result of shape {got.shape} is not finite or not of shape {reference.want.shape}")
        return
    row["cosine"] = cosine(got, reference.want)
    # Each image by itself: one wrong image of a batch must not hide behind the others.
    row["worst"] = min(cosine(a - reference.mean, b - reference.mean) for a, b in zip(got, reference.want))
    for key, bound in (("cosine", COSINE), ("worst", WORST)):
        if not row[key] >= bound:
            row["problems"].append(f"{key} {row[key]:.5f} < {bound}")


def run_matrix(cases, folder, quick=False, binary=None, timeout=900, show=None):
    """Runs cases (name, batch, level, ncore); one result each, as a dictionary with a list of `problems`."""
    rows, key, reference = [], None, None
    for name, batch, level, ncore in cases:
        size = size_of(name, quick)
        model = model_file(folder, name, size)
        if key != (name, batch):
            key, reference = (name, batch), Reference(model, name, size, batch)
        row = {"net": name, "size": size, "batch": batch, "level": level, "ncore": ncore, "problems": []}
        out = folder / "case.stcobj"
        if compile_case(row, model, out, reference, binary or tool(), timeout):
            run_case(row, out, reference, folder, binary or tool(), timeout)
            out.unlink()
        rows.append(row)
        if show:
            show(row)
    return rows


HEADER = (
    f"{'network':15} {'batch':>5} {'level':>5} {'ncore':>5} {'cosine':>9} {'worst':>8} {'compile':>8} {'peak':>6} "
    f"{'object':>7} {'host':>8} {'cycles':>12} {'run':>6}"
)


def line(row):
    def number(key, form, scale=1):
        return format(row[key] / scale, form) if row.get(key) is not None else "-"

    host = f"{len(row['host'])}/{row['nodes']}" if "host" in row else "-"
    text = (
        f"{row['net']:15} {row['batch']:5} {row['level']:5} {row['ncore']:5} {number('cosine', '.6f'):>9} "
        f"{number('worst', '.5f'):>8} {number('compile_s', '.1f'):>8} {number('peak', '.0f', 1 << 20):>6} "
        f"{number('object', '.1f', 1 << 20):>7} {host:>8} {number('cycles', ',.0f'):>12} {number('run_s', '.1f'):>6}"
    )
    notes = [f"    {m[:300]}" for m in row.get("messages", "").splitlines() if m.startswith("warning")]
    return "\n".join([text, *notes, *(f"    FAILED {p}" for p in row["problems"])])


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="reduced images, batches 1 and 3")
    parser.add_argument("--nets", default=",".join(make_nets.NETS), help="names, separated by commas")
    parser.add_argument("--batch", type=numbers, help="default 1,4,16")
    parser.add_argument("--level", type=numbers, default=[0, 1])
    parser.add_argument("--ncore", type=numbers, default=[1, 8])
    parser.add_argument("--json", type=pathlib.Path, help="file for all numbers")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "matrix", help="models and results")
    parser.add_argument("--tool", help="the tensorturbo command to use")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one compilation or run")
    arguments = parser.parse_args()
    names = arguments.nets.split(",")
    for name in names:
        if name not in make_nets.NETS:
            parser.error(f"unknown network '{name}'; known are {', '.join(make_nets.NETS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    batches = arguments.batch or ([1, 3] if arguments.quick else [1, 4, 16])
    cases = list(itertools.product(names, batches, arguments.level, arguments.ncore))
    print(HEADER)
    rows = run_matrix(
        cases, arguments.folder, arguments.quick, arguments.tool, arguments.timeout,
        lambda row: print(line(row), flush=True),
    )  # fmt: skip
    reasons = sorted({(r["net"], node, why) for r in rows for node, why in r.get("host", {}).items()})
    if reasons:
        print("\nNodes on the host:")
        for net, node, why in reasons:
            print(f"  {net}: {node}, {why}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    failed = sum(bool(row["problems"]) for row in rows)
    print(f"\n{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
