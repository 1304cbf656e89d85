package host

import (
	"fmt"

	"github.com/BurntSushi/toml"
)

// RuntimeDatabase is what a Spin runtime configuration says of a database.
type RuntimeDatabase struct {
	// URL is file:PATH, or that of a server.
	URL string
	// Token authorises at a server; empty when there is none.
	Token string
}

// ReadRuntimeConfig reads the databases out of a Spin runtime configuration file:
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
