#!/usr/bin/env python3
"""Changes every assumed constant of the timing model by 25 % and shows what becomes of two networks' times.

usage: sensitivity.py [--folder F] [--output docs/sensitivity.md]
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile

import nets

#: Network, batch, level of the graph schedule, title.
CASES = [
    ("resnet50", 16, 0, "ResNet-50, batch 16, level 0"),
    ("resnet50", 16, 1, "ResNet-50, batch 16, level 1"),
    ("resnet50", 1, 1, "ResNet-50, batch 1, level 1"),
    ("gemm_chain", 1, 1, "GEMM chain, level 1"),
]


def cycles(path, constants, profile="base", sharing="same-model"):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [nets.BIN / "tensorturbo", "run", path, "--timing-only", "--report", report.name]
        command += ["--profile", profile, "--ddr", sharing]
        for name, value in constants.items():
            command += ["--constant", f"{name}={value:.12g}"]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        return json.loads(pathlib.Path(report.name).read_text())["cycles"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", help="where networks and objects are kept (default: a temporary one)")
    parser.add_argument("--output", default=nets.ROOT / "docs" / "sensitivity.md", type=pathlib.Path)
    arguments = parser.parse_args()
    chip = json.loads((nets.ROOT / "lib" / "Target" / "p920.json").read_text())
    variants = [("base", {}, {})]
    for name, constant in sorted(chip["constants"].items()):
        value = constant["value"]
        # Bandwidths and sizes that contradict each other in public sources vary as well.
        if not constant["source"].startswith("assumed") and name not in ("llb.bytes_per_cycle", "ddr.bytes_per_second"):
            continue
        if name in ("frontend.blocking", "overlap.exact"):
            variants.append((f"{name} = 1", {name: 1}, {}))
        else:
            variants += [(f"{name} -25 %", {name: 0.75 * value}, {}), (f"{name} +25 %", {name: 1.25 * value}, {})]
    variants.append(("profile slow-vector", {}, {"profile": "slow-vector"}))
    variants += [(f"DDR {s}", {}, {"sharing": s}) for s in ("idle", "saturating")]

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.folder or temporary)
        paths = [nets.compiled(folder, net, batch, level) for net, batch, level, _ in CASES]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            table = list(pool.map(lambda v: [cycles(path, v[1], **v[2]) for path in paths], variants))
    base = table[0]
    lines = [
        "# Sensitivity of modelled times",
        "",
        "Written by `benchmarks/sensitivity.py`: one constant of the timing model at a time is changed, everything else stays as",
        "in profile `base`. Times in ms; in brackets the change against the base. The chain: eight products of 1024 x 1024 matrices.",
        "",
        "| | " + " | ".join(title for *_, title in CASES) + " |",
        "|---|" + "---|" * len(CASES),
    ]
    for (name, _, _), row in zip(variants, table):
        cells = []
        for now, before in zip(row, base):
            change = "" if row is base else f" ({(now / before - 1) * 100:+.1f} %)"
            cells.append(f"{now * 1e-6:.3f}{change}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
