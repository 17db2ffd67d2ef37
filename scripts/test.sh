#!/usr/bin/env bash
# Sets up, then runs every test. The last line is 'N passed, N failed', counting the single cases of all suites.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
export PATH="/usr/bin:/bin:$PATH"
status=0
ctest --test-dir build --output-on-failure --no-tests=error -j "$(nproc)" || status=$?
echo
.venv/bin/python scripts/count_tests.py build/Testing/Temporary/LastTest.log || status=1
exit "$status"
