#!/usr/bin/env bash
# Ensures that the commands and Debian packages are installed that a group of targets
# needs: setup.sh [check] GROUP…, where GROUP is one of
#
#   base     what every target needs
#   tinygo   what building TinyGo, and compiling with it, needs
#   test     what `make test` needs in addition
#   release  what `make release-test` needs in addition
#
# This is the only list of the Debian packages that Kith uses. The script first checks
# the versions of Go, Node and npm; if one is missing or too old, it says so and
# downloads nothing. Then, on Debian and Ubuntu, as root or with a sudo without a
# password, it installs the missing packages. Otherwise it prints them and the command
# that installs them, and exits with status 1. With check it installs nothing, and
# fails only if it could not install. It writes nothing to stdout.
set -euo pipefail
exec >&2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
unpack_dir=$(cd "$here/../.." && pwd)/bin/debian

# group | Debian package | a file or command that shows that it is installed | why
packages='
base   | make                     | make                           | runs the targets
base   | git                      | git                            | clones the repository, and checks that a run changed no file
tinygo | gcc                      | gcc                            | cgo: TinyGo links LLVM
tinygo | libc6-dev                | /usr/include/stdio.h           | cgo: headers of the C library
tinygo | g++                      | g++                            | the C++ half of the LLVM bindings
tinygo | llvm-19-dev              | /usr/lib/llvm-19/bin/llvm-config | LLVM, with which TinyGo compiles
tinygo | libclang-19-dev          | /usr/lib/llvm-19/include/clang-c/Index.h | libclang, which parses the C parts of a guest
tinygo | clang-19                 | clang-19                       | compiles the C and assembly parts of a guest
tinygo | lld-19                   | wasm-ld-19                     | links the guest
tinygo | wasi-libc                | /usr/lib/wasm32-wasi/libc.a    | the C library inside the guest
tinygo | libclang-rt-19-dev-wasm32 | /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a | compiler builtins inside the guest
tinygo | binaryen                 | wasm-opt                       | optimizes the linked guest
test   | nodejs                   | node                           | runs the official clients and drives the browser
test   | npm                      | npm                            | downloads the official clients
test   | gcc                      | gcc                            | cgo: the race detector; records the writes of a database server
test   | libc6-dev                | /usr/include/stdio.h           | cgo: headers of the C library
test   | chromium-headless-shell  | chromium-headless-shell        | the browser that pages are tried in
test   | curl                     | curl                           | runs the commands of the documents
test   | bsdutils                 | script                         | a terminal, for what shows more on one
test   | sqlite3                  | sqlite3                        | opens the database file beside Kith; make bench compares imports with its .import
test   | python3                  | python3                        | opens the database file beside Kith, with another build of SQLite
test   | util-linux               | unshare                        | opens it from another mount namespace
test   | openssh-client           | sftp                           | sends files to import, as tenants do
test   | wabt                     | wat2wasm                       | assembles the hostile guests of wasm/host/testdata
release | debootstrap             | debootstrap                    | the Debian in which packages are installed
release | systemd                 | systemd-analyze                | examines the units
release | rpm                     | rpm                            | installs the rpm
release | qemu-user-static        | qemu-aarch64-static            | runs the program for the other processor
release | iptables                | iptables                       | the network of containers
release | iproute2                | ip                             | the network of containers
release | curl                    | curl                           | an image for the engine, which reaches no registry
'

# group | Debian package | a command in it | why
# To install one of these would also start a server, now and at each boot. So
# where the command is missing, the package is unpacked into bin/debian.
unpacked='
test   | nginx                    | nginx                          | serves Kith and a shop as docs/integrate.md says
release | nginx                   | nginx                          | an image for the engine, which reaches no registry
release | docker.io               | dockerd                        | the engine that starts the compose files
release | containerd              | containerd                     | a part of the engine
release | runc                    | runc                           | a part of the engine
'

say() { echo "setup: $*"; }

# present WHAT: an absolute path exists, or a command is on PATH.
present() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# present_server COMMAND: it is installed or unpacked. PATH may lack /usr/sbin.
present_server() { PATH=$PATH:/usr/sbin:$unpack_dir/usr/sbin:$unpack_dir/usr/bin command -v "$1" >/dev/null; }

in_groups() {
	local g
	for g in "${groups[@]}"; do [ "$g" = "$1" ] && return; done
	return 1
}

