package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// The compose files are valid, and each process of Kith has no rights: another user than
// root, no capability, a read-only root file system. Only the proxies' port is published,
// and on this machine alone.
func TestCompose_Rights(t *testing.T) {
	for file, want := range map[string][]string{
		"one-machine.yaml": {"backend", "edge"},
		"fleet.yaml":       {"backend-1", "backend-2", "durability", "edge-1", "edge-2", "primary", "proxy", "replica-1", "replica-2"},
	} {
		path, err := filepath.Abs(filepath.Join(root, "deploy", "compose", file))
		if err != nil {
			t.Fatal(err)
		}
		project, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
			WorkingDir:  filepath.Dir(path),
			ConfigFiles: []types.ConfigFile{{Filename: path}},
			Environment: types.Mapping{"KITH_VERSION": "1.2.3", "KITH_MASTER_KEY": "key", "KITH_DATABASE_TOKEN": "token", "SQLD_AUTH_JWT_KEY": "key"},
		})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if names := project.ServiceNames(); len(names) != len(want) {
			t.Errorf("%s has %v, not %v", file, names, want)
		}
		for _, name := range want {
			s, err := project.GetService(name)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" {
				t.Errorf("%s: %s keeps capabilities", file, name)
			}
			if s.Image == "kith:1.2.3" && (!s.ReadOnly || s.User != "65532:65532" || len(s.CapAdd) > 0) {
				t.Errorf("%s: %s may write its root file system, or is root, or has capabilities", file, name)
			}
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" || port.Published != "3000" {
					t.Errorf("%s: %s publishes %s:%s", file, name, port.HostIP, port.Published)
				}
			}
		}
		if _, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path}}}); err == nil {
			t.Errorf("%s is accepted without its variables", file)
		}
	}
}
