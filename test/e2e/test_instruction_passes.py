"""The options of the instruction-level passes: what each changes on real networks, and that no result changes."""

import json
import sys

import numpy as np
import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "benchmarks"))
pytest.importorskip("onnx")
import matrix  # noqa: E402

NETS = ["squeezenet1_1", "shufflenet_v2", "mobilenet_v2"]
#: What each option must win over all of NETS, as a share: (number of the report, share, what else is set, value that
#: switches it off, cores). Cores are one where shared bandwidth hides the effect at these sizes.
CASES = {
    "insn_schedule": ("cycles", 0.005, {}, "false", 1),
    "post_insn_schedule": ("cycles", 0.0005, {"insn_schedule": "false"}, "false", 1),
    "csrw_elim": ("csr_writes", 0.4, {}, "false", 8),
    "dma_load_unroll": ("retired", 0.01, {"insn_schedule": "false"}, "0", 8),
    "dmaadd_sch": ("retired", 0.05, {}, "false", 8),
}
OFF = {name: case[3] for name, case in CASES.items()}


@pytest.fixture(scope="module")
def measure(tmp_path_factory):
    """Function: network and options to numbers and the bytes of the results. Remembers what it has run."""
    folder = tmp_path_factory.mktemp("passes")
    known = {}

    def run(name, ncore, level, options):
        key = (name, ncore, level, *sorted(options.items()))
        if key in known:
            return known[key]
        size = matrix.size_of(name, quick=True)
        model = matrix.model_file(folder, name, size)
        source, array = matrix.input_of(name, size, 2)
        out, report = folder / "m.stcobj", folder / "r.json"
        flags = [word for option, value in options.items() for word in ("--option", f"{option}={value}")]
        result = harness.run_tool(
            "compile", model, "-q", "-o", out, "--shape", f"{source}={','.join(map(str, array.shape))}",
            "--ncore", ncore, "--level", level, *flags,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        # The checks for races and overwritten buffers are on.
        result, outputs = harness.run_model(out, {source: array}, folder, flags=["--report", report])
        assert result.returncode == 0, result.stderr
        numbers = json.loads(report.read_text())
        known[key] = {
            "cycles": numbers["cycles"],
            "csr_writes": sum(core["csr_writes"] for core in numbers["cores"]),
            "retired": sum(core["retired"] for core in numbers["cores"]),
            "bytes": {k: v.tobytes() for k, v in outputs.items()},
            "size": out.stat().st_size,
        }
        return known[key]

    return run


@pytest.mark.parametrize("option", CASES)
def test_effect(measure, option):
    number, share, others, off, ncore = CASES[option]
    without = [measure(name, ncore, 1, {**others, option: off}) for name in NETS]
    with_it = [measure(name, ncore, 1, others) for name in NETS]
    for name, a, b in zip(NETS, without, with_it):
        assert a["bytes"] == b["bytes"], f"{name}: {option} changes results"
        assert b["cycles"] <= 1.003 * a["cycles"], f"{name}: slower with {option}"
    before, after = (sum(run[number] for run in runs) for runs in (without, with_it))
    assert after <= before * (1 - share), f"{option}: {number} {before} -> {after}"


@pytest.mark.parametrize("name", [*NETS, "transformer"])
@pytest.mark.parametrize("level", [0, 1])
def test_all_and_none(measure, name, level):
    """All passes together: same bytes, no slower than without any, code that stays in bounds."""
    none, everything = measure(name, 8, level, OFF), measure(name, 8, level, {})
    assert none["bytes"] == everything["bytes"]
    assert everything["cycles"] <= none["cycles"] * 1.005
    assert everything["csr_writes"] < none["csr_writes"]
    assert everything["size"] <= none["size"] + (64 << 10)


def test_values_that_are_no_number_of_turns(tmp_path):
    model = harness.ROOT / "models/digits/digits_cnn.onnx"
    for value in ("-1", "many", "2147483648"):
        result = harness.run_tool("compile", model, "-o", tmp_path / "m.stcobj", "--option", f"dma_load_unroll={value}")
        assert result.returncode == 1 and "dma_load_unroll" in result.stderr, result.stderr
    assert not np.any([path.suffix == ".stcobj" for path in tmp_path.iterdir()])
