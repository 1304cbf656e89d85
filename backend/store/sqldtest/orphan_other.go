//go:build !linux

package sqldtest

import "os/exec"

// dieWithParent does nothing: only Linux supports it.
func dieWithParent(*exec.Cmd) {}
