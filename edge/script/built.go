//go:build tinygo.wasm

package script

import _ "embed"

// Text is the minified script, and Gzip the same, compressed. make edge writes both
// files.
var (
	//go:embed kith.min.js
	Text []byte
	//go:embed kith.min.js.gz
	Gzip []byte
)
