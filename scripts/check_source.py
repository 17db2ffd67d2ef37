#!/usr/bin/env python3
"""Checks of the source tree: formatting, layering of includes, file lengths. Prints what is wrong; exit status 1 then.

    check_source.py [--fix]        --fix formats the C++ files
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: Libraries that never see MLIR, so that they stay quick to build and usable without the compiler.
MLIR_FREE = [
    "lib/Support", "lib/Target", "lib/Numerics", "lib/Constants", "lib/Schedule", "lib/Lld",
    "simulator", "runtime", "include", "tools/p920-run", "tools/p920-vectors",
    "test/unit/Support", "test/unit/Target", "test/unit/Numerics", "test/unit/Schedule", "test/unit/Simulator",
    "test/unit/Runtime", "test/unit/Constants",
]  # fmt: skip
#: Headers of ours that include MLIR's.
MLIR_HEADERS = re.compile(r'^\s*#\s*include\s*[<"](mlir/|Dialect/|Conversion/|Transforms/|CodeGen/|HostCpu/)', re.M)
LONG, TOO_LONG = 600, 750
CPP = {".cpp", ".h", ".hpp"}
SOURCES = CPP | {".py", ".td", ".sh", ".cmake", ".inc"}


def files():
    """Paths of the files under version control; of all files where there is no repository."""
    try:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
        names = [n for n in listed.decode().split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if not re.match(r"\.|build", str(p.relative_to(ROOT)))]
    return sorted(p for p in (ROOT / n for n in names) if p.is_file() and p.suffix in SOURCES)


def check_format(paths, fix):
    command = ["clang-format-22", "-i"] if fix else ["clang-format-22", "--dry-run", "--Werror"]
    result = subprocess.run(command + [str(p) for p in paths], cwd=ROOT, capture_output=True, text=True, check=False)
    bad = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error: code should be clang-formatted", result.stderr, re.M)))
    return [f"{pathlib.Path(p).relative_to(ROOT)}: not formatted (clang-format-22 -i)" for p in bad]


def check_includes(paths):
    wrong = []
    for path in paths:
        name = str(path.relative_to(ROOT))
        if any(name.startswith(folder + "/") for folder in MLIR_FREE):
            text = path.read_text(encoding="utf-8", errors="replace")
            wrong += [f"{name}: includes {m.group(1)}..., but this part never sees MLIR" for m in MLIR_HEADERS.finditer(text)]
    return wrong


def check_lengths(paths):
    wrong = []
    for path in paths:
        lines = path.read_bytes().count(b"\n")
        if lines > LONG:
            print(f"note: {path.relative_to(ROOT)} has {lines} lines; about {LONG} are the aim")
        if lines > TOO_LONG:
            wrong.append(f"{path.relative_to(ROOT)}: {lines} lines, more than {TOO_LONG}")
    return wrong


def main():
    fix = "--fix" in sys.argv[1:]
    paths = files()
    cpp = [p for p in paths if p.suffix in CPP]
    wrong = check_format(cpp, fix) + check_includes(cpp) + check_lengths(paths)
    for line in wrong:
        print(line)
    print(f"{len(paths)} files checked, {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
