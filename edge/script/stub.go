//go:build !tinygo.wasm

package script

import _ "embed"

// Text lets the component be built and vetted by plain Go, which runs before
// anything is minified.
//
//go:embed kith.js
var Text string

// Gzip is empty: nothing is compressed here.
const Gzip = ""
