package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	// start is the export that a host calls first in each instance.
	start = "_initialize"
	// stackSize is the size of the stack, which is at the beginning of the memory: that of
	// tinygo.sh.
	stackSize = 32768
)

// initialize runs the initialization of a module and stores the memory after it as the data
// segments, so that no instance runs it again. Memory is the whole state of such a guest: its
// compiler has one mutable global, the stack pointer, which a call that returns leaves as it was.
//
// The guest reads its arguments, the clock and a random number while it initializes: it has no
// arguments, uses only the time of day, which it reads when it needs it, and seeds only its maps.
func initialize(all []section) error {
	memory, imported, err := initialized(join(all))
	if err != nil {
		return err
	}
	clear(memory[:stackSize])
	storeMemory(all, memory)
	empty, uncalled := map[int]bool{}, map[int]bool{}
	err = rename(all, func(function int, name []byte) []byte {
		short := shortName(name)
		empty[function], uncalled[function] = string(short) == silent, onlyInitialized.Match(name)
		return short
	})
	if err != nil {
		return err
	}
	for i := range all {
		switch s := &all[i]; s.id {
		case exports:
			index, err := exported(s.body, start)
			if err != nil {
				return err
			}
			empty[index] = true
		case elements:
			s.body, err = without(s.body, uncalled)
		case code:
			s.body, err = emptied(s.body, imported, empty)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// silent is the function with which fmt formats. Kith's packages in the component do not use fmt.
// Others make the texts of their errors with it, in place of which Kith answers its own: such a
// text is empty in the component.
const silent = "(*fmt.pp).doPrintf"

// onlyInitialized are functions of which only the initialization takes the address: the self-tests
// of crypto, for a mode that is off, and the modifiers of gjson's paths, which it puts into a map.
// A call would end the instance: checkCalls refuses a component with a caller.
var onlyInitialized = regexp.MustCompile(`^crypto/internal/fips140/.*\.init#1\$1|/gjson\.(mod[A-Z]|parseRecursiveDescent)`)

// checkCalls returns an error if wasm-opt has kept the function that searches JSON by a path.
func checkCalls(all []section) error {
	searches := false
	err := rename(all, func(_ int, name []byte) []byte {
		searches = searches || string(name) == "gjson.Get"
		return name
	})
	if err == nil && searches {
		err = errors.New("the component calls gjson.Get, whose modifiers were removed; use member of core/wire")
	}
	return err
}

// initialized returns the memory of an instance after its initialization, and the number of
// functions that the module imports.
func initialized(module []byte) (memory []byte, imported int, err error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		return nil, 0, err
	}
	hosts := map[string]wazero.HostModuleBuilder{}
	for _, f := range compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		if hosts[from] == nil {
			hosts[from] = r.NewHostModuleBuilder(from)
		}
		hosts[from].NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
			switch name {
			case "args_sizes_get", "clock_time_get", "random_get": // zeros, and no error
				stack[0] = 0
			default:
				panic(fmt.Sprintf("%s %s is called while the module is initialized", from, name))
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, h := range hosts {
		if _, err := h.Instantiate(ctx); err != nil {
			return nil, 0, err
		}
	}
	instance, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return nil, 0, err
	}
	before := instance.ExportedMemory("memory").Size()
	if _, err := instance.ExportedFunction(start).Call(ctx); err != nil {
		return nil, 0, err
	}
	now := instance.ExportedMemory("memory")
	if now.Size() != before {
		return nil, 0, errors.New("the memory grew while the module was initialized; give it a larger one")
	}
	view, _ := now.Read(0, before)
	return bytes.Clone(view), len(compiled.ImportedFunctions()), nil
}

// exported returns the index of an exported function.
func exported(section []byte, name string) (int, error) {
	count, size := binary.Uvarint(section)
	for rest := section[max(size, 0):]; count > 0; count-- {
		found, after, err := sized(rest)
		if err != nil || len(after) < 2 {
			return 0, errForm
		}
		index, size := binary.Uvarint(after[1:])
		if size <= 0 {
			return 0, errForm
		}
		if after[0] == 0 && string(found) == name {
			return int(index), nil
		}
		rest = after[1+size:]
	}
	return 0, errors.New("the module does not export " + name)
}

// emptied returns the code section with functions without results that do nothing.
func emptied(section []byte, imported int, functions map[int]bool) ([]byte, error) {
	count, size := binary.Uvarint(section)
	out := binary.AppendUvarint(nil, count)
	rest := section[max(size, 0):]
	for i := range int(count) {
		body, after, err := sized(rest)
		if err != nil {
			return nil, err
		}
		if functions[imported+i] {
			body = []byte{0, endOfExpression} // no locals
		}
		out, rest = appendSized(out, body), after
	}
	return out, nil
}

// without returns the element section, which has one segment, without some functions: wasm-opt
// then removes them. The others keep their places in the table.
func without(section []byte, functions map[int]bool) ([]byte, error) {
	one, ok := bytes.CutPrefix(section, []byte{1})
	at, list, err := offset(one)
	if !ok || err != nil {
		return nil, errForm
	}
	count, size := binary.Uvarint(list)
	segments, length := 0, 0
	var out, segment []byte
	end := func() {
		if length > 0 {
			out = append(binary.AppendUvarint(appendOffset(out, at-length), uint64(length)), segment...)
			segments++
		}
		length, segment = 0, nil
	}
	for rest := list[max(size, 0):]; count > 0; count-- {
		function, size := binary.Uvarint(rest)
		if size <= 0 {
			return nil, errForm
		}
		if functions[int(function)] {
			end()
		} else {
			length, segment = length+1, binary.AppendUvarint(segment, function)
		}
		at, rest = at+1, rest[size:]
	}
	end()
	return append(binary.AppendUvarint(nil, uint64(segments)), out...), nil
}
