#!/usr/bin/env bash
# Fetches the files of this folder again from the npm registry, prints which of them
# changed, and compresses them. To take a newer release, edit its version here and in README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# fetch NAME VERSION FILE…: npm checks the package against the registry's hash.
fetch() {
	local name=$1 version=$2
	shift 2
	npm pack --silent --pack-destination "$temp" "$name@$version" >/dev/null
	mkdir -p "$temp/$name"
	tar -xzf "$temp/$name-$version.tgz" -C "$temp/$name" --strip-components=1
	mkdir -p "$name"
	(cd "$temp/$name" && install -m 644 "$@" "$OLDPWD/$name/")
}

fetch graphiql 3.9.0 LICENSE graphiql.min.js graphiql.min.css
fetch react 18.3.1 LICENSE umd/react.production.min.js
fetch react-dom 18.3.1 LICENSE umd/react-dom.production.min.js

# The fonts in the style sheet are two thirds of all these bytes; the page looks well without.
sed -Ei 's/@font-face *\{[^}]*\}//g' graphiql/graphiql.min.css

if sha256sum --quiet --check sha256sums; then
	echo "graphiql: no file changed"
else
	sha256sum */LICENSE */*.js */*.css >sha256sums
	echo "graphiql: the files above changed; sha256sums has their new hashes"
fi
gzip -9nf */*.js */*.css
