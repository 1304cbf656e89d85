package main

import (
	"bytes"
	"regexp"

	"kith/wasm/module"
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
func rename(all []module.Section, to func(function uint32, name []byte) []byte) error {
	for i, s := range all {
		maps, ok := bytes.CutPrefix(s.Body, []byte(nameSection))
		if s.ID != module.Custom || !ok {
			continue
		}
		body := []byte(nameSection)
		for r := (module.Reader{In: maps}); len(r.In) > 0; {
			id, list := r.Byte(), module.Reader{In: r.Sized()}
			if id != functionNames {
				continue
			}
			count := list.Unsigned()
			names := module.AppendUnsigned(nil, count)
			for range count {
				function := list.Unsigned()
				names = module.AppendSized(module.AppendUnsigned(names, function), to(function, list.Sized()))
				if list.Cut {
					return module.ErrTruncated
				}
			}
			body = module.AppendSized(append(body, id), names)
		}
		all[i].Body = body
	}
	return nil
}
