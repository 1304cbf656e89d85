//go:build !tinygo.wasm

package main

import "errors"

// variable returns an error. It replaces the SDK when the component is built and
// vetted by plain Go, where there is no host and the SDK's C code does not compile
// without warnings.
func variable(string) (string, error) { return "", errors.New("edge: no host") }
