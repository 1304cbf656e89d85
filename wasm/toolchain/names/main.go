// Command names makes the function names of a compiled component short, and the same in
// each build:
//
//	names FILE.wasm
//
// LLVM appends ".llvm." and a hash to the names of functions that it moves between
// modules. The hash depends on the folder of the build. Nothing but the name section, in
// which the host finds the names for its messages, has them. Names keep their package and
// lose the folders of its import path.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: names FILE.wasm")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "names: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(path string) error {
	module, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if module, err = clean(module); err != nil {
		return err
	}
	return os.WriteFile(path, module, 0o644) // #nosec G306 -- a program
}

const preamble = "\x00asm\x01\x00\x00\x00"

var errForm = errors.New("not a WebAssembly module")

// clean returns the module with short names in its name section.
func clean(module []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(module, []byte(preamble))
	if !ok {
		return nil, errForm
	}
	out := []byte(preamble)
	for len(rest) > 0 {
		id := rest[0]
		body, after, err := sized(rest[1:])
		if err != nil {
			return nil, err
		}
		if id == 0 {
			if maps, ok := bytes.CutPrefix(body, []byte("\x04name")); ok {
				if maps, err = cleanNames(maps); err != nil {
					return nil, err
				}
				body = append([]byte("\x04name"), maps...)
			}
		}
		out, rest = appendSized(append(out, id), body), after
	}
	return out, nil
}

// functions is the id of the subsection with the names of functions.
const functions = 1

// needless are the parts of a name that are removed: LLVM's suffix, the folders of import
// paths, and the methods of an interface, which TinyGo lists in its name.
var needless = regexp.MustCompile(`\.llvm\.[0-9]+$|[\w.-]+/|:\{.*\}`)

func cleanNames(rest []byte) (out []byte, err error) {
	for len(rest) > 0 {
		id := rest[0]
		body, after, err := sized(rest[1:])
		if err != nil {
			return nil, err
		}
		if id == functions {
			if body, err = cleanMap(body); err != nil {
				return nil, err
			}
		}
		out, rest = appendSized(append(out, id), body), after
	}
	return out, nil
}

// cleanMap cleans a list of numbers and names, which begins with its length.
func cleanMap(rest []byte) (out []byte, err error) {
	count, size := binary.Uvarint(rest)
	if size <= 0 {
		return nil, errForm
	}
	out, rest = append(out, rest[:size]...), rest[size:]
	for range count {
		_, size := binary.Uvarint(rest)
		if size <= 0 {
			return nil, errForm
		}
		name, after, err := sized(rest[size:])
		if err != nil {
			return nil, err
		}
		out = appendSized(append(out, rest[:size]...), needless.ReplaceAll(name, nil))
		rest = after
	}
	return out, nil
}

// sized divides data that begins with the length of its first part.
func sized(data []byte) (part, after []byte, err error) {
	length, size := binary.Uvarint(data)
	if size <= 0 || length > uint64(len(data)-size) {
		return nil, nil, errForm
	}
	end := size + int(length)
	return data[size:end], data[end:], nil
}

func appendSized(out, part []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(part))), part...)
}
