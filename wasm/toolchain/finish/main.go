// Command finish prepares a compiled component for its hosts:
//
//	finish initialized FILE.wasm
//	finish segments FILE.wasm
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// steps are the steps by name. Between them, wasm-opt removes what is not called any more.
var steps = map[string]func([]section) error{"initialized": initialize, "segments": joinSegments}

func main() {
	if len(os.Args) != 3 || steps[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: finish initialized|segments FILE.wasm")
		os.Exit(2)
	}
	if err := run(steps[os.Args[1]], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "finish: %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
}

func run(step func([]section) error, path string) error {
	module, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	all, err := divide(module)
	if err == nil {
		err = step(all)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, join(all), 0o644) // #nosec G306 -- a program
}

const preamble = "\x00asm\x01\x00\x00\x00"

var errForm = errors.New("not a WebAssembly module")

// section is a section of a module.
type section struct {
	id   byte
	body []byte
}

// The sections that are read here, by their ids.
const (
	custom    = 0
	exports   = 7
	elements  = 9
	code      = 10
	data      = 11
	dataCount = 12
)

func divide(module []byte) (all []section, err error) {
	rest, ok := bytes.CutPrefix(module, []byte(preamble))
	if !ok {
		return nil, errForm
	}
	for len(rest) > 0 {
		s := section{id: rest[0]}
		if s.body, rest, err = sized(rest[1:]); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func join(all []section) []byte {
	module := []byte(preamble)
	for _, s := range all {
		module = appendSized(append(module, s.id), s.body)
	}
	return module
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
