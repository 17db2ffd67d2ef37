#!/usr/bin/env python3
"""How far each network is from what its level allows, on the timing model of the chip.

    benchmarks/gap.py                             all networks, level 1, batches 1 and 16
    benchmarks/gap.py --nets resnet50_v1.5 --level 0 --batch 16 --layers 12
    benchmarks/gap.py --scaling resnet50_v1.5     1, 2, 4 and 8 cores

The bound of a level is that of the program with perfect overlap inside each operator: the sum over its layers of
the largest of matrix engine, vector engine and LLB (bytes over its bandwidth), at level 0 also DDR; at level 1,
where weights move beside other layers, the whole DDR traffic if that is more. The gap is time / bound - 1, under
both profiles of the timing model. `--layers` names the layers that lose most and what their matrix engine waited for.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "models" / "imagenet"))
import make_nets  # noqa: E402

BIN = ROOT / "build" / "bin" / "tensorturbo"
PROFILES = ("base", "slow-vector")
#: The largest mean gap at level 1 that the project accepts.
GOAL = 0.35


def named_values(node):
    """name: value of every constant of the description."""
    found = {}
    for name, entry in node.items() if isinstance(node, dict) else []:
        if isinstance(entry, dict) and "value" in entry:
            found[name] = entry["value"]
        else:
            found.update(named_values(entry))
    return found


def constants():
    """Bytes per cycle of LLB and of DDR."""
    with open(ROOT / "lib" / "Target" / "p920.json", encoding="utf-8") as file:
        values = named_values(json.load(file))
    return values["llb.bytes_per_cycle"], values["ddr.bytes_per_second"] / values["clock"]


def run(command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def compile_net(folder, name, batch, level, cores):
    model = folder / f"{name}.onnx"
    if not model.exists():
        run([sys.executable, ROOT / "models" / "imagenet" / "make_nets.py", folder, name])
    builder, size, _ = make_nets.NETS[name]
    shape = {"transformer": f"tokens={batch},{size}", "mlp": f"features={batch},{size}"}
    out = folder / f"{name}.stcobj"
    run([BIN, "compile", model, "-o", out, "--level", level, "--ncore", cores, "-q", "--shape",
         shape.get(name, f"image={batch},3,{size},{size}")])  # fmt: skip
    return out


def report_of(folder, program, profile):
    path = folder / "report.json"
    run([BIN, "run", program, "--timing-only", "--profile", profile, "--report", path])
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def layer_bound(layer, level, llb, ddr):
    engines = [layer["engines"][e]["busy"] * layer["cycles"] for e in ("mme", "vme")]
    bounds = engines + [layer["bytes"]["llb"] / llb]
    return max(bounds + ([layer["bytes"]["ddr"] / ddr] if level == 0 else []))


def bound_of(report, level, llb, ddr):
    """Cycles."""
    layers = sum(layer_bound(layer, level, llb, ddr) for layer in report["layers"])
    return max(layers, report["bytes"]["ddr"] / ddr)


def print_layers(report, level, llb, ddr, count):
    losses = sorted(((layer["cycles"] - layer_bound(layer, level, llb, ddr), layer) for layer in report["layers"]),
                    key=lambda pair: -pair[0])  # fmt: skip
    for loss, layer in losses[:count]:
        stalls = sorted(layer["engines"]["mme"]["stall"].items(), key=lambda pair: -pair[1])[:2]
        why = ", ".join(f"{cause} {100 * share:.0f} %" for cause, share in stalls)
        print(f"    loses {loss / 1000:8.1f} of {layer['cycles'] / 1000:8.1f} kcycles: {layer['name']} ({why})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", default=",".join(make_nets.NETS))
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 16])
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--layers", type=int, default=0, help="name so many layers of each network")
    parser.add_argument("--scaling", metavar="NET", help="this network on 1, 2, 4 and 8 cores instead")
    arguments = parser.parse_args()
    llb, ddr = constants()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.scaling:
            print(f"{arguments.scaling}, level {arguments.level}: ms on the base profile, and times as fast as one core")
            for batch in arguments.batch:
                times = {}
                for cores in (1, 2, 4, 8):
                    program = compile_net(folder, arguments.scaling, batch, arguments.level, cores)
                    times[cores] = report_of(folder, program, "base")["time_ms"]
                print(f"  batch {batch:2}: " + "  ".join(f"{c} cores {t:8.3f} ({times[1] / t:.2f})" for c, t in times.items()))
            return 0
        print(f"level {arguments.level}: ms, bound, gap" + "".join(f"  [{p}]" for p in PROFILES))
        gaps = []
        for net in arguments.nets.split(","):
            for batch in arguments.batch:
                program = compile_net(folder, net, batch, arguments.level, 8)
                line, base = "", None
                for profile in PROFILES:
                    report = report_of(folder, program, profile)
                    bound = bound_of(report, arguments.level, llb, ddr)
                    gap = report["cycles"] / bound - 1
                    if profile == "base":
                        base = report
                        gaps.append(gap)
                    line += f"  {report['time_ms']:8.3f} {report['time_ms'] / (1 + gap):8.3f} {100 * gap:5.0f} %"
                print(f"  {net:16} b{batch:<3}{line}", flush=True)
                print_layers(base, arguments.level, llb, ddr, arguments.layers)
    mean = sum(gaps) / len(gaps)
    print(f"mean gap, base profile: {100 * mean:.1f} % (goal at level 1: at most {100 * GOAL:.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
