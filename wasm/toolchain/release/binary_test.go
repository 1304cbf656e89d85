package main

import (
	"debug/macho"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Copy one file, run one command, click the share link: the root folder has nothing but the
// program, so no shell, no C library and no tool. The program for the other architecture runs
// in an emulator.
func TestBinary_Alone(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			folder := t.TempDir()
			must(t, "cp", one(t, target{"linux", arch}.binary()), filepath.Join(folder, "kith"))
			command := []string{"/kith"}
			if arch != host.arch {
				emulator := map[string]string{"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}[arch]
				must(t, "cp", "/usr/bin/"+emulator, folder)
				command = []string{"/" + emulator, "/kith"}
			}
			must(t, "chown", "1000:1000", folder)
			out, err := inRoot(t, folder, "1000:1000", "", nil, append(command, "--version")...).CombinedOutput()
			if err != nil || string(out) != "kith "+version(t)+"\n" {
				t.Fatalf("%v: %s", err, out)
			}
			edge := freeAddr(t)
			env := []string{"KITH_EDGE_ADDR=" + edge, "KITH_BACKEND_ADDR=" + freeAddr(t), "KITH_LAB_ADDR=" + freeAddr(t), "KITH_STRIPE_LAB_ADDR=off", "KITH_SFTP_ADDR=off"}
			start(t, inRoot(t, folder, "1000:1000", "", env, append(command, "dev")...))
			await(t, "http://"+edge+"/healthz", http.StatusOK)
			response, err := client.Get("http://" + edge + "/s/demo/ANNA10")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			to, cookie := response.Header.Get("Location"), response.Header.Get("Set-Cookie")
			if response.StatusCode != http.StatusFound || !strings.Contains(to, "rsCode=ANNA10") || !strings.HasPrefix(cookie, "kith_demo=v1.") {
				t.Errorf("%s to %q with cookie %q", response.Status, to, cookie)
			}
		})
	}
}

// The programs for macOS, which does not run here, are executables for their processors. They
// load only libraries that each macOS has.
func TestBinary_Darwin(t *testing.T) {
	for arch, cpu := range map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64} {
		file, err := macho.Open(one(t, target{"darwin", arch}.binary()))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Cpu != cpu || file.Type != macho.TypeExec {
			t.Errorf("%s: %v of %v", arch, file.Type, file.Cpu)
		}
		libraries, err := file.ImportedLibraries()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range libraries {
			if !strings.HasPrefix(l, "/usr/lib/") && !strings.HasPrefix(l, "/System/Library/") {
				t.Errorf("%s loads %s", arch, l)
			}
		}
	}
}

// The rpm has the files of the deb. Its script makes the user, and the files have the owners
// and modes that the program needs.
func TestRPM(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[host.arch]
	path, folder := one(t, "*."+arch+".rpm"), debian(t)
	rpm, deb := must(t, "rpm", "--query", "--package", "--list", path), must(t, "dpkg-deb", "--contents", one(t, "*_"+host.arch+".deb"))
	for _, line := range strings.Split(strings.TrimSpace(deb), "\n") {
		fields := strings.Fields(line)
		if name := strings.TrimPrefix(fields[5], "."); !strings.HasSuffix(name, "/") && !strings.Contains(rpm, name+"\n") {
			t.Errorf("the rpm has no %s:\n%s", name, rpm)
		}
	}
	// Debian's rpm otherwise says that packages of Debian are better.
	out := must(t, "rpm", "--force-debian", "--root", folder, "--nodeps", "--install", path)
	if out != "" {
		t.Errorf("the installation printed %q", out)
	}
	inside := inRoot(t, folder, "root:root", "", nil, "sh", "-c", "stat -c '%U:%G %a %n' /var/lib/kith /etc/kith /etc/kith/kith.env /usr/bin/kith && kith --version")
	text, err := inside.CombinedOutput()
	if want := "kith:kith 700 /var/lib/kith\nroot:kith 750 /etc/kith\nroot:kith 640 /etc/kith/kith.env\nroot:root 755 /usr/bin/kith\nkith " + version(t) + "\n"; err != nil || string(text) != want {
		t.Errorf("%v:\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(folder, "usr/lib/systemd/system/kith-backend.service")); err != nil {
		t.Error(err)
	}
}
