package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// manifest is the part of a Spin manifest, version 2, that this host implements, and the
// keys that only describe. Any other key is an error, since ignoring a restriction would
// be a security hole.
type manifest struct {
	Version     int                          `toml:"spin_manifest_version"`
	Application map[string]toml.Primitive    `toml:"application"`
	Variables   map[string]variable          `toml:"variables"`
	Trigger     struct{ HTTP []httpTrigger } `toml:"trigger"`
	Components  map[string]component         `toml:"component"`
}

type variable struct {
	Default  *string `toml:"default"`
	Required bool    `toml:"required"`
	Secret   bool    `toml:"secret"`
}

type httpTrigger struct {
	ID        string `toml:"id"`
	Route     string `toml:"route"`
	Component string `toml:"component"`
}

type component struct {
	Description string            `toml:"description"`
	Source      string            `toml:"source"`
	Allowed     []string          `toml:"allowed_outbound_hosts"`
	Databases   []string          `toml:"sqlite_databases"`
	Stores      []string          `toml:"key_value_stores"`
	Variables   map[string]string `toml:"variables"`
	Build       struct {
		Command any      `toml:"command"`
		Workdir string   `toml:"workdir"`
		Watch   []string `toml:"watch"`
	} `toml:"build"`
}

// everyRoute is the route of all paths.
const everyRoute = "/..."

// application is a manifest with every variable filled in.
type application struct {
	source    string            // path to the module
	variables map[string]string // the component's own
	databases []string
	stores    []string
	allowed   []allowedHost
	// templates has the component's variables as written in the manifest, and values the
	// variables to which they refer.
	templates, values map[string]string
}

// parseManifest parses the text of the spin.toml at path and fills in its variables from
// values. The error lists all problems.
func parseManifest(path string, text []byte, values, optional map[string]string) (*application, error) {
	var m manifest
	meta, err := toml.Decode(string(text), &m)
	if err != nil {
		return nil, fmt.Errorf("host: %s: %w", path, err)
	}
	errs := []error{unknownKeys(meta)}
	if m.Version != 2 {
		errs = append(errs, fmt.Errorf("spin_manifest_version is %d, not 2", m.Version))
	}
	c, err := m.served()
	errs = append(errs, err)
	vars, err := m.variables(values, optional)
	errs = append(errs, err)
	app := &application{databases: c.Databases, stores: c.Stores, templates: c.Variables, values: vars}
	if app.source = c.Source; !filepath.IsAbs(c.Source) {
		app.source = filepath.Join(filepath.Dir(path), c.Source)
	}
	app.variables, err = expandAll(c.Variables, vars)
	errs = append(errs, err)
	app.allowed, err = parseAllowed(c.Allowed, vars)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("host: %s: %w", path, err)
	}
	return app, nil
}

// unknownKeys reports keys that were not read. The application table only describes.
func unknownKeys(meta toml.MetaData) error {
	var errs []error
	for _, key := range meta.Undecoded() {
		if key[0] != "application" {
			errs = append(errs, fmt.Errorf("key %s is not supported", key))
		}
	}
	return errors.Join(errs...)
}

// served returns the component that answers all requests.
func (m *manifest) served() (c component, err error) {
	if len(m.Trigger.HTTP) != 1 || m.Trigger.HTTP[0].Route != everyRoute {
		return c, fmt.Errorf("want one [[trigger.http]], with the route %q: the component itself decides about paths", everyRoute)
	}
	name := m.Trigger.HTTP[0].Component
	c, ok := m.Components[name]
	if !ok || c.Source == "" {
		err = fmt.Errorf("component %q has no source", name)
	}
	return c, err
}

// variables returns the value of every declared variable.
func (m *manifest) variables(values, optional map[string]string) (map[string]string, error) {
	var errs []error
	for name := range values {
		if _, ok := m.Variables[name]; !ok {
			errs = append(errs, fmt.Errorf("variable %s is given and not declared", name))
		}
	}
	all := make(map[string]string, len(m.Variables))
	for name, v := range m.Variables {
		given, ok := values[name]
		if !ok {
			given, ok = optional[name]
		}
		switch {
		case !validKey(name):
			errs = append(errs, fmt.Errorf("variable %q: not a name", name))
		case v.Required == (v.Default != nil):
			errs = append(errs, fmt.Errorf("variable %s: either required or a default", name))
		case ok:
			all[name] = given
		case v.Required:
			errs = append(errs, fmt.Errorf("variable %s is required and not given", name))
		default:
			all[name] = *v.Default
		}
	}
	return all, errors.Join(errs...)
}

// validKey reports whether s can name a variable: lower-case words of letters
// and digits, each beginning with a letter, joined by single underscores.
func validKey(s string) bool {
	for word := range strings.SplitSeq(s, "_") {
		if word == "" || word[0] < 'a' || word[0] > 'z' {
			return false
		}
		for _, c := range []byte(word) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return true
}

func expandAll(templates, vars map[string]string) (map[string]string, error) {
	all := make(map[string]string, len(templates))
	var errs []error
	for name, template := range templates {
		value, err := expand(template, vars)
		if !validKey(name) {
			err = errors.New("not a name")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("variable %q of the component: %w", name, err))
		}
		all[name] = value
	}
	return all, errors.Join(errs...)
}

// expand replaces every {{ name }} in template by the variable of that name.
func expand(template string, vars map[string]string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", fmt.Errorf("%q: }} is missing", template)
		}
		value, ok := vars[strings.TrimSpace(name)]
		if !ok {
			return "", fmt.Errorf("no variable is named %q", strings.TrimSpace(name))
		}
		out.WriteString(value)
		template = after
	}
}
