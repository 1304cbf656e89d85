// Package module divides WebAssembly modules in the binary format into sections and
// instructions, for the programs that rewrite them.
package module

import (
	"bytes"
	"errors"
	"fmt"
)

// Magic is the beginning of a module.
const Magic = "\x00asm\x01\x00\x00\x00"

// Sections of a module, by number. A module has them in this order, but for DataCount, which is
// before Code, and custom sections, which may be anywhere.
const (
	Custom = iota
	Type
	Import
	Function
	Table
	Memory
	Global
	Export
	Start
	Element
	Code
	Data
	DataCount
)

// Instructions and types that rewriting programs read or write.
const (
	OpUnreachable  = 0x00
	OpBlock        = 0x02
	OpLoop         = 0x03
	OpIf           = 0x04
	OpEnd          = 0x0b
	OpBranchTable  = 0x0e
	OpReturn       = 0x0f
	OpCall         = 0x10
	OpCallIndirect = 0x11
	OpDrop         = 0x1a
	OpLocalGet     = 0x20
	OpGlobalGet    = 0x23
	OpGlobalSet    = 0x24
	OpMemoryGrow   = 0x40
	OpI32Const     = 0x41
	OpI32LeS       = 0x4c
	OpI32Sub       = 0x6b
	opBulk         = 0xfc
	opVector       = 0xfd

	TypeFunction = 0x60
	TypeI32      = 0x7f
	BlockVoid    = 0x40
	Mutable      = 1 // of a global
)

// ErrTruncated reports a module that ends within a section.
var ErrTruncated = errors.New("the module is truncated")

var errCodeTruncated = errors.New("the code is truncated")

// Section is a section of a module: its number and its content.
type Section struct {
	ID   byte
	Body []byte
}

// Divide returns the sections of a module, which begins with Magic.
func Divide(module []byte) (all []Section, err error) {
	r := Reader{In: module}
	if string(r.Bytes(uint32(len(Magic)))) != Magic {
		return nil, errors.New("not a WebAssembly module")
	}
	for len(r.In) > 0 && !r.Cut {
		all = append(all, Section{ID: r.Byte(), Body: r.Sized()})
	}
	if r.Cut {
		return nil, ErrTruncated
	}
	return all, nil
}

// Join returns the module of the sections.
func Join(all []Section) []byte {
	module := []byte(Magic)
	for _, s := range all {
		module = AppendSized(append(module, s.ID), s.Body)
	}
	return module
}

// Find returns the section with a number, or nil.
func Find(all []Section, id byte) *Section {
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	return nil
}

// Count returns the number of entries in the section with a number: 0 if it is missing.
func Count(all []Section, id byte) uint32 {
	s := Find(all, id)
	if s == nil {
		return 0
	}
	return (&Reader{In: s.Body}).Unsigned()
}

// Add adds entries to a section.
func (s *Section) Add(entries ...[]byte) {
	r := Reader{In: s.Body}
	body := AppendUnsigned(nil, r.Unsigned()+uint32(len(entries)))
	s.Body = append(append(body, r.In...), bytes.Join(entries, nil)...)
}

// Rewrite replaces each function's code, which begins with its local variables. Index is that
// among the module's own functions.
func (s *Section) Rewrite(to func(index uint32, code []byte) ([]byte, error)) error {
	r := Reader{In: s.Body}
	n := r.Unsigned()
	out := AppendUnsigned(nil, n)
	for i := range n {
		code, err := to(i, r.Sized())
		if err == nil && r.Cut {
			err = errCodeTruncated
		}
		if err != nil {
			return fmt.Errorf("function %d of the module: %w", i, err)
		}
		out = AppendSized(out, code)
	}
	s.Body = out
	return nil
}

// Reader reads the binary format. Beyond the end of In it reads zeros, and Cut is true.
type Reader struct {
	In  []byte
	Cut bool
}

// Bytes reads n bytes.
func (r *Reader) Bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.In)) {
		r.In, r.Cut = nil, true
		return nil
	}
	b := r.In[:n]
	r.In = r.In[n:]
	return b
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Sized reads bytes that begin with their number.
func (r *Reader) Sized() []byte { return r.Bytes(r.Unsigned()) }

// Unsigned reads an unsigned number of up to 32 bits.
func (r *Reader) Unsigned() (n uint32) {
	for shift := 0; ; shift += 7 {
		b := r.Byte()
		if n |= uint32(b&0x7f) << shift; b < 0x80 {
			return n
		}
		if shift == 28 {
			r.Cut = true
			return 0
		}
	}
}

