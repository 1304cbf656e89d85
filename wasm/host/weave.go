package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// A guest that only computes would never come back to the host: nothing could end
// it, and Go could not stop it to collect garbage, for which every other request
// would wait. wazero's own remedy, WithCloseOnContextDone, leaves the guest at each
// turn of each loop and starts a goroutine for each call, which was two fifths of
// the time of a share link. So weave gives a module a count of turns: each turn of
// a loop and each call of a function that calls others takes one from it, and when
// none is left the guest comes back, and ends if it was told to.
//
// The module does what it did before. It sees neither the count nor the order to
// end: a module that names a global which is not its own is refused.

const (
	// turnsAtOnce is how many turns a guest takes before it comes back: some ten
	// microseconds' worth.
	turnsAtOnce = 1 << 14
	// bulkTurns is what an instruction costs that may move the whole memory, which
	// takes milliseconds.
	bulkTurns = 1 << 8
	// endName is the export by which a guest is told to end.
	endName = "kith:end"
)

// Sections of a module, in the order of their numbers but for custom ones.
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

// Instructions that weave writes or looks for.
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

var wasmMagic = []byte("\x00asm\x01\x00\x00\x00")

type section struct {
	id   byte
	body []byte
}

// weaver rewrites one module.
type weaver struct {
	sections []section
	// pause is the index of the function that leaves the guest, end and left are
	// those of the globals that tell it to end and hold how many turns it has left.
	pause, end, left uint32
	// turn takes a turn, and bulk the turns of a bulk instruction.
	turn, bulk []byte
}

// weave returns a module whose instances can be ended; see endWith. What is no
// module, or none that a host could run, is returned as it is, for wazero to say
// what is wrong with it.
func weave(module []byte) ([]byte, error) {
	if !bytes.HasPrefix(module, wasmMagic) {
		return module, nil
	}
	w, err := readSections(module[len(wasmMagic):])
	if err != nil {
		return nil, err
	}
	if w.section(sectionStart) != nil {
		return nil, errors.New("the module has a start section, which nothing could end; export _initialize instead")
	}
	if w.section(sectionCode) == nil || w.section(sectionExport) == nil || w.section(sectionMemory) == nil {
		return module, nil
	}
	if err := w.rewrite(); err != nil {
		return nil, err
	}
	out := slices.Clone(wasmMagic)
	for _, s := range w.sections {
		out = append(unsigned(append(out, s.id), uint32(len(s.body))), s.body...)
	}
	return out, nil
}

func readSections(module []byte) (*weaver, error) {
	w := &weaver{}
	r := wasmReader{in: module}
	for len(r.in) > 0 && !r.cut {
		s := section{id: r.byte()}
		s.body = r.bytes(r.unsigned())
		w.sections = append(w.sections, s)
	}
	if r.cut {
		return nil, errors.New("the module is cut short")
	}
	return w, nil
}

// section returns the section of a number, or nil.
func (w *weaver) section(id byte) *section {
	for i := range w.sections {
		if w.sections[i].id == id {
			return &w.sections[i]
		}
	}
	return nil
}

// count is how many entries the section of a number has.
func (w *weaver) count(id byte) uint32 {
	s := w.section(id)
	if s == nil {
		return 0
	}
	return (&wasmReader{in: s.body}).unsigned()
}

// add adds entries to a section, which is made before the one of exports when it is
// not there.
func (w *weaver) add(id byte, entries ...[]byte) {
	if w.section(id) == nil {
		exports := slices.IndexFunc(w.sections, func(s section) bool { return s.id == sectionExport })
		w.sections = slices.Insert(w.sections, exports, section{id: id, body: []byte{0}})
	}
	s := w.section(id)
	r := wasmReader{in: s.body}
	body := unsigned(nil, r.unsigned()+uint32(len(entries)))
	s.body = append(append(body, r.in...), bytes.Join(entries, nil)...)
}

