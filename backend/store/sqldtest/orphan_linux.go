package sqldtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the child if the test process ends without
// cleaning up, for example because of its time limit.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
