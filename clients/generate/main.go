// Command generate writes the generated sources of the client packages, from the OpenAPI
// document of this tree. It runs at the top of the tree:
//
//	go run ./clients/generate [-go FILE] [-npm FOLDER] [-readmes FOLDER]
//
// FILE gets the types and methods of clients/go; this needs bin/tools/oapi-codegen.
// FOLDER gets schema.ts and operations.ts of clients/npm; this needs the npm packages in
// clients/npm/node_modules. The FOLDER of -readmes gets go/README.md and npm/README.md, with
// the table of the methods.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"kith/backend/api"
)

func main() {
	goFile := flag.String("go", "", "write the Go source to `FILE`")
	npmFolder := flag.String("npm", "", "write the TypeScript sources to `FOLDER`")
	readmes := flag.String("readmes", "", "write the README of both clients to `FOLDER`")
	flag.Parse()
	if *goFile == "" && *npmFolder == "" && *readmes == "" {
		fmt.Fprintln(os.Stderr, "generate: nothing to write; give -go, -npm or -readmes")
		os.Exit(2)
	}
	if err := run(".", *goFile, *npmFolder, *readmes); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the sources whose name is not empty. root is the top of the tree.
func run(root, goFile, npmFolder, readmes string) error {
	served, err := api.OpenAPI()
	if err != nil {
		return err
	}
	d, err := newDocument(served)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "kith-generate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	reduced := filepath.Join(folder, "openapi.json")
	if err := d.write(reduced); err != nil {
		return err
	}
	if goFile != "" {
		if err := writeGo(root, reduced, goFile); err != nil {
			return err
		}
	}
	if readmes != "" {
		if err := d.writeReadmes(root, readmes); err != nil {
			return err
		}
	}
	if npmFolder != "" {
		d.addCleanLink()
		if err := d.write(reduced); err != nil {
			return err
		}
		return writeTypeScript(root, reduced, npmFolder, d.operations)
	}
	return nil
}

// writeGo runs oapi-codegen with the templates of this package.
func writeGo(root, document, file string) error {
	folder := filepath.Dir(document)
	config, none := filepath.Join(folder, "oapi-codegen.yaml"), filepath.Join(folder, "none.tmpl")
	settings := fmt.Sprintf(`package: kith
generate: {models: true, client: true}
compatibility: {always-prefix-enum-values: true}
output-options:
  name-normalizer: ToCamelCaseWithInitialisms
  additional-initialisms: [GraphQL, IDs, JS, JWT, PII, RS, SFTP, URLs, US, UTM]
  skip-enum-validate: true
  prefer-skip-optional-pointer-on-container-types: true
  user-templates: {client.tmpl: %q, client-with-responses.tmpl: %[2]q, request-bodies.tmpl: %[2]q, imports.tmpl: %[3]q}
`, filepath.Join(root, "clients", "generate", "methods.tmpl"), none, filepath.Join(root, "clients", "generate", "imports.tmpl"))
	if err := errors.Join(os.WriteFile(config, []byte(settings), 0o600), os.WriteFile(none, []byte(`{{""}}`), 0o600)); err != nil {
		return err
	}
	return command(filepath.Join(root, "bin", "tools", "oapi-codegen"), "-config", config, "-o", file, document)
}

// writeTypeScript runs openapi-typescript, and writes the table of the operations.
func writeTypeScript(root, document, folder string, operations []operation) error {
	types := command(filepath.Join(root, "clients", "npm", "node_modules", ".bin", "openapi-typescript"), document, "-o", filepath.Join(folder, "schema.ts"))
	return errors.Join(types, os.WriteFile(filepath.Join(folder, "operations.ts"), table(operations), 0o600))
}

// command runs a program. The error has its output.
func command(name string, args ...string) error {
	output, err := exec.Command(name, args...).CombinedOutput() // #nosec G204 -- the two generators, with files of this program
	if err != nil {
		return fmt.Errorf("%s: %w; run make test-needs\n%s", name, err, output)
	}
	return nil
}
