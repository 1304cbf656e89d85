package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kith"
	"kith/backend/store"
	"kith/core"
)

// spinCommand prepares what Spin needs to run the edge on a data folder.
type spinCommand struct {
	databaseFlags
	BackendURL string `env:"KITH_BACKEND_URL" default:"http://127.0.0.1:8080" help:"URL at which the edge reaches the backend."`
	EdgeAddr   string `env:"KITH_EDGE_ADDR" default:"127.0.0.1:3000" help:"Address that Spin listens on."`

	WithoutDatabase bool `env:"KITH_WITHOUT_DATABASE" help:"Read no database: the component keeps where links lead, and look-ups of codes that name no person, in its key-value store, as the backend answers them, and forwards everything else."`
}

// Run writes manifest, component and runtime configuration to the data folder, and
// prints the command that starts Spin with them.
func (c *spinCommand) Run(e *env) error {
	_, addrErr := hostOf("edge-addr", c.EdgeAddr)
	if err := errors.Join(checkOrigin("backend-url", c.BackendURL), addrErr); err != nil {
		return err
	}
	if !c.WithoutDatabase {
		if err := c.checkDatabase(e); err != nil {
			return err
		}
	}
	dir, err := filepath.Abs(filepath.Join(c.Data, "spin"))
	if err != nil {
		return err
	}
	config, err := c.runtimeConfig()
	if err != nil {
		return err
	}
	if err := c.write(dir, config); err != nil {
		return err
	}
	key, err := c.keyForShell()
	if err != nil {
		return err
	}
	age := ""
	if c.WithoutDatabase {
		age = "SPIN_VARIABLE_LINK_MAX_AGE_MS=300000 "
	}
	_, err = fmt.Fprintf(e.out, "SPIN_VARIABLE_MASTER_KEY=%s SPIN_VARIABLE_BACKEND_URL=%s %sspin up --from %s --runtime-config-file %s --listen %s\n",
		key, shellQuote(c.BackendURL), age, shellQuote(filepath.Join(dir, "spin.toml")), shellQuote(filepath.Join(dir, "runtime-config.toml")), shellQuote(c.EdgeAddr))
	return err
}

// checkDatabase returns an error if the component cannot use the database. Spin itself
// would create an empty one.
func (c *spinCommand) checkDatabase(e *env) error {
	if err := c.exists(); err != nil {
		return err
	}
	replica, err := store.OpenReplica(c.DatabaseURL, c.DatabaseToken)
	if err != nil {
		return err
	}
	defer replica.Close()
	ctx, cancel := context.WithTimeout(e.ctx, probeTimeout)
	defer cancel()
	return notDegraded(checkSchema(ctx, replica))
}

// runtimeConfig returns Spin's runtime configuration, with absolute paths.
func (c *spinCommand) runtimeConfig() (string, error) {
	// Without a path the key-value store is in memory: its entries are needed for a
	// short time only, and a file would be flushed for each.
	const store = "[key_value_store.default]\ntype = \"spin\"\n"
	if c.WithoutDatabase {
		return store, nil
	}
	var database string
	if path, isFile := c.file(); isFile {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		database = "type = \"spin\"\npath = " + strconv.Quote(absolute)
	} else {
		scheme, rest, _ := strings.Cut(c.DatabaseURL, "://")
		http, ok := map[string]string{"http": "http", "https": "https", "ws": "http", "wss": "https", "libsql": "https"}[scheme]
		if !ok {
			return "", core.Invalid("database-url", "is not the URL of a libSQL server; give file:PATH, or a URL with libsql, wss, ws, https or http")
		}
		database = "type = \"libsql\"\nurl = " + strconv.Quote(http+"://"+rest) + "\ntoken = " + strconv.Quote(c.DatabaseToken)
	}
	return "[sqlite_database.default]\n" + database + "\n\n" + store, nil
}

// keyForShell returns a shell expression for the master key, which does not contain the
// key itself.
func (c *spinCommand) keyForShell() (string, error) {
	if c.MasterKey != "" {
		return `"$KITH_MASTER_KEY"`, nil
	}
	path, err := filepath.Abs(c.masterKeyFile())
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", c.noKey("and the component needs that of the backend")
	}
	return `"$(cat ` + shellQuote(path) + `)"`, nil
}

// write writes the manifest, the component to the path that the manifest names, and
// the configuration. Only their owner may read them, because the configuration may have
// a token.
func (c *spinCommand) write(dir, config string) error {
	read := kith.Edge.ReadFile
	if c.WithoutDatabase {
		read = grantNoDatabase(read)
	}
	files := map[string][]byte{"runtime-config.toml": []byte(config)}
	for _, name := range []string{"spin.toml", "bin/edge.wasm"} {
		text, err := read(name)
		if err != nil {
			return err
		}
		files[name] = text
	}
	// spin up --build and spin watch would run make, and here are no sources.
	manifest, _, _ := strings.Cut(string(files["spin.toml"]), "\n[component.edge.build]")
	files["spin.toml"] = []byte(manifest)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return fmt.Errorf("data folder: %w", err)
		}
	}
	return nil
}

// shellQuote quotes a text as one word of a POSIX shell.
func shellQuote(text string) string {
	if strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-:", r)
	}) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
