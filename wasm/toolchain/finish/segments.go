package main

import (
	"bytes"
	"encoding/binary"
)

// gap is the most zeros within a data segment. Further segments in their place would make the
// file 2 kB shorter, but a host takes time for each in each instance.
const gap = 64

// The beginning of an active segment: its kind, and its offset as an expression.
const (
	active          = 0
	i32Const        = 0x41
	endOfExpression = 0x0b
)

// joinSegments joins data segments that few zeros divide. wasm-opt divides them.
func joinSegments(all []section) error {
	if err := checkCalls(all); err != nil {
		return err
	}
	var memory []byte
	for _, s := range all {
		if s.id != data {
			continue
		}
		count, size := binary.Uvarint(s.body)
		for rest := s.body[max(size, 0):]; count > 0; count-- {
			at, after, err := offset(rest)
			if err != nil {
				return err
			}
			content, after, err := sized(after)
			if err != nil {
				return err
			}
			memory = append(memory, make([]byte, max(0, at+len(content)-len(memory)))...)
			copy(memory[at:], content)
			rest = after
		}
	}
	storeMemory(all, memory)
	return nil
}

// storeMemory makes the content of a memory the data of a module.
func storeMemory(all []section, memory []byte) {
	segments, count := segmentsOf(memory)
	for i := range all {
		switch all[i].id {
		case dataCount:
			all[i].body = binary.AppendUvarint(nil, uint64(count))
		case data:
			all[i].body = append(binary.AppendUvarint(nil, uint64(count)), segments...)
		}
	}
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
		segments = appendSized(appendOffset(segments, at), memory[at:end])
		at = end
	}
	return segments, count
}

// appendOffset appends the beginning of an active segment.
func appendOffset(b []byte, at int) []byte {
	b = append(b, active, i32Const)
	for ; at >= 0x40; at >>= 7 { // signed numbers
		b = append(b, byte(at)|0x80)
	}
	return append(b, byte(at), endOfExpression)
}

// offset returns the offset of an active segment, and what follows it.
func offset(segment []byte) (at int, after []byte, err error) {
	number, ok := bytes.CutPrefix(segment, []byte{active, i32Const})
	n, size := binary.Uvarint(number) // a signed number that is not negative has the same bytes
	if !ok || size <= 0 || len(number) <= size {
		return 0, nil, errForm
	}
	return int(n), number[size+1:], nil
}
