package sqldtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends the child when the test process dies without cleaning up,
// as it does when it runs into its time limit.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
