package main

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

// shortNames makes the names of functions short, and the same in each build: LLVM appends
// ".llvm." and a hash to the names of functions that it moves between modules, and the hash
// depends on the folder of the build. Nothing but the name section, in which the host finds the
// names for its messages, has them. Names keep their package and lose the folders of its import
// path.
func shortNames(all []section) error {
	for i, s := range all {
		maps, ok := bytes.CutPrefix(s.body, []byte("\x04name"))
		if s.id != custom || !ok {
			continue
		}
		maps, err := cleanNames(maps)
		if err != nil {
			return err
		}
		all[i].body = append([]byte("\x04name"), maps...)
	}
	return nil
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
