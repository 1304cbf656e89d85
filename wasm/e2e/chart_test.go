package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

const chart = "deploy/helm/kith"

// helm runs helm on the chart for a version of Kubernetes, and returns what it printed.
func helm(t testing.TB, args ...string) (out string, err error) {
	t.Helper()
	command := exec.Command("bin/tools/helm", append(args, "--kube-version", "1.37.0")...)
	command.Dir = root
	text, err := command.CombinedOutput()
	return string(text), err
}

// manifest is a part of a Kubernetes manifest that these tests look at.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Selector map[string]any
		Ports    []struct {
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				SecurityContext struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				InitContainers []container `yaml:"initContainers"`
				Containers     []container
				Volumes        []struct{ Name string }
			}
		}
	}
}

type container struct {
	Name            string
	Args            []string
	Env             []struct{ Name, Value string }
	Ports           []struct{ Name string }
	SecurityContext struct {
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
	VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
}

// manifests decodes manifests, after Kubernetes' own types have accepted each field.
func manifests(t testing.TB, text string) (all []manifest) {
	t.Helper()
	strict := exec.Command("bin/tools/strict")
	strict.Dir, strict.Stdin = root, strings.NewReader(text)
	out, err := strict.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for document := range strings.SplitSeq(text, "\n---\n") {
		var m manifest
		require.NoError(t, yaml.Unmarshal([]byte(document), &m), document)
		if m.Kind != "" {
			all = append(all, m)
		}
	}
	require.Equal(t, len(all), bytes.Count(out, []byte("\n")), "%s", out)
	return all
}

// settings are the environment variables that docs/configure.md lists.
func settings(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/configure.md"))
	require.NoError(t, err)
	return regexp.MustCompile(`\bKITH_[A-Z_]+\b`).FindAllString(string(text), -1)
}

// The chart renders to manifests that Kubernetes accepts, with few values and with all. Each
// pod has no rights, each service leads to ports of a pod, and each setting exists.
func TestChart_Renders(t *testing.T) {
	t.Parallel()
	known := settings(t)
	few := []string{"--set", "image.repository=registry.example/kith,secret=kith,files.bucket=s3://files"}
	all := []string{"--values", "wasm/e2e/testdata/chart/all.yaml"}
	for name, c := range map[string]struct {
		args  []string
		kinds []string
	}{
		"few values": {few, []string{"Deployment x-backend", "Deployment x-edge", "NetworkPolicy x-primary", "PodDisruptionBudget x-backend", "PodDisruptionBudget x-edge",
			"Service x-backend", "Service x-edge", "Service x-primary", "StatefulSet x-primary"}},
		"all values": {all, []string{"Deployment x-backend", "Deployment x-edge", "Ingress x", "NetworkPolicy x-primary", "PodDisruptionBudget x-backend", "PodDisruptionBudget x-edge",
			"Service x-backend", "Service x-edge", "Service x-primary", "StatefulSet x-primary"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := helm(t, append([]string{"lint", "--strict", chart}, c.args...)...)
			require.NoError(t, err, out)
			out, err = helm(t, append([]string{"template", "x", chart}, c.args...)...)
			require.NoError(t, err, out)
			rendered := manifests(t, out)
			var kinds []string
			for _, m := range rendered {
				kinds = append(kinds, m.Kind+" "+m.Metadata.Name)
				m.requireSafe(t, known)
				if m.Kind == "Service" {
					m.requireServed(t, rendered)
				}
			}
			slices.Sort(kinds)
			require.Equal(t, c.kinds, kinds)
			require.Equal(t, name == "all values", strings.Contains(out, "/secret/database-jwt"))
			require.Equal(t, name == "all values", strings.Contains(out, "KITH_BACKUP_DIR"))
		})
	}
}

// requireSafe requires that the containers of a manifest have no rights, mount volumes that
// exist, and have settings that Kith knows.
func (m manifest) requireSafe(t testing.TB, known []string) {
	t.Helper()
	pod := m.Spec.Template.Spec
	all := slices.Concat(pod.InitContainers, pod.Containers)
	require.True(t, len(all) == 0 || pod.SecurityContext.RunAsNonRoot, m.Metadata.Name)
	for _, c := range all {
		require.True(t, c.SecurityContext.ReadOnlyRootFilesystem, c.Name)
		require.NotNil(t, c.SecurityContext.AllowPrivilegeEscalation, c.Name)
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, c.Name)
		require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop, c.Name)
		for _, mount := range c.VolumeMounts {
			if mount.Name != "database" { // of the StatefulSet's own claim
				require.Contains(t, pod.Volumes, struct{ Name string }{mount.Name}, c.Name)
			}
		}
		var names []string
		for _, e := range c.Env {
			require.Contains(t, known, e.Name)
			require.NotContains(t, names, e.Name, c.Name)
			names = append(names, e.Name)
		}
		if len(c.Args) == 1 && len(c.Env) > 0 {
			require.Contains(t, []string{"serve", "edge"}, c.Args[0])
		}
	}
}

