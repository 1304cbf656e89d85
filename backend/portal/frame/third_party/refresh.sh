#!/usr/bin/env bash
# Fetches the files of this folder again from the npm registry, and prints which
# of them changed. To take a newer release, edit its version here and in README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# take FOLDER PACKAGE VERSION FILE… copies files of a package, and its licence. npm checks
# the package against the registry's hash.
take() {
	local folder=$1 package=$2 version=$3
	shift 3
	npm pack --silent --pack-destination "$temp" "$package@$version" >/dev/null
	mkdir -p "$temp/$folder" "$folder"
	tar -xzf "$temp/$package-$version.tgz" -C "$temp/$folder" --strip-components=1
	install -m 644 "$temp/$folder/LICENSE" "${@/#/$temp/$folder/}" "$folder/"
}
take htmx htmx.org 2.0.11 dist/htmx.min.js
take uplot uplot 1.6.32 dist/uPlot.iife.min.js dist/uPlot.min.css

if sha256sum --quiet --check sha256sums; then
	echo "no file changed"
else
	sha256sum htmx/* uplot/* >sha256sums
	echo "the files above changed; sha256sums has their new hashes"
fi
