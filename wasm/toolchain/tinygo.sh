#!/usr/bin/env bash
# Runs TinyGo. All calls of TinyGo in this project use this script.
#
#   tinygo.sh check              fail if what the others need cannot be installed
#   tinygo.sh path               print the path of the tinygo command, building it if needed
#   tinygo.sh build -o OUT PKG   compile a guest with the project's flags
#   tinygo.sh test PKG           run the tests of a package as a guest under wazero, unless they
#                                passed before with the same sources
#   tinygo.sh assemble DIR       build the compiler in DIR; path does this once
#
# A `tinygo` on PATH is used if it is 0.41.x. Otherwise 0.41.0 is built once, from its
# Go module and Debian's LLVM 19, and kept in ${XDG_CACHE_HOME:-~/.cache}/kith, in a
# folder named after the hash of all inputs. stdout has only the answer of `path` and
# the output of tests; progress is on stderr.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

series=0.41
module=github.com/tinygo-org/tinygo

# scheduler none, gc leaking and the malloc of edge/abi: an instance serves one request
# at a time and begins the next with its first memory, so it needs neither goroutines nor
# a garbage collector. An instance whose memory grew is not used again; with 256 KiB at
# the start, 130 KiB of it heap, nearly no request makes it grow. The host compares the
# stack after each request: 32 KiB is twice what the deepest document of core/wire uses.
# opt=s serves a request as fast as opt=2, which is 120 kB larger, and in two thirds of
# the time of opt=z.
build_flags=(-target=wasip1 -buildmode=c-shared -scheduler=none -gc=leaking -tags=custommalloc -no-debug -opt=s -ldflags="-extldflags='--initial-memory=262144 -z stack-size=32768'")

say() { echo "tinygo.sh: $*" >&2; }

# on_path prints the tinygo on PATH if its version fits.
on_path() {
	local found version
	found=$(command -v tinygo) || return 1
	version=$("$found" version 2>/dev/null | sed -n 's/^tinygo version \([0-9.]*\).*/\1/p')
	case $version in
	"$series".*) say "using $found ($version)"; echo "$found" ;;
	*) say "$found is ${version:-of unknown version}, not $series.x: it is not used"; return 1 ;;
	esac
}

# inputs prints everything on which the built compiler depends.
inputs() {
	go version
	grep "$module v" "$here/go.mod"
	cat "$here/wasip1.json"
	declare -f assemble
	dpkg-query -W -f '${Package} ${Version}\n' llvm-19-dev libclang-19-dev wasi-libc libclang-rt-19-dev-wasm32 2>/dev/null || true
}