// signed skips a signed number of up to 64 bits.
func (r *Reader) signed() {
	for r.Byte() >= 0x80 {
	}
}

// Limits skips the limits of a table or a memory.
func (r *Reader) Limits() {
	if bounded := r.Byte()&1 == 1; bounded {
		r.Unsigned()
	}
	r.Unsigned()
}

// Walk calls f with each instruction in a function's code, and with its bytes. It returns the
// declaration of the local variables, which precedes the instructions.
func Walk(code []byte, f func(in Instruction, bytes []byte) error) (locals []byte, err error) {
	r := Reader{In: code}
	for range r.Unsigned() {
		r.Unsigned()
		if r.Byte(); r.Cut {
			break
		}
	}
	locals = code[:len(code)-len(r.In)]
	for len(r.In) > 0 && !r.Cut {
		before := r.In
		in, err := r.instruction()
		if err == nil {
			err = f(in, before[:len(before)-len(r.In)])
		}
		if err != nil {
			return nil, err
		}
	}
	if r.Cut {
		return nil, errCodeTruncated
	}
	return locals, nil
}

// Instruction is an instruction without its immediates, except Index: what a call calls, the
// type of an indirect call, the index of a variable or the depth of a branch.
type Instruction struct {
	Op    byte
	Index uint32
	// Bulk reports that the instruction may move the whole memory.
	Bulk bool
}

// instruction reads an instruction of WebAssembly 2.0.
func (r *Reader) instruction() (i Instruction, err error) {
	op := r.Byte()
	i.Op = op
	switch {
	case op >= OpBlock && op <= OpIf:
		r.signed()
	case op == OpUnreachable, op == 0x01, op == 0x05, op == OpEnd, op == OpReturn, op == OpDrop, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	case op == 0x0c, op == 0x0d, op == OpCall, op >= OpLocalGet && op <= 0x26, op == 0xd2:
		i.Index = r.Unsigned()
	case op == OpBranchTable:
		for range r.Unsigned() {
			if r.Unsigned(); r.Cut {
				break
			}
		}
		r.Unsigned()
	case op == OpCallIndirect, op >= 0x28 && op <= 0x3e: // and loads and stores
		i.Index = r.Unsigned()
		r.Unsigned()
	case op == 0x1c: // select of a type
		r.Sized()
	case op == 0x3f, op == OpMemoryGrow, op == 0xd0: // and ref.null
		r.Byte()
	case op == OpI32Const, op == 0x42:
		r.signed()
	case op == 0x43:
		r.Bytes(4)
	case op == 0x44:
		r.Bytes(8)
	case op == opBulk:
		i.Bulk, err = r.bulk()
	case op == opVector:
		err = r.vector()
	default:
		err = fmt.Errorf("the instruction %#x is unknown", op)
	}
	return i, err
}

func (r *Reader) bulk() (bulk bool, err error) {
	switch op := r.Unsigned(); {
	case op <= 7: // conversions
	case op == 9, op == 13, op == 15, op == 16: // drops, table.grow and table.size
		r.Unsigned()
	case op == 11, op == 17: // fills
		r.Unsigned()
		bulk = true
	case op == 8, op == 10, op == 12, op == 14: // copies
		r.Unsigned()
		r.Unsigned()
		bulk = true
	default:
		err = fmt.Errorf("the instruction %#x %d is unknown", opBulk, op)
	}
	return bulk, err
}

func (r *Reader) vector() error {
	switch op := r.Unsigned(); {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.Unsigned()
		r.Unsigned()
	case op == 12, op == 13: // constants and shuffles
		r.Bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.Byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		r.Unsigned()
		r.Unsigned()
		r.Byte()
	case op > 255:
		return fmt.Errorf("the instruction %#x %d is unknown", opVector, op)
	}
	return nil
}

// AppendUnsigned appends a number.
func AppendUnsigned(b []byte, n uint32) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// AppendSigned appends a signed number, as the instruction i32.const has it.
func AppendSigned(b []byte, n int32) []byte {
	for ; n < -64 || n > 63; n >>= 7 {
		b = append(b, byte(n)&0x7f|0x80)
	}
	return append(b, byte(n)&0x7f)
}

// AppendSized appends bytes after their number.
func AppendSized(b, content []byte) []byte {
	return append(AppendUnsigned(b, uint32(len(content))), content...)
}
