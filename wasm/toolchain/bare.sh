#!/usr/bin/env bash
# Runs the two commands of the README on a bare Debian, as a new user does:
#
#   bare.sh SUITE [run|test]…    SUITE is bookworm or trixie; default: run test
#
# It needs root, debootstrap, and this machine's Go for a Debian whose own is too
# old. debootstrap makes the bare system in a temporary folder, with only the
# packages that the README requires (Go, npm, git, make); KITH_BARE_BASE names a
# folder that keeps it for the next run. The commands run on a clone of HEAD, with
# empty caches. `run` measures the time to the first share link twice, cold and
# warm. Exit status 1: a command failed, or the first build takes longer than README.md
# says; so run it on a machine that does nothing else.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { echo "bare.sh: $*" >&2; }

# Everything below runs in its own mount and PID namespace: at its end all processes
# are killed and all mounts removed.
if [ "${KITH_BARE_INSIDE-}" != yes ]; then
	[ "$(id -u)" = 0 ] || { say "run it as root"; exit 2; }
	command -v debootstrap >/dev/null || { say "install debootstrap"; exit 2; }
	KITH_BARE_INSIDE=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

suite=${1-}
case $suite in
bookworm | trixie) shift ;;
*) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- run test

work=$(mktemp -d)
trap 'umount -R "$work"/*/proc "$work"/*/dev 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
root=$work/root

# bootstrap makes in $1 a minimal Debian with the packages that the README requires.
bootstrap() {
	local packages=(ca-certificates git make npm)
	say "$suite: debootstrap"
	debootstrap --variant=minbase "$suite" "$1" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	cp /etc/resolv.conf "$1/etc/"
	# An installed Debian has this file; debootstrap does not write it.
	echo '127.0.0.1 localhost' >"$1/etc/hosts"
	# Debian 12 has Go 1.19, so its users install Go from go.dev, as this machine did.
	if [ "$suite" = bookworm ]; then
		cp -R "$(cd / && go env GOROOT)" "$1/usr/local/go"
		sed -i 's/^GOTOOLCHAIN=.*/GOTOOLCHAIN=auto/; /^GOFLAGS=/d' "$1/usr/local/go/go.env"
	else
		packages+=(golang-go)
	fi
	say "$suite: ${packages[*]}"
	in_root "$1" "apt-get update && apt-get install -y --no-install-recommends ${packages[*]} && apt-get clean" >"$work/log" 2>&1 ||
		{ cat "$work/log"; exit 1; }
}

# in_root ROOT COMMAND: runs COMMAND in ROOT with the environment of a new login.
in_root() {
	local bare=$1
	mountpoint -q "$bare/proc" || mount -t proc proc "$bare/proc"
	mountpoint -q "$bare/dev" || mount --rbind /dev "$bare/dev"
	cp /etc/ssl/certs/ca-certificates.crt "$bare/etc/ssl/certs/" 2>/dev/null || true
	chroot "$bare" env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		${GOPROXY:+GOPROXY="$GOPROXY"} ${https_proxy:+https_proxy="$https_proxy"} \
		PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -euo pipefail -c "$2"
}

base=${KITH_BARE_BASE-}
if [ -n "$base" ] && [ -d "$base/$suite" ]; then
	say "$suite: the base system of $base"
else
	bootstrap "$work/base"
	umount -R "$work/base/proc" "$work/base/dev"
	[ -z "$base" ] || { mkdir -p "$base" && cp -a "$work/base" "$base/$suite"; }
fi
if [ -n "$base" ]; then cp -a "$base/$suite" "$root"; else mv "$work/base" "$root"; fi
git clone -q "$here/../.." "$root/root/kith"

# This code runs inside. A bare system has no curl, but bash can open a connection.
measure='
cd /root/kith
share_link() {
	exec 3<>/dev/tcp/127.0.0.1/3000 || return 1
	printf "GET /s/demo/ANNA10 HTTP/1.0\r\nHost: 127.0.0.1:3000\r\n\r\n" >&3
	read -r _ status _ <&3
	exec 3>&-
	[ "$status" = 302 ]
}
minutes=$(sed -n "s/.*The first build takes \([0-9]*\) minutes.*/\1/p" README.md)
first_share_link() {
	local begin=$(date +%s%N) make
	set -m
	make run >/tmp/run.log 2>&1 &
	make=$!
	set +m
	until share_link 2>/dev/null; do
		kill -0 $make 2>/dev/null || { cat /tmp/run.log; echo "make run ended"; exit 1; }
		sleep 0.05
	done
	local ms=$(( ($(date +%s%N) - begin) / 1000000 ))
	echo "$1 make run: share link after $ms ms; README.md says $minutes minutes for the first build"
	[ $ms -le $((minutes * 60000)) ] || { echo "FAIL: it takes longer than README.md says"; exit 1; }
	kill -INT -- -$make
	wait $make || true
	! share_link 2>/dev/null || { echo "Ctrl-C did not stop it"; exit 1; }
}'

for command in "$@"; do
	say "$suite: make $command"
	case $command in
	run) in_root "$root" "$measure; first_share_link cold; sed 's/^/  | /' /tmp/run.log; first_share_link warm; ls -l bin/kith" ;;
	test) in_root "$root" "cd /root/kith; begin=\$SECONDS; make test || { echo 'make test failed'; exit 1; }; echo \"make test: \$((SECONDS - begin)) s\"" ;;
	*) say "no such command: $command"; exit 2 ;;
	esac
done
