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

// Sections of a module, in the order of their numbers, except custom sections.
const (
	sectionType = iota + 1
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
)

// Instructions that Add writes or searches for.
const (
	opUnreachable  = 0x00
	opLoop         = 0x03
	opIf           = 0x04
	opEnd          = 0x0b
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI32LeS       = 0x4c
	opI32Sub       = 0x6b
	opBulk         = 0xfc
	opVector       = 0xfd

	typeI32, blockVoid, mutable = 0x7f, 0x40, 1
)

var magic = []byte("\x00asm\x01\x00\x00\x00")

type section struct {
	id   byte
	body []byte
}

// instrumenter rewrites one module.
type instrumenter struct {
	sections []section
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
func Add(module []byte) ([]byte, error) {
	if !bytes.HasPrefix(module, magic) {
		return module, nil
	}
	w, err := readSections(module[len(magic):])
	if err != nil {
		return nil, err
	}
	if w.section(sectionStart) != nil {
		return nil, errors.New("the module has a start section, which could not be interrupted; export _initialize instead")
	}
	if w.section(sectionCode) == nil || w.section(sectionExport) == nil || w.section(sectionMemory) == nil {
		return module, nil
	}
	if err := w.rewrite(); err != nil {
		return nil, err
	}
	out := slices.Clone(magic)
	for _, s := range w.sections {
		out = append(unsigned(append(out, s.id), uint32(len(s.body))), s.body...)
	}
	return out, nil
}

func readSections(module []byte) (*instrumenter, error) {
	w := &instrumenter{}
	r := reader{in: module}
	for len(r.in) > 0 && !r.cut {
		s := section{id: r.byte()}
		s.body = r.bytes(r.unsigned())
		w.sections = append(w.sections, s)
	}
	if r.cut {
		return nil, errors.New("the module is truncated")
	}
	return w, nil
}

// section returns the section with a number, or nil.
func (w *instrumenter) section(id byte) *section {
	for i := range w.sections {
		if w.sections[i].id == id {
			return &w.sections[i]
		}
	}
	return nil
}

// count returns the number of entries in the section with a number.
func (w *instrumenter) count(id byte) uint32 {
	s := w.section(id)
	if s == nil {
		return 0
	}
	return (&reader{in: s.body}).unsigned()
}

// add adds entries to a section. A missing section is created before that of exports.
func (w *instrumenter) add(id byte, entries ...[]byte) {
	if w.section(id) == nil {
		exports := slices.IndexFunc(w.sections, func(s section) bool { return s.id == sectionExport })
		w.sections = slices.Insert(w.sections, exports, section{id: id, body: []byte{0}})
	}
	s := w.section(id)
	r := reader{in: s.body}
	body := unsigned(nil, r.unsigned()+uint32(len(entries)))
	s.body = append(append(body, r.in...), bytes.Join(entries, nil)...)
}

func (w *instrumenter) rewrite() error {
	functions, globals, err := w.imported()
	if err != nil {
		return err
	}
	w.pause = functions + w.count(sectionFunction)
	w.end = globals + w.count(sectionGlobal)
	w.left = w.end + 1
	w.bulk = w.take(bulkFuel)
	w.step = unsigned(append(w.take(1), opGlobalGet), w.left)
	w.step = unsigned(append(w.step, opI32Const, 0, opI32LeS, opIf, blockVoid, opCall), w.pause)
	w.step = append(w.step, opEnd)
	if err := w.rewriteCode(); err != nil {
		return err
	}
	voidType := w.count(sectionType)
	w.add(sectionType, []byte{0x60, 0, 0})
	w.add(sectionFunction, unsigned(nil, voidType))
	w.add(sectionGlobal, global(0), global(slice))
	name := append(unsigned(nil, uint32(len(End))), End...)
	w.add(sectionExport, unsigned(append(name, 3), w.end))
	w.add(sectionCode, w.pauseBody())
	return nil
}

// global returns a mutable global with an initial value.
func global(value int32) []byte {
	return append(signed([]byte{typeI32, mutable, opI32Const}, value), opEnd)
}

// take returns the instructions that consume fuel.
func (w *instrumenter) take(fuel int32) []byte {
	b := unsigned([]byte{opGlobalGet}, w.left)
	b = append(signed(append(b, opI32Const), fuel), opI32Sub)
	return unsigned(append(b, opGlobalSet), w.left)
}

// pauseBody returns the function that calls into Go. It grows the memory by zero pages,
// which wazero implements by a call into Go.
func (w *instrumenter) pauseBody() []byte {
	b := []byte{0, opI32Const, 0, opMemoryGrow, 0, opDrop}
	b = unsigned(append(signed(append(b, opI32Const), slice), opGlobalSet), w.left)
	b = unsigned(append(b, opGlobalGet), w.end)
	b = append(b, opIf, blockVoid, opUnreachable, opEnd, opEnd)
	return append(unsigned(nil, uint32(len(b))), b...)
}

// imported counts the imported functions and globals, whose indexes are before those of
// the module's own.
func (w *instrumenter) imported() (functions, globals uint32, err error) {
	s := w.section(sectionImport)
	if s == nil {
		return 0, 0, nil
	}
	r := reader{in: s.body}
	for range r.unsigned() {
		r.bytes(r.unsigned())
		r.bytes(r.unsigned())
		switch kind := r.byte(); kind {
		case 0:
			r.unsigned()
			functions++
		case 1:
			r.byte()
			r.limits()
		case 2:
			r.limits()
		case 3:
			r.bytes(2)
			globals++
		default:
			return 0, 0, fmt.Errorf("the module has an import of the unknown kind %d", kind)
		}
		if r.cut {
			return 0, 0, errors.New("the module's imports are truncated")
		}
	}
	return functions, globals, nil
}

func (w *instrumenter) rewriteCode() error {
	s := w.section(sectionCode)
	r := reader{in: s.body}
	n := r.unsigned()
	out := unsigned(nil, n)
	for i := range n {
		body, err := w.function(r.bytes(r.unsigned()))
		if err == nil && r.cut {
			err = errors.New("the code is truncated")
		}
		if err != nil {
			return fmt.Errorf("function %d of the module: %w", i, err)
		}
		out = append(unsigned(out, uint32(len(body))), body...)
	}
	s.body = out
	return nil
}

// function rewrites the body of a function.
func (w *instrumenter) function(body []byte) ([]byte, error) {
	r := reader{in: body}
	for range r.unsigned() {
		r.unsigned()
		r.byte()
		if r.cut {
			break
		}
	}
	out := bytes.Clone(body[:len(body)-len(r.in)])
	first, calls := len(out), false
	for len(r.in) > 0 && !r.cut {
		before := r.in
		op, bulk, err := w.instruction(&r)
		if err != nil {
			return nil, err
		}
		if bulk {
			out = append(out, w.bulk...)
		}
		out = append(out, before[:len(before)-len(r.in)]...)
		switch op {
		case opLoop:
			out = append(out, w.step...)
		case opCall, opCallIndirect:
			calls = true
		}
	}
	if r.cut {
		return nil, errors.New("the code is truncated")
	}
	if calls {
		out = slices.Insert(out, first, w.step...)
	}
	return out, nil
}

// instruction reads one instruction of WebAssembly 2.0, and reports whether it is a bulk
// instruction.
func (w *instrumenter) instruction(r *reader) (op byte, bulk bool, err error) {
	switch op = r.byte(); {
	case op >= 0x02 && op <= 0x04: // block, loop, if
		r.signed()
	case op == opUnreachable, op == 0x01, op == 0x05, op == opEnd, op == 0x0f, op == opDrop, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	case op == 0x0c, op == 0x0d, op == opCall, op >= 0x20 && op <= 0x22, op == 0x25, op == 0x26, op == 0xd2:
		r.unsigned()
	case op == opGlobalGet, op == opGlobalSet:
		if i := r.unsigned(); i >= w.end {
			err = fmt.Errorf("it uses global %d, which does not exist", i)
		}
	case op == 0x0e: // br_table
		for range r.unsigned() {
			if r.unsigned(); r.cut {
				break
			}
		}
		r.unsigned()
	case op == opCallIndirect, op >= 0x28 && op <= 0x3e: // and loads and stores
		r.unsigned()
		r.unsigned()
	case op == 0x1c: // select of a type
		r.bytes(r.unsigned())
	case op == 0x3f, op == opMemoryGrow, op == 0xd0: // and ref.null
		r.byte()
	case op == opI32Const, op == 0x42:
		r.signed()
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == opBulk:
		bulk, err = r.bulk()
	case op == opVector:
		err = r.vector()
	default:
		err = fmt.Errorf("the instruction %#x is unknown", op)
	}
	return op, bulk, err
}
