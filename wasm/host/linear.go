package host

import "github.com/tetratelabs/wazero/experimental"

// reserve is an allocator of memory that can grow to that many bytes without being moved.
// An instance that is used again grows by a page every few requests, up to RetireMemory,
// and moving its memory would leave the old copy as garbage each time.
type reserve uint64

// Allocate implements experimental.MemoryAllocator.
func (r reserve) Allocate(capacity, _ uint64) experimental.LinearMemory {
	return &linearMemory{b: make([]byte, 0, max(capacity, uint64(r)))}
}

// linearMemory is the memory of one instance. It is not pooled for other instances: only
// the garbage collector knows when it is not referenced any more.
type linearMemory struct{ b []byte }

// Reallocate implements experimental.LinearMemory. Memory never shrinks, so added bytes
// were never written and are zero.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(cap(m.b)) {
		moved := make([]byte, len(m.b), size+size/4)
		copy(moved, m.b)
		m.b = moved
	}
	m.b = m.b[:size]
	return m.b
}

// Free implements experimental.LinearMemory.
func (m *linearMemory) Free() { m.b = nil }