// requireServed requires that the ports of a service are those of a pod that it selects.
func (m manifest) requireServed(t testing.TB, all []manifest) {
	t.Helper()
	var ports []string
	for _, other := range all {
		labels := other.Spec.Template.Metadata.Labels
		selected := len(labels) > 0
		for name, value := range m.Spec.Selector {
			selected = selected && labels[name] == value
		}
		for _, c := range other.Spec.Template.Spec.Containers {
			for _, p := range c.Ports {
				if selected {
					ports = append(ports, p.Name)
				}
			}
		}
	}
	for _, p := range m.Spec.Ports {
		require.Contains(t, ports, p.TargetPort, m.Metadata.Name)
	}
}

// Values with which Kith could not start are refused, with the way out.
func TestChart_RefusesValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ set, says string }{
		"no secret":          {"image.repository=r,files.bucket=s3://b", "at '/secret': minLength"},
		"no image":           {"secret=s,files.bucket=s3://b", "at '/image/repository': minLength"},
		"no place for files": {"image.repository=r,secret=s", "set files.bucket to the URL of a bucket, or files.claim"},
		"a misspelt value":   {"image.repository=r,secret=s,files.bucket=s3://b,edges.replicas=3", "additional properties 'edges' not allowed"},
		"no hosts":           {"image.repository=r,secret=s,files.bucket=s3://b,ingress.enabled=true", "ingress.hosts: name the hosts"},
	} {
		out, err := helm(t, "template", "x", chart, "--set", c.set)
		require.Error(t, err, name)
		require.Contains(t, out, c.says, name)
	}
}

// spinApp has the fields of SpinKube's SpinApp (core.spinkube.dev/v1alpha1) that the manifest
// uses; any other is an error.
type spinApp struct {
	APIVersion string                `yaml:"apiVersion"`
	Kind       string                `yaml:"kind"`
	Metadata   struct{ Name string } `yaml:"metadata"`
	Spec       struct {
		Image    string `yaml:"image"`
		Executor string `yaml:"executor"`
		Replicas int32  `yaml:"replicas"`
		Checks   struct {
			Readiness struct {
				HTTPGet        struct{ Path string } `yaml:"httpGet"`
				PeriodSeconds  int32                 `yaml:"periodSeconds"`
				TimeoutSeconds int32                 `yaml:"timeoutSeconds"`
			} `yaml:"readiness"`
		} `yaml:"checks"`
		Variables     []spinValue `yaml:"variables"`
		RuntimeConfig struct {
			SqliteDatabases []spinStore `yaml:"sqliteDatabases"`
			KeyValueStores  []spinStore `yaml:"keyValueStores"`
		} `yaml:"runtimeConfig"`
		Resources struct {
			Requests map[string]string `yaml:"requests"`
			Limits   map[string]string `yaml:"limits"`
		} `yaml:"resources"`
	} `yaml:"spec"`
}

type spinStore struct {
	Name    string      `yaml:"name"`
	Type    string      `yaml:"type"`
	Options []spinValue `yaml:"options"`
}

type spinValue struct {
	Name      string `yaml:"name"`
	Value     string `yaml:"value"`
	ValueFrom struct {
		SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
	} `yaml:"valueFrom"`
}

// The SpinApp has the databases, stores and variables that the component's manifest names.
func TestChart_SpinApp(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy/spinkube/spinapp.yaml"))
	require.NoError(t, err)
	var app spinApp
	require.NoError(t, yaml.UnmarshalWithOptions(text, &app, yaml.Strict()))
	require.Equal(t, "core.spinkube.dev/v1alpha1 SpinApp", app.APIVersion+" "+app.Kind)
	require.Equal(t, "/readyz", app.Spec.Checks.Readiness.HTTPGet.Path)
	var spin struct {
		Variables map[string]struct{ Required bool }
		Component struct {
			Edge struct {
				Databases []string `toml:"sqlite_databases"`
				Stores    []string `toml:"key_value_stores"`
			}
		}
	}
	_, err = toml.DecodeFile(filepath.Join(root, "spin.toml"), &spin)
	require.NoError(t, err)
	given := map[string]bool{}
	for _, v := range app.Spec.Variables {
		require.Contains(t, spin.Variables, v.Name)
		require.True(t, v.Value != "" || v.ValueFrom.SecretKeyRef.Key != "", v.Name)
		given[v.Name] = true
	}
	for name, v := range spin.Variables {
		require.True(t, given[name] || !v.Required, name)
	}
	require.Len(t, spin.Component.Edge.Databases, len(app.Spec.RuntimeConfig.SqliteDatabases))
	for _, s := range app.Spec.RuntimeConfig.SqliteDatabases {
		require.Contains(t, spin.Component.Edge.Databases, s.Name)
		require.Equal(t, "libsql", s.Type)
	}
	for _, s := range app.Spec.RuntimeConfig.KeyValueStores {
		require.Contains(t, spin.Component.Edge.Stores, s.Name)
	}
}
