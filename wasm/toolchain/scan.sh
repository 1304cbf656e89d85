#!/usr/bin/env bash
# Looks for weaknesses: in our code by gosec, in what it calls by govulncheck. Where
# no vulnerability database can be reached (GOVULNDB names another one), the second
# says so and nothing fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

echo "== gosec"
# G304, a path in a variable: the files that Kith opens are named by its operator, or
# by an id that core.ParseFileRef has read. G115, a conversion to a smaller integer: 73,
# of lengths that have a bound (a page of a list, a guest's memory of 64 MiB), and of
# the words of the component's ABI. Other modules in the tree are tools and tests.
mapfile -t packages < <(go list -f '{{.Dir}}' ./...)
bin/tools/gosec -exclude G304,G115 "${packages[@]}"

echo "== govulncheck"
status=0
found=$(bin/tools/govulncheck -db "${GOVULNDB:-https://vuln.go.dev}" ./... 2>&1) || status=$?
case $found in
*"fetching vulnerabilities"*) echo "no vulnerability database can be reached: known vulnerabilities were not looked for" ;;
*)
	[ "$status" = 0 ] || echo "$found"
	exit "$status"
	;;
esac