only_check=
if [ "${1-}" = check ]; then
	only_check=yes
	shift
fi
groups=("$@")
[ ${#groups[@]} -gt 0 ] || { say "usage: setup.sh [check] base|tinygo|test|release …"; exit 2; }

trim() { local s=$1; s=${s#"${s%%[![:space:]]*}"}; printf %s "${s%"${s##*[![:space:]]}"}"; }

# at_least LEAST VERSION: VERSION is LEAST or newer.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The version of Go that go.mod asks for, and the oldest that can fetch it.
go_least=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$here/../../go.mod")
go_fetches=1.21

# check_go prints a message if Go is missing or too old. It runs go in / because in this
# folder an older Go would begin to download a newer one.
check_go() {
	local found get="install Go $go_least or newer: https://go.dev/doc/install"
	found=$(cd / && GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || true
	found=${found#go}
	if [ -z "$found" ]; then
		echo "go is missing; $get"
	elif at_least "$go_least" "$found"; then
		return
	elif ! at_least "$go_fetches" "$found"; then
		echo "$(command -v go) is Go $found, too old; $get, and put its bin folder first in PATH"
	elif [ "$(cd / && go env GOTOOLCHAIN)" = local ]; then
		echo "$(command -v go) is Go $found, too old; set GOTOOLCHAIN=auto, with which it fetches a newer one, or $get"
	fi
}

# check_version NAME LEAST COMMAND: prints a message if the version of a command is too
# old. A missing command is handled with the packages.
check_version() {
	local found
	command -v "$3" >/dev/null || return 0
	found=$("$3" --version 2>/dev/null) || true
	at_least "$2" "${found#v}" || echo "$(command -v "$3") is $1 ${found:-of unknown version}, too old; install $1 $2 or newer: https://nodejs.org/en/download"
}

check_versions() {
	in_groups base && check_go
	in_groups test && check_version Node.js 18 node && check_version npm 9 npm
	true
}

problems=$(check_versions)
if [ -n "$problems" ]; then
	while read -r problem; do say "$problem"; done <<<"$problems"
	exit 1
fi

missing=()
while IFS='|' read -r group package shows why; do
	group=$(trim "$group") package=$(trim "$package")
	[ -n "$group" ] && in_groups "$group" && ! present "$(trim "$shows")" || continue
	missing+=("$package")
done <<<"$packages"
servers=()
while IFS='|' read -r group package command why; do
	group=$(trim "$group") package=$(trim "$package")
	[ -n "$group" ] && in_groups "$group" && ! present_server "$(trim "$command")" || continue
	servers+=("$package")
done <<<"$unpacked"
[ ${#missing[@]} -gt 0 ] || [ ${#servers[@]} -gt 0 ] || exit 0

root=()
[ "$(id -u)" = 0 ] || root=(sudo -n)
if ! command -v apt-get >/dev/null; then
	say "this is not Debian or Ubuntu; install what these packages of Debian 12 contain: ${missing[*]} ${servers[*]}"
	exit 1
elif ! "${root[@]}" true 2>/dev/null; then
	say "no permission to install packages; run: sudo apt-get install -y --no-install-recommends ${missing[*]} ${servers[*]}"
	exit 1
fi
[ -z "$only_check" ] || exit 0

# Only one apt runs at a time: steps of this checkout, which run concurrently, wait for a
# lock on this file, since `apt-get update` does not wait; for others apt has its own lock.
exec 8<"${BASH_SOURCE[0]}"
flock 8
apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
"$here/step.sh" "package lists of Debian" 5 "${apt[@]}" update
[ ${#missing[@]} -eq 0 ] ||
	"$here/step.sh" "Debian packages ${missing[*]}" 40 "${apt[@]}" install -y --no-install-recommends "${missing[@]}"

# apt-get download needs no root, and writes to the current folder.
[ ${#servers[@]} -eq 0 ] ||
	"$here/step.sh" "Debian packages ${servers[*]}, unpacked" 5 bash -euc 'cd "$(mktemp -d)"
		apt-get -q download "${@:2}"
		mkdir -p "$1"
		for file in *.deb; do dpkg-deb -x "$file" "$1"; done
		rm -r "$PWD"' unpack "$unpack_dir" "${servers[@]}"