# assemble DIR makes a complete TINYGOROOT with the compiler in DIR/bin. The module's
# zip has no git submodules: src/net stays empty (guests do not import net), and
# wasip1.json names Debian's C library and builtins. The folders are copied, since
# TinyGo does not follow symbolic links to them.
assemble() {
	local dir=$1 source
	(cd "$here" && go mod download "$module")
	source=$(cd "$here" && go list -m -f '{{.Dir}}' "$module")
	mkdir -p "$dir/bin" "$dir/lib"
	cp -R "$source/src" "$source/targets" "$dir/"
	chmod -R u+w "$dir"
	mkdir -p "$dir/src/net/http"
	cp "$here/wasip1.json" "$dir/targets/wasip1.json"
	# The LLVM wrappers are thin: optimizing them takes 5 s and gains nothing.
	(cd "$here" && CGO_ENABLED=1 CGO_CFLAGS=-O0 CGO_CXXFLAGS=-O0 PATH="/usr/lib/llvm-19/bin:$PATH" \
		go build -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w' -tags llvm19 -o "$dir/bin/tinygo" "$module")
}

# make_own prints the path of the compiler in the cache, and builds it first if its
# inputs have changed. The folder gets its name only when it is complete; a second
# caller waits for the first.
make_own() {
	local cache key home temp
	"$here/setup.sh" base tinygo || exit 1
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/kith
	key=$(inputs | sha256sum | cut -c1-16)
	home=$cache/tinygo-$key
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock -n 9 || { say "waiting for another build of TinyGo"; flock 9; }
	if [ ! -x "$home/bin/tinygo" ]; then
		temp=$(mktemp -d "$cache/.building-XXXXXX")
		trap 'rm -rf "$temp"' EXIT
		"$here/step.sh" "TinyGo $series compiler, once" 60 "$here/tinygo.sh" assemble "$temp" 9>&-
		chmod 755 "$temp"
		mv -T "$temp" "$home"
		trap - EXIT
	fi
	exec 9>&-
	echo "$home/bin/tinygo"
}

# path prints the path of the compiler to use.
path() { on_path || make_own; }

# finish FILE stores the memory of an initialized guest as its data, removes what only the
# initialization used and what Kith never calls, replaces the table of functions, and makes the
# bytes independent of the folder of the build.
finish() {
	local go=(env -C "$here/../finish" CGO_ENABLED=0 go run -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w' .)
	"${go[@]}" initialized "$1"
	"$WASMOPT" -Os --converge -g "$1" -o "$1"
	"${go[@]}" segments "$1"
}

# optimizer FILE makes WASMOPT a command that leaves large functions on their own. Otherwise the
# component is one function, for whose variables wazero enlarges the stack of each instance.
optimizer() {
	local command
	command=$(PATH=$PATH:$(dirname "$tinygo") command -v "${WASMOPT:-wasm-opt}") || { say "no ${WASMOPT:-wasm-opt}; install binaryen"; exit 1; }
	printf '#!/bin/sh\nexec "%s" --one-caller-inline-max-function-size=1000 "$@"\n' "$command" >"$1"
	chmod +x "$1"
	export WASMOPT=$1
}

# tested TINYGO PKG prints a hash of what the result of the tests of a package depends on: the
# compiler, whose folder is named after all that it is built from, and the files of the
# package and of those that it imports.
tested() {
	local folders
	folders=$(go list -deps -test -f '{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}' "$2" | sort -u)
	{
		echo "$1 $2"
		"$1" version
		cat go.mod go.sum "$here/test.json" "${BASH_SOURCE[0]}"
		for folder in $folders; do
			find "${folder#"$PWD/"}" -type f | grep -xE "${folder#"$PWD/"}/(testdata/.*|[^/]*)" | LC_ALL=C sort | xargs sha256sum
		done
	} | sha256sum | cut -c1-32
}

case ${1-} in
check)
	if on_path >/dev/null; then "$here/setup.sh" check base; else "$here/setup.sh" check base tinygo; fi
	;;
path)
	path
	;;
build)
	[ $# = 4 ] && [ "$2" = -o ] || { say "usage: tinygo.sh build -o OUT PKG"; exit 2; }
	out=$3 pkg=$4
	tinygo=$(path)
	mkdir -p "$(dirname "$out")"
	# Renaming ensures that OUT is never incomplete.
	part=$out.part.wasm temp=$(mktemp -d)
	trap 'rm -rf "$part" "$temp"' EXIT
	optimizer "$temp/wasm-opt"
	TMPDIR=$temp "$here/step.sh" "component $pkg" 20 "$tinygo" build "${build_flags[@]}" -o "$part" "$pkg"
	finish "$(realpath "$part")"
	mv "$part" "$out"
	;;
assemble)
	assemble "$2"
	;;
test)
	shift
	[ $# = 1 ] || { say "usage: tinygo.sh test PKG"; exit 2; }
	command -v wazero >/dev/null || { say "no wazero command on PATH; make test builds one into bin/tools"; exit 1; }
	tinygo=$(path)
	[ -n "$(go list "$1")" ] || exit 1
	passed=${XDG_CACHE_HOME:-$HOME/.cache}/kith/guest-$(tested "$tinygo" "$1")
	if [ ! -e "$passed" ]; then
		output=$("$tinygo" test -target="$here/test.json" "$1" 2>&1) || { echo "$output"; exit 1; }
		[[ $output != *SKIP* && $output != *'no test'* ]] || { echo "$output"; say "FAIL: tests of $1 did not run as a guest"; exit 1; }
		echo "$output" >"$passed.$$"
		mv "$passed.$$" "$passed"
		find "${passed%/*}" -maxdepth 1 -name 'guest-*' -mtime +30 -delete
	fi
	cat "$passed"
	;;
*)
	sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
	exit 2
	;;
esac
