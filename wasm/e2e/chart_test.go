package e2e

import (
	"bytes"
	"maps"
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
		PodSelector struct {
			MatchLabels map[string]any `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		Ingress  []rule
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

// rule is a rule of a NetworkPolicy.
type rule struct {
	From []struct {
		PodSelector struct {
			MatchLabels      map[string]string           `yaml:"matchLabels"`
			MatchExpressions []struct{ Values []string } `yaml:"matchExpressions"`
		} `yaml:"podSelector"`
		NamespaceSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"namespaceSelector"`
	}
	Ports []struct{ Port string }
}

// String returns the ports of the rule and the peers that reach them.
func (r rule) String() string {
	var words []string
	for _, p := range r.Ports {
		words = append(words, p.Port)
	}
	words = append(words, "from")
	for _, peer := range r.From {
		words = append(words, peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]+peer.PodSelector.MatchLabels["app.kubernetes.io/instance"])
		for _, e := range peer.PodSelector.MatchExpressions {
			words = append(words, e.Values...)
		}
	}
	return strings.Join(words, " ")
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
// pod has no rights, each service leads to ports of a pod, and each setting exists. Without a
// value, the database requires a token, and policies permit the peers that each part needs.
func TestChart_Renders(t *testing.T) {
	t.Parallel()
	known := settings(t)
	few := []string{"--set", "image.repository=registry.example/kith,secret=kith,files.bucket=s3://files"}
	kinds := []string{"Deployment x-backend", "Deployment x-edge", "PodDisruptionBudget x-backend", "PodDisruptionBudget x-edge",
		"Service x-backend", "Service x-edge", "Service x-primary", "StatefulSet x-primary"}
	policies := []string{"NetworkPolicy x-backend: http from x edge spin-edge", "NetworkPolicy x-edge: http from", "NetworkPolicy x-primary: http grpc from x edge spin-edge backend"}
	monitored := []string{policies[0] + ", ops from monitoring", policies[1] + ", ops from monitoring", policies[2]}
	for name, c := range map[string]struct {
		args, kinds []string
		servers     int // that require a token, and as many processes have it
	}{
		"few values":  {few, slices.Concat(kinds, policies), 2},
		"no policies": {append(few, "--set", "networkPolicy.enabled=false"), kinds, 2},
		"all values":  {[]string{"--values", "wasm/e2e/testdata/chart/all.yaml"}, slices.Concat(kinds, monitored, []string{"Ingress x"}), 0},
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
				kind := m.Kind + " " + m.Metadata.Name
				m.requireSafe(t, known)
				switch m.Kind {
				case "Service":
					for _, p := range m.Spec.Ports {
						require.Contains(t, ports(m.Spec.Selector, rendered), p.TargetPort, kind)
					}
				case "NetworkPolicy":
					var rules []string
					for _, r := range m.Spec.Ingress {
						rules = append(rules, r.String())
						for _, p := range r.Ports {
							require.Contains(t, ports(m.Spec.PodSelector.MatchLabels, rendered), p.Port, kind)
						}
					}
					kind += ": " + strings.Join(rules, ", ")
				}
				kinds = append(kinds, kind)
			}
			require.ElementsMatch(t, c.kinds, kinds)
			for _, text := range []string{"--auth-jwt-key-file, /secret/database-jwt", "key: database-jwt", "key: database-token"} {
				require.Equal(t, c.servers, strings.Count(out, text), text)
			}
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

// ports returns the names of the ports of the pods that a selector selects.
func ports(selector map[string]any, all []manifest) (names []string) {
	for _, m := range all {
		labels := m.Spec.Template.Metadata.Labels
		selected := len(labels) > 0
		for name, value := range selector {
			selected = selected && labels[name] == value
		}
		for _, c := range m.Spec.Template.Spec.Containers {
			for _, p := range c.Ports {
				if selected {
					names = append(names, p.Name)
				}
			}
		}
	}
	return names
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
		// The policies of the chart select them.
		PodLabels map[string]string `yaml:"podLabels"`
		Checks    struct {
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
	require.Equal(t, map[string]string{"app.kubernetes.io/name": "kith", "app.kubernetes.io/instance": "kith", "app.kubernetes.io/component": "spin-edge"}, app.Spec.PodLabels)
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

// In fleet.yaml only backends and edges share a network with the database servers, which
// require a token and have no way out. The administration of the primary, which requires no
// password, is on its loopback interface. Only the proxy publishes a port.
func TestChart_Fleet(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy/compose/fleet.yaml"))
	require.NoError(t, err)
	var fleet struct {
		Services map[string]struct {
			Networks    any
			NetworkMode string `yaml:"network_mode"`
			Environment map[string]string
			Ports       []string
		}
		Networks map[string]struct{ Internal bool }
	}
	// A service may override what it merges.
	require.NoError(t, yaml.UnmarshalWithOptions(text, &fleet, yaml.AllowDuplicateMapKey()))
	require.True(t, fleet.Networks["database"].Internal)
	require.Regexp(t, `--admin-listen-addr 127\.0\.0\.1:8102\n`, string(text))
	got := map[string]string{}
	for name, s := range fleet.Services {
		words := []string{s.NetworkMode}
		switch networks := s.Networks.(type) {
		case []any:
			for _, n := range networks {
				words = append(words, n.(string))
			}
		case map[string]any:
			words = append(words, slices.Sorted(maps.Keys(networks))...)
		}
		for _, variable := range []string{"SQLD_AUTH_JWT_KEY", "KITH_DATABASE_TOKEN"} {
			if strings.HasPrefix(s.Environment[variable], "${"+variable+":?") {
				words = append(words, variable)
			}
		}
		got[name] = strings.TrimSpace(strings.Join(append(words, s.Ports...), " "))
	}
	backend, edge, server := "outbound database KITH_DATABASE_TOKEN", "database default KITH_DATABASE_TOKEN", "database SQLD_AUTH_JWT_KEY"
	require.Equal(t, map[string]string{"primary": server, "replica-1": server, "replica-2": server, "durability": "service:primary",
		"backend-1": backend, "backend-2": backend, "edge-1": edge, "edge-2": edge, "proxy": "default 127.0.0.1:3000:3000"}, got)
}
