#!/usr/bin/env bash
# Fetches the files of this folder again from the npm registry, and prints which
# of them changed. To take a newer release, edit its version here and in README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# npm checks the package against the registry's hash.
npm pack --silent --pack-destination "$temp" htmx.org@2.0.11 >/dev/null
tar -xzf "$temp/htmx.org-2.0.11.tgz" -C "$temp" --strip-components=1
mkdir -p htmx
install -m 644 "$temp/LICENSE" "$temp/dist/htmx.min.js" htmx/

if sha256sum --quiet --check sha256sums; then
	echo "htmx: no file changed"
else
	sha256sum htmx/* >sha256sums
	echo "htmx: the files above changed; sha256sums has their new hashes"
fi
