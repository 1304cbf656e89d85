package host

import (
	"context"
	"encoding/binary"
	"fmt"

	"kith/edge/abi"
)

// fault reports that a guest violated the ABI: its memory cannot be trusted any more.
type fault string

func (f fault) Error() string { return "host: guest violated the ABI: " + string(f) }

func faultf(format string, args ...any) error { return fault(fmt.Sprintf(format, args...)) }

// view returns n bytes of the guest at ptr. It is not a copy: the guest sees
// writes to it, and the next call into the guest may invalidate it.
func (g *guest) view(ptr, n uint32, what string) ([]byte, error) {
	b, ok := g.memory.Read(ptr, n)
	if !ok {
		return nil, faultf("%s of %d bytes at %#x is out of range", what, n, ptr)
	}
	return b, nil
}

// viewList returns count records of size bytes each, count at most limit.
func (g *guest) viewList(ptr, count, size, align, limit uint32, what string) ([]byte, error) {
	if count == 0 {
		return nil, nil
	}
	if count > limit {
		return nil, faultf("%s has %d entries, the limit is %d", what, count, limit)
	}
	return g.viewRecord(ptr, count*size, align, what)
}

// viewRecord is view with a check of alignment, which the canonical ABI requires
// of every record.
func (g *guest) viewRecord(ptr, size, align uint32, what string) ([]byte, error) {
	if ptr%align != 0 {
		return nil, faultf("%s at %#x is not aligned to %d", what, ptr, align)
	}
	return g.view(ptr, size, what)
}

// viewString returns the bytes of a string whose pointer and length are the
// first 8 bytes of record.
func (g *guest) viewString(record []byte, what string) ([]byte, error) {
	return g.view(word(record, 0), word(record, 4), what)
}

// copyString returns a copy of a string whose pointer and length are the first 8 bytes of record.
func (g *guest) copyString(record []byte, what string) (string, error) {
	b, err := g.viewString(record, what)
	return string(b), err
}

// block is a part of the guest's memory that the host may use.
type block struct{ ptr, size uint32 }

// arenaBlock is how much memory the host gets at once from a guest that exports
// abi.ExportArena.
const arenaBlock = 4 * kib

// alloc returns size bytes of the guest. With size 0 it allocates nothing and returns
// the alignment as the pointer, as the guest's own realloc does.
func (g *guest) alloc(ctx context.Context, size, align uint32) (uint32, error) {
	if size == 0 {
		return align, nil
	}
	if !g.host.arena || size > arenaBlock/2 {
		return g.allocBlock(ctx, size, align)
	}
	if skip := -g.free.ptr % align; g.free.size >= skip+size {
		ptr := g.free.ptr + skip
		g.free = block{ptr + size, g.free.size - skip - size}
		return ptr, nil
	}
	ptr, err := g.allocBlock(ctx, arenaBlock, abi.ValueAlign)
	g.free = block{ptr + size, arenaBlock - size}
	return ptr, err
}

// top returns an address above which the guest has written nothing.
func (g *guest) top(ctx context.Context) (uint32, error) {
	if !g.host.arena {
		return g.memory.Size(), nil
	}
	return g.allocBlock(ctx, 1, abi.ByteAlign)
}

// allocBlock makes the guest allocate a block.
func (g *guest) allocBlock(ctx context.Context, size, align uint32) (uint32, error) {
	g.stack = [4]uint64{0, 0, uint64(align), uint64(size)}
	g.inRealloc = true
	err := g.realloc.CallWithStack(ctx, g.stack[:])
	g.inRealloc = false
	if err != nil {
		return 0, err
	}
	ptr := uint32(g.stack[0])
	if ptr == 0 {
		return 0, faultf("%s returned null for %d bytes", abi.ExportRealloc, size)
	}
	_, err = g.viewRecord(ptr, size, align, "allocation")
	return ptr, err
}

// put copies s to a block of its own and appends its pointer and length to
// record.
func (g *guest) put(ctx context.Context, record []byte, s string) ([]byte, error) {
	ptr, err := g.alloc(ctx, uint32(len(s)), abi.ByteAlign)
	if err != nil {
		return nil, err
	}
	if !g.memory.WriteString(ptr, s) {
		return nil, faultf("allocation of %d bytes at %#x went out of range", len(s), ptr)
	}
	return appendWords(record, ptr, uint32(len(s))), nil
}

// putBytes is put for bytes.
func (g *guest) putBytes(ctx context.Context, record, b []byte) ([]byte, error) {
	return g.putList(ctx, record, b, len(b), abi.ByteAlign)
}

// putList copies count records to a block of their own and appends its pointer
// and count to record.
func (g *guest) putList(ctx context.Context, record, records []byte, count int, align uint32) ([]byte, error) {
	ptr, err := g.alloc(ctx, uint32(len(records)), align)
	if err != nil {
		return nil, err
	}
	if !g.memory.Write(ptr, records) {
		return nil, faultf("allocation of %d bytes at %#x went out of range", len(records), ptr)
	}
	return appendWords(record, ptr, uint32(count)), nil
}

// putHeaders copies a list of headers, each string to a block of its own, and
// appends its pointer and count to record.
func (g *guest) putHeaders(ctx context.Context, record []byte, headers []header) (_ []byte, err error) {
	records := g.scratch[:0]
	for i := range headers {
		if records, err = g.put(ctx, records, headers[i].name); err != nil {
			return nil, err
		}
		if records, err = g.put(ctx, records, headers[i].value); err != nil {
			return nil, err
		}
	}
	g.scratch = records
	return g.putList(ctx, record, records, len(headers), abi.WordAlign)
}

// answer writes the record of a result to the address that the guest gave.
func (g *guest) answer(ptr uint32, record []byte) error {
	place, err := g.viewRecord(ptr, uint32(len(record)), abi.WordAlign, "result")
	if err == nil {
		copy(place, record)
	}
	return err
}

func word(b []byte, offset int) uint32 { return binary.LittleEndian.Uint32(b[offset:]) }

func appendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
