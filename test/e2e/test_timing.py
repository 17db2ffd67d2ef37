"""The timing model from the outside: reports, profiles, traces, counts of the recorded programs."""

import bisect
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import harness
from harness import run_tool

PROGRAMS = pathlib.Path(os.environ.get("TT_SHARED", harness.ROOT.parent / "shared")) / "p920" / "programs"
RUN = harness.ROOT / "build" / "bin" / "p920-run"
ENGINES = ("scalar", "mme", "vme", "mte")
#: Programs whose scalar code looks at data that tensor instructions or transfers bring.
READS_DATA = {"hello", "traps", "groups", "sysdma2d"}


def names():
    return sorted(p.stem for p in PROGRAMS.glob("*.elf"))


def timed(name, tmp_path, *flags):
    if not RUN.exists():
        pytest.skip("p920-run is not built")
    facts = json.loads((PROGRAMS / f"{name}.json").read_text())
    report = tmp_path / "r.json"
    result = subprocess.run(
        [RUN, "--cores", str(facts["cores"]), "--report", report, *map(str, flags), PROGRAMS / f"{name}.elf"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return facts, json.loads(report.read_text())


def check_accounts(report):
    """Busy and waiting shares add up, layers add up, the bound is below the time."""
    assert report["schema"] == "tensorturbo.run-report" and report["schema_version"] == 1
    assert report["time_ms"] * report["clock_hz"] / 1e3 <= report["cycles"] < report["time_ms"] * report["clock_hz"] / 1e3 + 1
    for scope in [report, *report["layers"]]:
        for engine in ENGINES:
            account = scope["engines"][engine]
            assert 0 <= account["busy"] <= 1.0001
    for engine in ENGINES:
        account = report["engines"][engine]
        assert account["busy"] + sum(account["stall"].values()) == pytest.approx(1, abs=1e-4)
    assert sum(layer["cycles"] for layer in report["layers"]) == pytest.approx(report["cycles"], rel=1e-3, abs=2)
    for level in ("ddr", "llb", "l1", "im", "mesh"):
        assert sum(layer["bytes"][level] for layer in report["layers"]) == pytest.approx(report["bytes"][level], abs=len(report["layers"]))
    assert report["lower_bound_ms"] <= report["time_ms"] * 1.0001


@pytest.mark.skipif(not PROGRAMS.exists(), reason="recorded programs not found (set TT_SHARED)")
@pytest.mark.parametrize("name", names())
def test_counts_of_recorded_programs(name, tmp_path):
    facts, report = timed(name, tmp_path)
    check_accounts(report)
    assert len(report["cores"]) == facts["cores"]
    for core, want in facts["counts"].items():
        have = report["cores"][int(core)]
        for key in ("instructions", "csr_writes", "csr_writes_same_value", "mme_cycles", "vme_cycles", "mte_bytes"):
            assert have[key] == want[key], (core, key)
        assert have["trapped"] == want.get("trapped", 0)


@pytest.mark.skipif(not PROGRAMS.exists(), reason="recorded programs not found (set TT_SHARED)")
@pytest.mark.parametrize("name", [n for n in names() if n not in READS_DATA])
def test_programs_without_data_take_the_same_time(name, tmp_path):
    _, report = timed(name, tmp_path)
    _, dataless = timed(name, tmp_path, "--timing-only")
    _, threads = timed(name, tmp_path, "--threads", 4)
    assert dataless["cycles"] == report["cycles"] == threads["cycles"]
    assert dataless["cores"] == report["cores"] == threads["cores"]


@pytest.mark.skipif(not PROGRAMS.exists(), reason="recorded programs not found (set TT_SHARED)")
def test_matrix_time_is_the_formula(tmp_path):
    """The MME is busy exactly for the formula's cycles; nothing in this program slows it down."""
    facts, report = timed("conv3x3", tmp_path)
    assert report["engines"]["mme"]["busy_cycles"] == facts["counts"]["0"]["mme_cycles"]


def test_report_of_a_network(digits, tmp_path):
    path, images, _ = digits
    report = tmp_path / "r.json"
    result, outputs = harness.run_model(path, {"image": images[:10]}, tmp_path, flags=["--report", report])
    assert result.returncode == 0 and outputs["logits"].shape == (10, 10)
    full = json.loads(report.read_text())
    check_accounts(full)
    nodes = {node for layer in full["layers"] for node in layer["nodes"]}
    assert {"conv1", "fc"} <= nodes
    assert full["macs"] > 0 and 0 < full["matrix_peak_share"] < 1
    assert set(full["lower_bound"]["terms_ms"]) == {"mme", "vme", "ddr", "llb", "mte", "edge"}
    assert full["gap"] == pytest.approx(full["time_ms"] / full["lower_bound_ms"] - 1)
    # Without data: the same time.
    result = run_tool("run", path, "--timing-only", "--report", report)
    assert result.returncode == 0, result.stderr
    dataless = json.loads(report.read_text())
    assert dataless["cycles"] == full["cycles"]
    assert [c["instructions"] for c in dataless["cores"]] == [c["instructions"] for c in full["cores"]]
    # The table names the layers and the profile.
    for word in ("profile base", "lower bound", "mme", "conv1"):
        assert word in result.stdout, result.stdout


def test_profiles_and_constants(digits, tmp_path):
    path, _, _ = digits
    report = tmp_path / "r.json"

    def cycles(*flags):
        result = run_tool("run", path, "--timing-only", "--report", report, *flags)
        assert result.returncode == 0, result.stderr
        return json.loads(report.read_text())

    base = cycles()
    slow = cycles("--profile", "slow-vector")
    assert slow["profile"] == "slow-vector" and slow["cycles"] > base["cycles"]
    assert slow["engines"]["vme"]["busy_cycles"] == pytest.approx(2.86 * base["engines"]["vme"]["busy_cycles"], rel=1e-6)
    idle, saturating = cycles("--ddr", "idle"), cycles("--ddr", "saturating")
    assert idle["cycles"] < base["cycles"] < saturating["cycles"]
    assert idle["lower_bound_ms"] < base["lower_bound_ms"] == saturating["lower_bound_ms"]
    check_accounts(idle)
    assert cycles("--constant", "sync.fixed=5000")["cycles"] > base["cycles"]
    for flags, word in (
        (["--profile", "fast"], "fast"),
        (["--constant", "sync.fixd=5"], "sync.fixed"),
        (["--constant", "sync.fixed=-1"], "out of range"),
        (["--constant", "frontend.blocking=2"], "out of range"),
        (["--constant", "sync.fixed"], "NAME=NUMBER"),
        (["--ddr", "none"], "none"),
        (["--output", tmp_path / "y.npz"], "--timing-only"),
        (["--dump-after", "conv1"], "--timing-only"),
    ):
        result = run_tool("run", path, "--timing-only", *flags)
        assert result.returncode == 1 and word in result.stderr, (flags, result.stderr)


#: What the viewer's importer wants of each kind of event (phase), by the description of the trace event format.
TRACE_FIELDS = {
    "X": {"name": str, "pid": int, "tid": int, "ts": float, "dur": float, "args": dict},
    "s": {"name": str, "cat": str, "id": int, "pid": int, "tid": int, "ts": float, "bp": str},
    "f": {"name": str, "cat": str, "id": int, "pid": int, "tid": int, "ts": float, "bp": str},
    "M": {"name": str, "pid": int, "args": dict},
}


def check_trace(path):
    """A trace as the viewer's importer sees it: it knows whole nanoseconds, and binds a flow's end to the slice around it."""
    document = json.loads(path.read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"} and document["displayTimeUnit"] in ("ms", "ns")
    tracks, flows, named = {}, {"s": {}, "f": {}}, {"process_name": {}, "thread_name": {}}
    for event in document["traceEvents"]:
        assert event["ph"] in TRACE_FIELDS, event
        fields = TRACE_FIELDS[event["ph"]]
        for field, kind in fields.items():
            value = event.get(field)
            assert isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool), (field, event)
        track = event["pid"], event.get("tid")
        if event["ph"] == "M":
            assert event["name"] in named and set(event["args"]) == {"name"} and event["args"]["name"], event
            assert track not in named[event["name"]], "named twice"
            named[event["name"]][track] = event["args"]["name"]
            continue
        assert event["ts"] >= 0
        at = int(event["ts"] * 1000 + 1e-6)
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["args"]["node"] and event["args"]["pc"].startswith("0x")
            tracks.setdefault(track, []).append((at, int((event["ts"] + event["dur"]) * 1000 + 1e-6)))
        else:
            assert event["bp"] == "e" and event["id"] not in flows[event["ph"]], event
            flows[event["ph"]][event["id"]] = (track, at, event["name"], event["cat"])
    for track, slices in tracks.items():
        assert track in named["thread_name"] and (track[0], None) in named["process_name"]
        slices.sort()
        for (_, end), (begin, _) in zip(slices, slices[1:]):
            assert begin >= end, f"slices of {track} overlap at {begin} ns"
    assert set(flows["s"]) == set(flows["f"])
    for number, (from_track, from_at, *kind) in flows["s"].items():
        to_track, to_at, *to_kind = flows["f"][number]
        assert kind == to_kind and from_at <= to_at
        for track, at in ((from_track, from_at), (to_track, to_at)):
            begins = [begin for begin, _ in tracks[track]]
            begin, end = tracks[track][bisect.bisect_right(begins, at) - 1]
            assert begin <= at <= end, f"flow {number} ends at {at} ns of {track}, in no slice"
    return document["traceEvents"], tracks, named, {kind for _, _, *kind_ in flows["s"].values() for kind in kind_}


@pytest.mark.parametrize("level", [0, 1])
def test_trace(digits, tmp_path, level):
    """A whole network; every event as the trace event format wants it."""
    path = tmp_path / "m.stcobj"
    flags = ["--shape", "image=10,1,8,8", "--level", level]
    assert run_tool("compile", harness.ROOT / "models/digits/digits_cnn.onnx", "-o", path, *flags).returncode == 0
    trace = tmp_path / "t.json"
    result = run_tool("run", path, "--timing-only", "--trace", trace)
    assert result.returncode == 0, result.stderr
    events, tracks, named, kinds = check_trace(trace)
    assert len({pid for pid, _ in tracks}) == 9, "eight cores and the DMA"
    assert {"scalar", "MME", "VME", "MTE"} <= set(named["thread_name"].values())
    assert kinds == {"transfer", "barrier"}
    assert any("conv1" in e["args"]["node"] for e in events if e["ph"] == "X")


@pytest.mark.skipif(not PROGRAMS.exists(), reason="recorded programs not found (set TT_SHARED)")
@pytest.mark.parametrize("name", ["conv8", "exchange", "groups", "sysdma2d"])
def test_trace_of_recorded_programs(name, tmp_path):
    """pld, icmov, two barrier groups, chains of descriptors."""
    trace = tmp_path / "t.json"
    timed(name, tmp_path, "--trace", trace)
    check_trace(trace)


def test_host_segments_do_not_count(digits, tmp_path):
    """Wall time of this machine is no time of the chip."""
    path, images, _ = digits
    report = tmp_path / "r.json"
    seen = set()
    for _ in range(2):
        harness.run_model(path, {"image": images[:10]}, tmp_path, flags=["--report", report])
        seen.add(json.loads(report.read_text())["cycles"])
    assert len(seen) == 1


def test_batch_grows_the_time(tmp_path):
    report = tmp_path / "r.json"
    cycles = []
    for batch in (8, 32):
        out = tmp_path / f"{batch}.stcobj"
        result = run_tool("compile", harness.ROOT / "models/digits/digits_cnn.onnx", "-o", out, "--shape", f"image={batch},1,8,8")
        assert result.returncode == 0, result.stderr
        assert run_tool("run", out, "--timing-only", "--report", report).returncode == 0
        found = json.loads(report.read_text())
        cycles.append((found["macs"], found["cycles"]))
    assert cycles[1][0] == pytest.approx(4 * cycles[0][0], rel=0.2)
    assert cycles[1][1] > cycles[0][1]
    assert np.isfinite(cycles).all()


def test_page_on_the_model_is_up_to_date():
    chip = json.loads((harness.ROOT / "lib/Target/p920.json").read_text())
    page = (harness.ROOT / "docs/timing-model.md").read_text()
    for name, c in chip["constants"].items():
        row = f"| `{name}` | {c['value']:.12g} | {c['unit']} | {c['source']} |"
        assert row in page, f"docs/timing-model.md lacks: {row}"
    assumed = {name for name, c in chip["constants"].items() if c["source"].startswith("assumed")}
    sensitivity = (harness.ROOT / "docs/sensitivity.md").read_text()
    assert {name for name in assumed if name not in sensitivity} == set()


def test_page_of_microbenchmarks_is_up_to_date():
    tool = harness.ROOT / "build" / "bin" / "tt-microbenchmarks"
    if not tool.exists():
        pytest.skip("tt-microbenchmarks is not built")
    page = (harness.ROOT / "docs/microbenchmarks.md").read_text()
    assert subprocess.run([tool], capture_output=True, text=True, timeout=60).stdout in page


@pytest.mark.parametrize("name", ["nets/bert_like.legacy17.onnx"])
def test_several_parts_on_the_chip(shared, name, tmp_path):
    """Between the NPU's parts the host computes; the report sums up the parts."""
    result, path, _ = harness.compile_model(harness.corpus()[name], tmp_path)
    assert result.returncode == 0, result.stderr
    meta = json.loads(run_tool("inspect", "--json", path).stdout)
    assert [s["kind"] for s in meta["segments"]].count("npu") > 1
    report, trace = tmp_path / "r.json", tmp_path / "t.json"
    result = run_tool("run", path, "--timing-only", "--report", report, "--trace", trace)
    assert result.returncode == 0, result.stderr
    found = json.loads(report.read_text())
    check_accounts(found)
    ends = [e["ts"] + e["dur"] for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    assert max(ends) <= found["time_ms"] * 1e3 + 1e-3
    assert max(ends) > 0.9 * found["time_ms"] * 1e3
