package host

import (
	"fmt"

	"github.com/BurntSushi/toml"
)

// RuntimeDatabase is a database in a Spin runtime configuration.
type RuntimeDatabase struct {
	// URL is file:PATH, or the URL of a server.
	URL string
	// Token is the bearer token for a server; empty means none.
	Token string
}

// ReadRuntimeConfig reads the databases from a Spin runtime configuration file:
// [sqlite_database.NAME] with type "spin" and path, or with type "libsql", url and
// token. A relative path is relative to the working directory, as in Spin 3 and
// later (runtime-config/src/lib.rs, sqlite_config_resolver). Other tables are
// ignored.
func ReadRuntimeConfig(path string) (map[string]RuntimeDatabase, error) {
	var config struct {
		Databases map[string]struct{ Type, Path, URL, Token string } `toml:"sqlite_database"`
	}
	if _, err := toml.DecodeFile(path, &config); err != nil {
		return nil, fmt.Errorf("host: %s: %w", path, err)
	}
	databases := make(map[string]RuntimeDatabase)
	for name, d := range config.Databases {
		switch {
		case d.Type == "spin" && d.Path != "":
			databases[name] = RuntimeDatabase{URL: "file:" + d.Path}
		case d.Type == "libsql" && d.URL != "":
			databases[name] = RuntimeDatabase{URL: d.URL, Token: d.Token}
		default:
			return nil, fmt.Errorf("host: %s: sqlite_database.%s: want type spin with path or libsql with url", path, name)
		}
	}
	return databases, nil
}
