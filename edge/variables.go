//go:build tinygo.wasm

package main

import "github.com/fermyon/spin/sdk/go/v2/variables"

// variable reads a variable of the component from the host.
func variable(name string) (string, error) { return variables.Get(name) }
