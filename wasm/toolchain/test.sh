#!/usr/bin/env bash
# Runs every test of this repository: test.sh PACKAGE…
#
# The packages that are named run with the race detector, the others without it,
# side by side on two cores. A test that was skipped, a package without a test to
# run and a run without tests are failures. What go test said is in
# bin/test-*.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# SQLite is C translated to Go, and its memory is outside of Go's heap, where the
# race detector looks at no access (racecalladdr in the runtime's race_amd64.s). To
# instrument it doubles the time of the tests and finds nothing. Its locks are
# Go's, and are followed in either form.
race=(-race -gcflags=all=-dwarf=false '-gcflags=modernc.org/...=-dwarf=false -race=false -d=checkptr=0')

# run NAME ARG…: go test with ARGs. Both runs have one package at a time each, so
# that neither waits for the other at the end of its list.
run() {
	local name=$1
	shift
	bin/tools/gotestsum --jsonfile "bin/test-$name.json" --format pkgname --format-hide-empty-pkg -- \
		-trimpath -count=1 -p 1 -timeout 30m "$@"
}

mapfile -t raced < <(go list "$@")
mapfile -t others < <(go list ./... | grep -vxF -f <(printf '%s\n' "${raced[@]}"))
rm -f bin/test-*.json
echo "== tests: ${#raced[@]} packages with the race detector, ${#others[@]} without (about 6 minutes)"
# Bash starts background commands with SIGINT ignored: Ctrl-C must end both.
(trap - INT && CGO_ENABLED=1 run race "${race[@]}" "${raced[@]}") &
status=0
if [ ${#others[@]} -gt 0 ]; then CGO_ENABLED=0 run plain -gcflags=all=-dwarf=false "${others[@]}" || status=$?; fi
wait $! || status=$?
[ "$status" = 0 ] || exit "$status"

fail() { echo "FAIL: $*"; exit 1; }
for results in bin/test-*.json; do
	if grep '"Action":"skip".*"Test":' "$results"; then fail "the tests above were skipped"; fi
	if grep 'warning: no tests to run' "$results"; then fail "the packages above ran no test"; fi
	grep -q '"Action":"pass".*"Test":' "$results" || fail "no test ran"
done
