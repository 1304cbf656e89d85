package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"kith/wasm/module"
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
func initialize(all []module.Section) ([]module.Section, error) {
	memory, imported, err := initialized(module.Join(all))
	if err != nil {
		return nil, err
	}
	clear(memory[:stackSize])
	storeMemory(all, memory)
	started, err := exported(all, start)
	if err != nil {
		return nil, err
	}
	empty, uncalled := map[uint32]bool{started: true}, map[uint32]bool{}
	err = rename(all, func(function uint32, name []byte) []byte {
		short := shortName(name)
		empty[function] = empty[function] || string(short) == silent
		uncalled[function] = onlyInitialized.Match(name)
		return short
	})
	if err != nil {
		return nil, err
	}
	err = module.Find(all, module.Code).Rewrite(func(index uint32, code []byte) ([]byte, error) {
		if empty[imported+index] {
			code = []byte{0, module.OpEnd} // no local variables and no results
		}
		return code, nil
	})
	if err != nil {
		return nil, err
	}
	return withoutTable(all, imported, uncalled)
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
func checkCalls(all []module.Section) error {
	searches := false
	err := rename(all, func(_ uint32, name []byte) []byte {
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
func initialized(code []byte) (memory []byte, imported uint32, err error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	compiled, err := r.CompileModule(ctx, code)
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
	return bytes.Clone(view), uint32(len(compiled.ImportedFunctions())), nil
}

// exported returns the index of an exported function.
func exported(all []module.Section, name string) (uint32, error) {
	r := module.Reader{In: module.Find(all, module.Export).Body}
	for range r.Unsigned() {
		found, kind, index := r.Sized(), r.Byte(), r.Unsigned()
		if kind == 0 && string(found) == name {
			return index, nil
		}
	}
	return 0, errors.New("the module does not export " + name)
}
