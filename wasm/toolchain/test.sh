#!/usr/bin/env bash
# Runs every test of this repository: test.sh PACKAGE…
#
# The packages that are named run with the race detector, the others without it, all
# side by side. A test that was skipped, a package without a test to
# run and a run without tests are failures. What go test said is in
# bin/test-*.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# SQLite is C translated to Go, and its memory is outside of Go's heap, where the
# race detector looks at no access (racecalladdr in the runtime's race_amd64.s). To
# instrument it doubles the time of the tests and finds nothing. Its locks are
# Go's, and are followed in either form.
race=(-race -gcflags=all=-dwarf=false '-gcflags=modernc.org/...=-dwarf=false -race=false -d=checkptr=0')

# run NAME ARG…: go test with ARGs, one package at a time.
run() {
	local name=$1
	shift
	bin/tools/gotestsum --jsonfile "bin/test-$name.json" --format pkgname --format-hide-empty-pkg -- \
		-trimpath -count=1 -p 1 -timeout 30m "$@"
}

# plain NAME PACKAGE…: without the race detector.
plain() {
	[ $# -gt 1 ] || return 0
	CGO_ENABLED=0 run "$1" -gcflags=all=-dwarf=false "${@:2}"
}

# The package that takes the longest has a run of its own: it would be the last of
# its list, and keep one core waiting.
longest=kith/wasm/e2e
mapfile -t raced < <(go list "$@")
unraced() { go list ./... | grep -vxF -f <(printf '%s\n' "${raced[@]}"); }
mapfile -t others < <(unraced | grep -vxF "$longest")
mapfile -t slow < <(unraced | grep -xF "$longest")
rm -f bin/test-*.json
echo "== tests: ${#raced[@]} packages with the race detector, $((${#others[@]} + ${#slow[@]})) without (about 7 minutes)"
# Bash starts background commands with SIGINT ignored: Ctrl-C must end them all.
(trap - INT && CGO_ENABLED=1 run race "${race[@]}" "${raced[@]}") &
runs=($!)
(trap - INT && plain plain "${others[@]}") &
runs+=($!)
status=0
plain e2e "${slow[@]}" || status=$?
for r in "${runs[@]}"; do wait "$r" || status=$?; done
[ "$status" = 0 ] || exit "$status"

fail() { echo "FAIL: $*"; exit 1; }
for results in bin/test-*.json; do
	if grep '"Action":"skip".*"Test":' "$results"; then fail "the tests above were skipped"; fi
	if grep 'warning: no tests to run' "$results"; then fail "the packages above ran no test"; fi
	grep -q '"Action":"pass".*"Test":' "$results" || fail "no test ran"
done
