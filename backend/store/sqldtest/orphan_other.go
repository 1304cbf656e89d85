//go:build !linux

package sqldtest

import "os/exec"

// dieWithParent does nothing: only Linux knows how.
func dieWithParent(*exec.Cmd) {}
