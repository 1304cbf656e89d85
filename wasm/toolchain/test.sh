#!/usr/bin/env bash
# Runs every test of this repository: test.sh PACKAGE…
#
# The named packages run with the race detector, the others without it, concurrently. The Go
# client, a module of its own, is one of the others. TEST_SKIP is a regular expression: the
# tests of wasm/e2e that it matches do not run. RACE_TESTS is one of the other packages and a
# regular expression: the tests of it that match also run with the race detector.
# With KITH_SAMPLE=n, of the tests of turns.txt only every sixth runs.
# A skipped test, a package without a test to run and a run without tests are failures.
# The output of go test is in bin/test-*.json; the 20 slowest tests are printed at the end.
# If all tests pass, bin/tested.sha256 gets the hash of the component.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD

# SQLite is C translated to Go, and its memory is outside of Go's heap, where the race
# detector checks no access (racecalladdr in the runtime's race_amd64.s). Instrumenting
# it would double the time of the tests and find nothing. Its locks are Go's, which the
# detector follows in any case. Only this package: one that uses generic types of the
# standard library, such as sync.Map, has its own copy of their code, the linker may take
# that copy for the whole program, and without instrumentation the detector does not see
# its atomic operations and reports races that do not exist.
race=(-race -gcflags=all=-dwarf=false '-gcflags=modernc.org/...=-dwarf=false -d=checkptr=0' '-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false -d=checkptr=0')

# All tests of turns.txt take wasm/e2e more than half an hour beside other work.
limit=${KITH_SAMPLE:+30m}
# run NAME ARG…: go test with ARGs, one package at a time. make lint runs vet.
run() {
	local name=$1
	shift
	"$top/bin/tools/gotestsum" --jsonfile "$top/bin/test-$name.json" --format pkgname --format-hide-empty-pkg -- \
		-trimpath -count=1 -p 1 -vet=off -ldflags='-s -w' -timeout "${limit:-60m}" "$@"
}

# plain NAME PACKAGE… [FLAG…]: without the race detector.
plain() {
	[[ ${2--} != -* ]] || return 0
	CGO_ENABLED=0 run "$1" -gcflags=all=-dwarf=false "${@:2}"
}

# The slowest package has its own run: otherwise it would run last, and one core would
# be idle.
longest=kith/wasm/e2e
mapfile -t raced < <(go list "$@")
unraced() { go list ./... | grep -vxF -f <(printf '%s\n' "${raced[@]}"); }
mapfile -t others < <(unraced | grep -vxF "$longest")
mapfile -t slow < <(unraced | grep -xF "$longest")
# Those of turns.txt that do not run, as a regular expression of go test; empty if all do.
turns() { grep -v '^#' wasm/toolchain/turns.txt; }
others_turn=$(turns | awk -v n="${KITH_SAMPLE-}" 'n != "" && NR % 6 != n % 6' | sed 's#/#$/^#; s#.*#^&$#' | paste -sd '|')
rm -f bin/test-*.json bin/tested.sha256
component=$(sha256sum bin/edge.wasm)
echo "== tests: ${#raced[@]} packages with the race detector, $((${#others[@]} + ${#slow[@]})) without${KITH_SAMPLE:+, KITH_SAMPLE=$KITH_SAMPLE}"
[ -z "$others_turn" ] || echo "== a sixth of the $(turns | wc -l) tests of wasm/toolchain/turns.txt; KITH_SAMPLE= plays all"
# The tests with promtool and helm run last: to build these takes minutes on a machine that
# never did, and other tests run meanwhile. With the race detector in all packages, make has
# built them before.
# Bash starts background commands with SIGINT ignored: Ctrl-C must end them all.
built='^Test(Chart|Prometheus)_'
(trap - INT && if [ ${#slow[@]} -gt 0 ]; then MAKEFLAGS= make -s --no-print-directory deploy-tools; fi) &
tools=$!
(
	trap - INT
	export CGO_ENABLED=1
	run race "${race[@]}" "${raced[@]}"
	[ -z "${RACE_TESTS-}" ] || run race-some "${race[@]}" "${RACE_TESTS% *}" -run "${RACE_TESTS#* }"
) &
runs=($!)
# Much of what they and wasm/e2e do is to wait.
(trap - INT && plain plain "${others[@]}" -p 2 ${others_turn:+-skip "$others_turn"} && cd clients/go && plain client ./...) &
runs+=($!)
status=0
plain e2e "${slow[@]}" -parallel 3 -skip "${TEST_SKIP:+$TEST_SKIP|}${others_turn:+$others_turn|}$built" || status=$?
wait "$tools" && plain deploy "${slow[@]}" -run "$built" || status=$?
for r in "${runs[@]}"; do wait "$r" || status=$?; done
echo "== seconds of the slowest tests, which run beside others"
cat bin/test-*.json | bin/tools/gotestsum tool slowest --threshold 1s --num 20 || true
[ "$status" = 0 ] || exit "$status"

fail() { echo "FAIL: $*"; exit 1; }
for results in bin/test-*.json; do
	if grep '"Action":"skip".*"Test":' "$results"; then fail "the tests above were skipped"; fi
	if grep 'warning: no tests to run' "$results"; then fail "the packages above ran no test"; fi
	grep -q '"Action":"pass".*"Test":' "$results" || fail "no test ran"
done

# For make release, which publishes only a component that was tested.
[ "$(sha256sum bin/edge.wasm)" = "$component" ] || fail "bin/edge.wasm was built again during the tests"
echo "$component" >bin/tested.sha256
