package lan

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// insideEnv is set in a test program that runs in namespaces of its own.
const insideEnv = "KITH_TEST_LAN"

// Inside reports whether this program runs in namespaces of its own.
func Inside() bool { return os.Getenv(insideEnv) != "" }

// Rerun runs the calling test in another process of the same test program, in a new network
// namespace, and fails if that test fails. Root needs no more; other users get a user
// namespace, too, if the system permits it. Where it does not, the test fails.
func Rerun(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, arguments(t.Name())...) // #nosec G204 -- this program
	// In a user namespace the program is root and may not write files of the real one.
	c.Env = append(os.Environ(), insideEnv+"=1", "TMPDIR="+t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = c.Start()
	if errors.Is(err, syscall.EPERM) {
		t.Fatalf("lan: create a network namespace: %v; run the test as root, or permit user namespaces "+
			"(sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); !strings.HasPrefix(line, "=== ") {
			t.Log(line)
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("the test in a network of its own: %v", err)
	}
}

// arguments returns the arguments of this program, for one test and without the files that
// only one program may write.
func arguments(test string) (all []string) {
	for i := 1; i < len(os.Args); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(os.Args[i], "-"), "=")
		switch name {
		case "test.testlogfile", "test.coverprofile", "test.gocoverdir", "test.run", "test.skip", "test.bench", "test.count":
			if !joined {
				i++ // its value
			}
		case "test.v":
		default:
			all = append(all, os.Args[i])
		}
	}
	var pattern []string
	for part := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	return append([]string{"-test.run=" + strings.Join(pattern, "/"), "-test.v", "-test.count=1"}, all...)
}
