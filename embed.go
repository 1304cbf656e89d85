// Package kith holds the files of this repository that its binary carries: the
// Spin manifest and the component that the manifest names. It stands at the top
// because a go:embed pattern cannot reach a parent folder, and a copy further
// down could differ from what Spin runs.
package kith

import "embed"

// Edge has spin.toml and bin/edge.wasm under these names. Without the component
// no package that links this one compiles: make edge builds it.
//
//go:embed spin.toml bin/edge.wasm
var Edge embed.FS

// Script and ScriptGzip are the minified browser script and the same, compressed: the
// bytes that the component has too. make edge writes both files.
var (
	//go:embed edge/script/kith.min.js
	Script []byte
	//go:embed edge/script/kith.min.js.gz
	ScriptGzip []byte
)
