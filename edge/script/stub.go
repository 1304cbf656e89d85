//go:build !tinygo.wasm

package script

import _ "embed"

// Text is the script before it is minified, for builds by plain Go.
//
//go:embed kith.js
var Text []byte

// Gzip is empty: the script is not compressed here.
var Gzip []byte
