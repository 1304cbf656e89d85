#!/usr/bin/env bash
# Ensures the system commands and Debian packages that a group of targets
# needs: setup.sh GROUP…, where GROUP is one of
#
#   base     what every target needs
#   tinygo   what building TinyGo, and compiling with it, needs
#   test     what `make test` needs besides
#   bench    what `make bench` needs besides
#
# This is the only list of what Kith takes from Debian. On Debian and Ubuntu,
# as root or with a sudo that asks no password, missing packages are installed.
# Anywhere else the script names what is missing and the command that gets it,
# and exits 1. Nothing is written to stdout.
set -euo pipefail
exec >&2

# group | Debian package | a file or command that shows it is there | why
packages='
base   | make                     | make                           | runs the targets
base   | git                      | git                            | the clone, and the check that a run changed nothing
tinygo | gcc                      | gcc                            | cgo: TinyGo links LLVM
tinygo | libc6-dev                | /usr/include/stdio.h           | cgo: headers of the C library
tinygo | g++                      | g++                            | the C++ half of the LLVM bindings
tinygo | llvm-19-dev              | /usr/lib/llvm-19/bin/llvm-config | LLVM, which TinyGo compiles with
tinygo | libclang-19-dev          | /usr/lib/llvm-19/include/clang-c/Index.h | libclang, which reads the C parts of a guest
tinygo | clang-19                 | clang-19                       | compiles the C and assembly parts of a guest
tinygo | lld-19                   | wasm-ld-19                     | links the guest
tinygo | wasi-libc                | /usr/lib/wasm32-wasi/libc.a    | the C library inside the guest
tinygo | libclang-rt-19-dev-wasm32 | /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a | compiler builtins inside the guest
tinygo | binaryen                 | wasm-opt                       | optimises the linked guest
test   | gcc                      | gcc                            | cgo: the race detector
test   | libc6-dev                | /usr/include/stdio.h           | cgo: headers of the C library
test   | chromium                 | chromium                       | the browser that pages are tried in
test   | bsdutils                 | script                         | a terminal, for what shows more on one
test   | openssh-client           | sftp                           | sends files to import, as tenants do
test   | wabt                     | wat2wasm                       | assembles the hostile guests of wasm/host/testdata
bench  | sqlite3                  | sqlite3                        | its .import is the yardstick of imports
'

# Commands that do not come from Debian here: too old there, or the caller's
# choice. command | group | how to get it
commands='
go  | base | Go 1.26 or newer: https://go.dev/doc/install
npm | test | npm with Node.js 20 or newer: https://nodejs.org/en/download
'

say() { echo "setup: $*"; }

# present WHAT: an absolute path exists, or a command is on PATH.
present() {
	case $1 in
	/*) [ -e "$1" ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

in_groups() {
	local g
	for g in "${groups[@]}"; do [ "$g" = "$1" ] && return; done
	return 1
}

# as_root CMD…: runs it as root if that needs no password; fails otherwise.
may_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
as_root() { if [ "$(id -u)" = 0 ]; then env "$@"; else sudo -n env "$@"; fi; }

groups=("$@")
[ ${#groups[@]} -gt 0 ] || { say "usage: setup.sh base|tinygo|test …"; exit 2; }

trim() { local s=$1; s=${s#"${s%%[![:space:]]*}"}; printf %s "${s%"${s##*[![:space:]]}"}"; }

missing=() lost=0
while IFS='|' read -r group package shows why; do
	group=$(trim "$group") package=$(trim "$package")
	[ -n "$group" ] && in_groups "$group" && ! present "$(trim "$shows")" || continue
	say "missing: $package ($(trim "$why"))"
	missing+=("$package")
done <<<"$packages"
while IFS='|' read -r name group how; do
	name=$(trim "$name") group=$(trim "$group")
	[ -n "$name" ] && in_groups "$group" && ! present "$name" || continue
	say "missing: $name. Get $(trim "$how")"
	lost=1
done <<<"$commands"

if [ ${#missing[@]} -gt 0 ]; then
	if command -v apt-get >/dev/null && may_be_root; then
		say "installing ${missing[*]}"
		# One apt at a time per machine: wait for another one's lock.
		apt=(DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
		as_root "${apt[@]}" update
		as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
	elif command -v apt-get >/dev/null; then
		say "no permission to install; run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
		lost=1
	else
		say "this is not Debian or Ubuntu; get what these packages of Debian 12 hold: ${missing[*]}"
		lost=1
	fi
fi
exit $lost
