#!/usr/bin/env bash
# Runs one step of a build and shows its progress:
#
#   step.sh NAME SECONDS CMD…
#
# NAME is the name of the step and SECONDS about how long it takes on two cores with
# an empty cache. The script prints both to stderr first, then the elapsed time every
# ten seconds, and at the end the total time if it was longer than a second. It prints
# the output of CMD only if CMD fails, since package managers and compilers print
# hundreds of lines. The exit status is that of CMD. Steps may run concurrently: each
# line names its step.
set -euo pipefail
exec >&2

name=$1 about=$2
shift 2

log=$(mktemp)
# CMD runs in the foreground and the clock in the background, because bash starts
# background commands with SIGINT ignored: Ctrl-C must end both.
(
	trap - INT
	while sleep 10 </dev/null >/dev/null 2>&1; do echo "== $name: $SECONDS of about $about s"; done
) &
ticker=$!
trap 'kill "$ticker" 2>/dev/null || true; rm -f "$log"' EXIT

echo "== $name (about $about s)"
status=0
"$@" >"$log" 2>&1 </dev/null || status=$?
if [ "$status" != 0 ]; then
	cat "$log"
	echo "== $name: failed after $SECONDS s"
elif [ "$SECONDS" -gt 1 ]; then
	echo "== $name: done in $SECONDS s"
fi
exit "$status"
