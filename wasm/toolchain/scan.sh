#!/usr/bin/env bash
# Searches for weaknesses: in our code with gosec, in the code that it calls with
# govulncheck. If no vulnerability database can be reached (GOVULNDB names another
# one), govulncheck is skipped with a message, and the script does not fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

echo "== gosec"
# Excluded: G304, a path in a variable: the operator names the files that Kith opens, or
# core.ParseFileRef has checked the id. G115, a conversion to a smaller integer: 73 of
# bounded lengths (a page of a list, a guest's memory of 64 MiB) and of words of the
# component's ABI. clients/go has a module of its own; other modules are tools and tests.
mapfile -t packages < <(go list -f '{{.Dir}}' ./...)
bin/tools/gosec -exclude G304,G115 "${packages[@]}" "$PWD/clients/go"

echo "== govulncheck"
status=0
found=$(bin/tools/govulncheck -db "${GOVULNDB:-https://vuln.go.dev}" ./... 2>&1) || status=$?
case $found in
*"fetching vulnerabilities"*) echo "no vulnerability database can be reached: known vulnerabilities were not checked" ;;
*)
	[ "$status" = 0 ] || echo "$found"
	exit "$status"
	;;
esac
