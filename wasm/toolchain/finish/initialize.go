package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	// start is the export that a host calls first in each instance.
	start = "_initialize"
	// stackSize is the size of the stack, which is at the beginning of the memory: that of
	// tinygo.sh.
	stackSize = 32768
	// gap is the most zeros within a data segment: another segment would be longer.
	gap = 8
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
	segments, count := segmentsOf(memory)
	index := -1
	for i := range all {
		switch s := &all[i]; s.id {
		case exports:
			if index, err = exported(s.body, start); err != nil {
				return err
			}
		case dataCount:
			s.body = binary.AppendUvarint(nil, uint64(count))
		case code:
			if s.body, err = emptied(s.body, index-imported); err != nil {
				return err
			}
		case data:
			s.body = append(binary.AppendUvarint(nil, uint64(count)), segments...)
		}
	}
	return nil
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

// segmentsOf returns active data segments with all that is not zero in a memory.
func segmentsOf(memory []byte) (segments []byte, count int) {
	for at := 0; at < len(memory); count++ {
		if at += len(memory[at:]) - len(bytes.TrimLeft(memory[at:], "\x00")); at == len(memory) {
			break
		}
		end := at + 1
		for i := end; i < len(memory) && i-end < gap; i++ {
			if memory[i] != 0 {
				end = i + 1
			}
		}
		const i32Const, endOfExpression = 0x41, 0x0b
		segments = append(segments, 0, i32Const)
		segments = append(appendSigned(segments, at), endOfExpression)
		segments = appendSized(segments, memory[at:end])
		at = end
	}
	return segments, count
}

// appendSigned appends a number that is not negative in the form of signed ones.
func appendSigned(b []byte, n int) []byte {
	for ; n >= 0x40; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
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

// emptied returns the code section with a function that does nothing.
func emptied(section []byte, function int) ([]byte, error) {
	count, size := binary.Uvarint(section)
	out := binary.AppendUvarint(nil, count)
	rest := section[max(size, 0):]
	for i := range int(count) {
		body, after, err := sized(rest)
		if err != nil {
			return nil, err
		}
		if i == function {
			body = []byte{0, 0x0b} // no locals, end
		}
		out, rest = appendSized(out, body), after
	}
	return out, nil
}
