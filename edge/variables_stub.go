//go:build !tinygo.wasm

package main

import "errors"

// variable lets the component be built and vetted by plain Go, where there is no
// host and the SDK's C code does not compile cleanly.
func variable(string) (string, error) { return "", errors.New("edge: no host") }
