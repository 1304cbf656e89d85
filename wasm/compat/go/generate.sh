#!/usr/bin/env bash
# Generates the Go client of an OpenAPI document and compiles the story with it:
#
#   generate.sh DOCUMENT PROGRAM
#
# Generated files are in a temporary folder, so that several runs can be concurrent.
set -euo pipefail
document=$(realpath "$1") program=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp go.mod go.sum main.go "$work"
mkdir "$work/kith"
../../../bin/tools/oapi-codegen -generate types,client -package kith -o "$work/kith/kith.gen.go" "$document"
cd "$work"
CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -o "$program" .
