// Command pack packs the Go client for a module proxy. It runs at the top of the tree:
//
//	go run ./clients/pack -module PATH -version VERSION -out FOLDER
//
// FOLDER gets the files of a GOPROXY: any web server that serves it, and the file URL of
// the folder itself, is a proxy that has the module. In the packed copy the module has the
// given path, since the path in the tree has no host.
package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// treePath is the path of the module in the tree.
const treePath = "kith/clients/go"

func main() {
	module := flag.String("module", "kith.example/client", "the `PATH` of the packed module")
	version := flag.String("version", "", "its `VERSION`, such as v0.1.0")
	out := flag.String("out", "", "write to `FOLDER`")
	flag.Parse()
	if err := pack(".", *module, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

var (
	validModule  = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z0-9._-]+)*$`)
	validVersion = regexp.MustCompile(`^v[01]\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)
)

// pack writes the module to folder. root is the top of the tree.
func pack(root, module, version, folder string) error {
	switch {
	case !validModule.MatchString(module):
		return errors.New("module: not a path that go get accepts; give HOST/PATH in lower case, such as git.example.org/kith-client")
	case !validVersion.MatchString(version):
		return errors.New("version: not one of major version 0 or 1; give one such as v0.1.0")
	case folder == "":
		return errors.New("out: empty; give a folder")
	}
	files, err := moduleFiles(root, module)
	if err != nil {
		return err
	}
	archive, err := zipped(module+"@"+version, files)
	if err != nil {
		return err
	}
	versions := filepath.Join(folder, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil { // #nosec G301 -- a web server reads the folder
		return err
	}
	write := func(name string, text []byte) error {
		return os.WriteFile(filepath.Join(versions, name), text, 0o644) // #nosec G306 -- a web server reads the file
	}
	return errors.Join(
		write(version+".zip", archive),
		write(version+".mod", files["go.mod"]),
		write(version+".info", fmt.Appendf(nil, "{\"Version\":%q}\n", version)),
		write("list", []byte(version+"\n")),
	)
}

// moduleFiles returns the files of the module by name, with the given module path.
func moduleFiles(root, module string) (map[string][]byte, error) {
	names, err := filepath.Glob(filepath.Join(root, treePath[len("kith/"):], "*"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range append(names, filepath.Join(root, "LICENSE")) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		base := filepath.Base(name)
		// The tests need the program of the tree.
		if !strings.HasSuffix(base, "_test.go") {
			files[base] = bytes.ReplaceAll(text, []byte(treePath), []byte(module))
		}
	}
	if files["go.mod"] == nil {
		return nil, fmt.Errorf("%s has no go.mod; run at the top of the tree", root)
	}
	return files, nil
}

// zipped returns the files as a module zip: below one folder, and the same bytes each time.
func zipped(folder string, files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: folder + "/" + name, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
