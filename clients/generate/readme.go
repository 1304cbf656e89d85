package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The lines between which a README has the table of the methods.
const (
	tableBegins = "<!-- methods: make clients writes this table -->\n"
	tableEnds   = "<!-- end of methods -->\n"
)

// writeReadmes writes the README of both clients to go/README.md and npm/README.md in a
// folder: those of the tree, with the table of the methods.
func (d *document) writeReadmes(root, folder string) error {
	clients := filepath.Join(root, "clients")
	source, err := os.ReadFile(filepath.Join(clients, "go", "kith.gen.go"))
	if err != nil {
		return err
	}
	inGo, err := goNames(source)
	if err != nil {
		return err
	}
	var all error
	for name, table := range map[string]string{
		"go":  d.methodTable("| method | does |\n|---|---|\n", func(o operation) string { return fmt.Sprintf("| `%s` | %s |", inGo[o.method+" "+o.path], o.summary) }),
		"npm": d.methodTable("| method | does | in pages |\n|---|---|---|\n", func(o operation) string { return fmt.Sprintf("| `%s` | %s | %s |", o.name, o.summary, yes(o.page)) }),
	} {
		file := filepath.Join(name, "README.md")
		text, err := os.ReadFile(filepath.Join(clients, file))
		if err == nil {
			text, err = withTable(text, table)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), text, 0o644) // #nosec G306 G703 -- a document; the folder is an argument
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", file, err))
		}
	}
	return all
}

var goMethod = regexp.MustCompile(`(?s)func \(c \*Client\) (\w+)\(.*?\n\t\tmethod: "(\w+)", path: "([^"]+)"`)

// goNames returns the names of the Go client's methods by HTTP method and path, from its
// source: the generator of that source chooses the names.
func goNames(source []byte) (map[string]string, error) {
	names := map[string]string{}
	for _, m := range goMethod.FindAllSubmatch(source, -1) {
		names[string(m[2])+" "+string(m[3])] = string(m[1])
	}
	if all := bytes.Count(source, []byte("\nfunc (c *Client) ")); len(names) != all {
		return nil, fmt.Errorf("kith.gen.go has %d methods, of which %d can be read; correct goMethod", all, len(names))
	}
	return names, nil
}

// methodTable returns a table with a row for each operation, by tag, and the list of those
// that the clients do not have.
func (d *document) methodTable(head string, row func(operation) string) string {
	var out strings.Builder
	out.WriteString(head)
	for _, tag := range d.tags {
		fmt.Fprintf(&out, "| **%s** |%s\n", tag, strings.Repeat(" |", strings.Count(head, "---")-1))
		for _, o := range d.operations {
			if o.tag == tag {
				out.WriteString(row(o) + "\n")
			}
		}
	}
	fmt.Fprintf(&out, "\nThe client does not have the operations that answer a redirect, a page or a file, or that take a form, a file or several forms of messages: `%s`.\n", strings.Join(d.left, "`, `"))
	return out.String()
}

// withTable returns a README with another table.
func withTable(text []byte, table string) ([]byte, error) {
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		return nil, fmt.Errorf("has no place for the table of the methods; add the lines\n%s%s", tableBegins, tableEnds)
	}
	return []byte(before + tableBegins + table + tableEnds + after), nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