func (w *weaver) rewrite() error {
	functions, globals, err := w.imported()
	if err != nil {
		return err
	}
	w.pause = functions + w.count(sectionFunction)
	w.end = globals + w.count(sectionGlobal)
	w.left = w.end + 1
	w.bulk = w.take(bulkTurns)
	w.turn = unsigned(append(w.take(1), opGlobalGet), w.left)
	w.turn = unsigned(append(w.turn, opI32Const, 0, opI32LeS, opIf, blockVoid, opCall), w.pause)
	w.turn = append(w.turn, opEnd)
	if err := w.rewriteCode(); err != nil {
		return err
	}
	voidType := w.count(sectionType)
	w.add(sectionType, []byte{0x60, 0, 0})
	w.add(sectionFunction, unsigned(nil, voidType))
	w.add(sectionGlobal, global(0), global(turnsAtOnce))
	name := append(unsigned(nil, uint32(len(endName))), endName...)
	w.add(sectionExport, unsigned(append(name, 3), w.end))
	w.add(sectionCode, w.pauseBody())
	return nil
}

// global is a mutable global of a value.
func global(value int32) []byte {
	return append(signed([]byte{typeI32, mutable, opI32Const}, value), opEnd)
}

// take are instructions that take turns.
func (w *weaver) take(turns int32) []byte {
	b := unsigned([]byte{opGlobalGet}, w.left)
	b = append(signed(append(b, opI32Const), turns), opI32Sub)
	return unsigned(append(b, opGlobalSet), w.left)
}

// pauseBody is the function that leaves the guest: for wazero has Go grow its
// memory, by nothing here.
func (w *weaver) pauseBody() []byte {
	b := []byte{0, opI32Const, 0, opMemoryGrow, 0, opDrop}
	b = unsigned(append(signed(append(b, opI32Const), turnsAtOnce), opGlobalSet), w.left)
	b = unsigned(append(b, opGlobalGet), w.end)
	b = append(b, opIf, blockVoid, opUnreachable, opEnd, opEnd)
	return append(unsigned(nil, uint32(len(b))), b...)
}

// imported counts the functions and the globals that are imported: they come before
// the module's own.
func (w *weaver) imported() (functions, globals uint32, err error) {
	s := w.section(sectionImport)
	if s == nil {
		return 0, 0, nil
	}
	r := wasmReader{in: s.body}
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
			return 0, 0, fmt.Errorf("the module imports something of kind %d, which is not known", kind)
		}
		if r.cut {
			return 0, 0, errors.New("the module's imports are cut short")
		}
	}
	return functions, globals, nil
}

func (w *weaver) rewriteCode() error {
	s := w.section(sectionCode)
	r := wasmReader{in: s.body}
	n := r.unsigned()
	out := unsigned(nil, n)
	for i := range n {
		body, err := w.function(r.bytes(r.unsigned()))
		if err == nil && r.cut {
			err = errors.New("it is cut short")
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
func (w *weaver) function(body []byte) ([]byte, error) {
	r := wasmReader{in: body}
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
			out = append(out, w.turn...)
		case opCall, opCallIndirect:
			calls = true
		}
	}
	if r.cut {
		return nil, errors.New("it is cut short")
	}
	if calls {
		out = slices.Insert(out, first, w.turn...)
	}
	return out, nil
}

// instruction reads one instruction of WebAssembly 2.0, and whether it is a bulk
// one.
func (w *weaver) instruction(r *wasmReader) (op byte, bulk bool, err error) {
	switch op = r.byte(); {
	case op >= 0x02 && op <= 0x04: // block, loop, if
		r.signed()
	case op == opUnreachable, op == 0x01, op == 0x05, op == opEnd, op == 0x0f, op == opDrop, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	case op == 0x0c, op == 0x0d, op == opCall, op >= 0x20 && op <= 0x22, op == 0x25, op == 0x26, op == 0xd2:
		r.unsigned()
	case op == opGlobalGet, op == opGlobalSet:
		if i := r.unsigned(); i >= w.end {
			err = fmt.Errorf("it names the global %d, which is not there", i)
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
		err = fmt.Errorf("the instruction %#x is not known", op)
	}
	return op, bulk, err
}

// endWith has a module end what it does when ctx is done, until stop is called,
// which reports whether it had not to: an instance that was told to end is of no
// more use.
func endWith(ctx context.Context, module api.Module) (stop func() bool) {
	end := module.ExportedGlobal(endName).(api.MutableGlobal)
	return context.AfterFunc(ctx, func() { end.Set(1) })
}
