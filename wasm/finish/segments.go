package main

import (
	"bytes"
	"errors"

	"kith/wasm/module"
)

// gap is the most zeros within a data segment. Further segments in their place would make the
// file 3 kB shorter, but a host takes time for each in each instance.
const gap = 256

// active is the kind of a segment that an instance begins with, at an offset.
const active = 0

// joinSegments joins data segments that few zeros divide. wasm-opt divides them.
func joinSegments(all []module.Section) ([]module.Section, error) {
	if err := checkCalls(all); err != nil {
		return nil, err
	}
	var memory []byte
	if s := module.Find(all, module.Data); s != nil {
		r := module.Reader{In: s.Body}
		for range r.Unsigned() {
			at, err := offset(&r)
			if err != nil {
				return nil, err
			}
			content := r.Sized()
			memory = append(memory, make([]byte, max(0, at+len(content)-len(memory)))...)
			copy(memory[at:], content)
		}
	}
	storeMemory(all, memory)
	return all, nil
}

// storeMemory makes the content of a memory the data of a module.
func storeMemory(all []module.Section, memory []byte) {
	segments, count := segmentsOf(memory)
	if s := module.Find(all, module.DataCount); s != nil {
		s.Body = module.AppendUnsigned(nil, count)
	}
	if s := module.Find(all, module.Data); s != nil {
		s.Body = append(module.AppendUnsigned(nil, count), segments...)
	}
}

// segmentsOf returns active data segments with all that is not zero in a memory.
func segmentsOf(memory []byte) (segments []byte, count uint32) {
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
		segments = module.AppendSigned(append(segments, active, module.OpI32Const), int32(at))
		segments = module.AppendSized(append(segments, module.OpEnd), memory[at:end])
		at = end
	}
	return segments, count
}

// offset reads the beginning of an active segment, and returns its offset.
func offset(r *module.Reader) (int, error) {
	kind, op := r.Byte(), r.Byte()
	at := r.Unsigned() // a signed number that is not negative has the same bytes
	if end := r.Byte(); r.Cut || kind != active || op != module.OpI32Const || end != module.OpEnd {
		return 0, errors.New("a segment has another form than those of wasm-opt")
	}
	return int(at), nil
}
