// Package fuel adds fuel to WebAssembly modules, so that a host can end an instance that
// would compute for ever.
//
// A guest that only computes never returns to its host. The host cannot end it, and Go
// cannot stop it for garbage collection, for which every other goroutine waits. wazero's
// own solution, WithCloseOnContextDone, leaves the guest in each iteration of each loop and
// starts a goroutine for each call, which took two fifths of the time of a share link.
// With fuel, each iteration of a loop, and each call of a function that calls others,
// consumes one unit. When the fuel is used up, the guest calls into Go, and ends if the
// host wants it to.
//
// The behavior of the module does not change. It can access neither the fuel nor the end
// flag: a module that names a global which is not its own is refused.
package fuel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"kith/wasm/module"
)

// End is the exported global with which the host ends an instance: it sets it to 1. The
// running call then traps after at most 16,384 units of fuel, and so does every later one.
const End = "kith:end"

const (
	// slice is how much fuel a guest consumes before it calls into Go: about ten
	// microseconds' worth.
	slice = 1 << 14
	// bulkFuel is the fuel of an instruction that may move the whole memory, which takes
	// milliseconds.
	bulkFuel = 1 << 8
)

// instrumenter rewrites one module.
type instrumenter struct {
	sections []module.Section
	// pause is the index of the function that calls into Go; end and left are those of
	// the globals for the end flag and for the remaining fuel.
	pause, end, left uint32
	// step are the instructions that consume one unit of fuel, bulk those for a bulk instruction.
	step, bulk []byte
}

// Add returns a module whose instances consume fuel, and have the global End. It refuses a
// module that is truncated, has a start section, or an instruction that is not in
// WebAssembly 2.0. One that is invalid in another way may be returned unchanged, so that
// wazero reports what is wrong with it.
func Add(code []byte) ([]byte, error) {
	if !bytes.HasPrefix(code, []byte(module.Magic)) {
		return code, nil
	}
	sections, err := module.Divide(code)
	if err != nil {
		return nil, err
	}
	if module.Find(sections, module.Start) != nil {
		return nil, errors.New("the module has a start section, which could not be interrupted; export _initialize instead")
	}
	for _, needed := range []byte{module.Code, module.Export, module.Memory} {
		if module.Find(sections, needed) == nil {
			return code, nil
		}
	}
	w := &instrumenter{sections: sections}
	if err := w.rewrite(); err != nil {
		return nil, err
	}
	return module.Join(w.sections), nil
}

// add adds entries to a section. A missing section is created before that of exports.
func (w *instrumenter) add(id byte, entries ...[]byte) {
	if module.Find(w.sections, id) == nil {
		exports := slices.IndexFunc(w.sections, func(s module.Section) bool { return s.ID == module.Export })
		w.sections = slices.Insert(w.sections, exports, module.Section{ID: id, Body: []byte{0}})
	}
	module.Find(w.sections, id).Add(entries...)
}

func (w *instrumenter) rewrite() error {
	functions, globals, err := w.imported()
	if err != nil {
		return err
	}
	w.pause = functions + module.Count(w.sections, module.Function)
	w.end = globals + module.Count(w.sections, module.Global)
	w.left = w.end + 1
	w.bulk = w.take(bulkFuel)
	w.step = module.AppendUnsigned(append(w.take(1), module.OpGlobalGet), w.left)
	w.step = module.AppendUnsigned(append(w.step, module.OpI32Const, 0, module.OpI32LeS, module.OpIf, module.BlockVoid, module.OpCall), w.pause)
	w.step = append(w.step, module.OpEnd)
	if err := module.Find(w.sections, module.Code).Rewrite(w.function); err != nil {
		return err
	}
	voidType := module.Count(w.sections, module.Type)
	w.add(module.Type, []byte{module.TypeFunction, 0, 0})
	w.add(module.Function, module.AppendUnsigned(nil, voidType))
	w.add(module.Global, global(0), global(slice))
	name := module.AppendSized(nil, []byte(End))
	w.add(module.Export, module.AppendUnsigned(append(name, 3), w.end))
	w.add(module.Code, w.pauseBody())
	return nil
}

// global returns a mutable global with an initial value.
func global(value int32) []byte {
	return append(module.AppendSigned([]byte{module.TypeI32, module.Mutable, module.OpI32Const}, value), module.OpEnd)
}

// take returns the instructions that consume fuel.
func (w *instrumenter) take(fuel int32) []byte {
	b := module.AppendUnsigned([]byte{module.OpGlobalGet}, w.left)
	b = append(module.AppendSigned(append(b, module.OpI32Const), fuel), module.OpI32Sub)
	return module.AppendUnsigned(append(b, module.OpGlobalSet), w.left)
}

// pauseBody returns the function that calls into Go. It grows the memory by zero pages,
// which wazero implements by a call into Go.
func (w *instrumenter) pauseBody() []byte {
	b := []byte{0, module.OpI32Const, 0, module.OpMemoryGrow, 0, module.OpDrop}
	b = module.AppendUnsigned(append(module.AppendSigned(append(b, module.OpI32Const), slice), module.OpGlobalSet), w.left)
	b = module.AppendUnsigned(append(b, module.OpGlobalGet), w.end)
	b = append(b, module.OpIf, module.BlockVoid, module.OpUnreachable, module.OpEnd, module.OpEnd)
	return module.AppendSized(nil, b)
}

// imported counts the imported functions and globals, whose indexes are before those of
// the module's own.
func (w *instrumenter) imported() (functions, globals uint32, err error) {
	s := module.Find(w.sections, module.Import)
	if s == nil {
		return 0, 0, nil
	}
	r := module.Reader{In: s.Body}
	for range r.Unsigned() {
		r.Sized()
		r.Sized()
		switch kind := r.Byte(); kind {
		case 0:
			r.Unsigned()
			functions++
		case 1:
			r.Byte()
			r.Limits()
		case 2:
			r.Limits()
		case 3:
			r.Bytes(2)
			globals++
		default:
			return 0, 0, fmt.Errorf("the module has an import of the unknown kind %d", kind)
		}
		if r.Cut {
			return 0, 0, errors.New("the module's imports are truncated")
		}
	}
	return functions, globals, nil
}

// function rewrites the code of a function.
func (w *instrumenter) function(_ uint32, code []byte) ([]byte, error) {
	var out []byte
	calls := false
	locals, err := module.Walk(code, func(in module.Instruction, bytes []byte) error {
		if in.Bulk {
			out = append(out, w.bulk...)
		}
		out = append(out, bytes...)
		switch in.Op {
		case module.OpLoop:
			out = append(out, w.step...)
		case module.OpCall, module.OpCallIndirect:
			calls = true
		case module.OpGlobalGet, module.OpGlobalSet:
			if in.Index >= w.end {
				return fmt.Errorf("it uses global %d, which does not exist", in.Index)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if calls {
		return slices.Concat(locals, w.step, out), nil
	}
	return slices.Concat(locals, out), nil
}
