#!/usr/bin/env bash
# Sets up, then compiles a trained network for the NPU, runs it on the simulated chip and shows what came out.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
.venv/bin/python scripts/demo.py "$@"
exec .venv/bin/python scripts/demo_photos.py "$@"
