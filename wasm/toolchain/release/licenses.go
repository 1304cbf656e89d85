package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// part is software of others in the program.
type part struct {
	name, version string
	// purl identifies a part that is not a Go module: see package-url.
	purl string
	// files are its licenses and notices.
	files []string
}

var licenseFile = regexp.MustCompile(`(?i)^[a-z-]*(licen[cs]e|copying|notice)[a-z0-9-]*(\.(txt|md))?$`)

// modules returns the Go modules of others in any of the binaries.
func (r *release) modules() ([]part, error) {
	versions := map[string]string{}
	for _, t := range targets {
		info, err := buildinfo.ReadFile(r.path(t.binary()))
		if err != nil {
			return nil, err
		}
		for _, m := range info.Deps {
			// What go.mod replaces by a folder is part of this project.
			if m.Replace == nil {
				versions[m.Path] = m.Version
			}
		}
	}
	var all []part
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		folder, err := output("go", "list", "-m", "-f", "{{.Dir}}", name)
		if err != nil {
			return nil, err
		}
		p, err := partIn(strings.TrimSpace(folder), name, versions[name])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// partIn returns a part with the licenses in its folder.
func partIn(folder, name, version string) (part, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", name, err)
	}
	p := part{name: name, version: version}
	for _, e := range entries {
		if !e.IsDir() && licenseFile.MatchString(e.Name()) {
			p.files = append(p.files, filepath.Join(folder, e.Name()))
		}
	}
	if len(p.files) == 0 {
		return p, fmt.Errorf("%s: no license in %s; ask its authors, or do without it", name, folder)
	}
	return p, nil
}

// scripts are the folders with scripts of others that pages use.
var scripts = []string{"backend/api/graphiql/third_party", "backend/portal/frame/third_party"}

// taken is a line of refresh.sh there: the folder, if it is not the name of the package,
// the npm package and its version.
var taken = regexp.MustCompile(`(?m)^(?:take (\S+)|fetch) (\S+) (\d\S+) `)

// others returns the parts that are no modules of the binary: libraries of the compilers,
// which the binary and the component contain, and the scripts.
func others() (all []part, err error) {
	found, err := output("go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	std := strings.Fields(found)
	p, err := partIn(std[0], "std", std[1])
	if err != nil {
		return nil, err
	}
	all = append(all, p)
	found, err = output("go", "-C", "wasm/toolchain", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "github.com/tinygo-org/tinygo")
	if err != nil {
		return nil, err
	}
	tinygo := strings.Fields(found)
	p, err = partIn(tinygo[0], "tinygo", tinygo[1])
	if err != nil {
		return nil, err
	}
	p.purl = "pkg:golang/github.com/tinygo-org/tinygo@" + p.version
	all = append(all, p, part{name: "wasi-libc", files: []string{"deploy/third_party/wasi-libc/LICENSE"}, purl: "pkg:github/WebAssembly/wasi-libc"})
	for _, folder := range scripts {
		text, err := os.ReadFile(filepath.Join(folder, "refresh.sh"))
		if err != nil {
			return nil, err
		}
		lines := taken.FindAllStringSubmatch(string(text), -1)
		if len(lines) == 0 {
			return nil, fmt.Errorf("%s/refresh.sh: has no line with a package and its version", folder)
		}
		for _, m := range lines {
			p, err := partIn(filepath.Join(folder, cmp.Or(m[1], m[2])), m[2], m[3])
			if err != nil {
				return nil, err
			}
			p.purl = "pkg:npm/" + p.name + "@" + p.version
			all = append(all, p)
		}
	}
	return all, nil
}

const licensesFile = "THIRD-PARTY-LICENSES.txt"

// licenses writes the licenses of all parts into one file.
func (r *release) licenses() error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	rest, err := others()
	if err != nil {
		return err
	}
	r.parts = append(modules, rest...)
	var out strings.Builder
	out.WriteString("Kith contains the software below.\n")
	for _, p := range r.parts {
		for _, file := range p.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n%[1]s\n%[2]s %[3]s: %[4]s\n%[1]s\n\n%[5]s\n", strings.Repeat("=", 72), p.name, p.version, filepath.Base(file), strings.TrimSpace(string(text)))
		}
	}
	return r.write(licensesFile, []byte(out.String()))
}

// known is the least part of a file's words, in percent, that must be those of licenses
// with an SPDX identifier.
const known = 75

// spdx returns the identifiers of a part's licenses.
func (p part) spdx() (ids []string, err error) {
	for _, file := range p.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if found := licensecheck.Scan(text); found.Percent >= known {
			for _, m := range found.Match {
				ids = append(ids, m.ID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
