package main

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

const (
	// nameSection is the beginning of the name section.
	nameSection = "\x04name"
	// functionNames is the id of the subsection with the names of functions.
	functionNames = 1
)

// needless are the parts of a name that shortName removes: LLVM's suffix, the folders of import
// paths, and the methods of an interface, which TinyGo lists in its name.
var needless = regexp.MustCompile(`\.llvm\.[0-9]+$|[\w.-]+/|:\{.*\}`)

// shortName makes the name of a function short, and the same in each build: LLVM appends
// ".llvm." and a hash to the names of functions that it moves between modules, and the hash
// depends on the folder of the build. Nothing but the name section, in which the host finds the
// names for its messages, has them. Names keep their package and lose the folders of its import
// path.
func shortName(name []byte) []byte { return needless.ReplaceAll(name, nil) }

// rename gives functions other names. The name section keeps no others.
func rename(all []section, to func(function int, name []byte) []byte) error {
	for i, s := range all {
		maps, ok := bytes.CutPrefix(s.body, []byte(nameSection))
		if s.id != custom || !ok {
			continue
		}
		all[i].body = []byte(nameSection)
		for len(maps) > 0 {
			id := maps[0]
			list, after, err := sized(maps[1:])
			if err != nil {
				return err
			}
			if maps = after; id != functionNames {
				continue
			}
			if list, err = renamed(list, to); err != nil {
				return err
			}
			all[i].body = appendSized(append(all[i].body, id), list)
		}
	}
	return nil
}

// renamed returns a list of functions and names, which begins with its length, with other names.
func renamed(rest []byte, to func(function int, name []byte) []byte) (out []byte, err error) {
	count, size := binary.Uvarint(rest)
	if size <= 0 {
		return nil, errForm
	}
	out, rest = append(out, rest[:size]...), rest[size:]
	for range count {
		function, size := binary.Uvarint(rest)
		if size <= 0 {
			return nil, errForm
		}
		name, after, err := sized(rest[size:])
		if err != nil {
			return nil, err
		}
		out = appendSized(append(out, rest[:size]...), to(int(function), name))
		rest = after
	}
	return out, nil
}
