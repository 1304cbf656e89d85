package host

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"kith/edge/abi"
)

// batchCode is batch.wat, compiled; a test compares the two.
//
// A browser's request takes about fifty blocks in the guest, and a call from Go
// costs more than the allocation: wazero starts a goroutine per call to watch its
// context. So a tiny module between host and guest makes the calls of a request
// in one loop. The guest sees what it always sees, a call per block.
const batchCode = "" +
	"AGFzbQEAAAABEwNgBH9/f38Bf2ADf39/AGABfwACOgIFZ3Vlc3QVY2Fub25pY2FsX2FiaV9yZWFs" +
	"bG9jAAAFZ3Vlc3QSY2Fub25pY2FsX2FiaV9mcmVlAAEDAwICAgUEAQEBAQcZAwZtZW1vcnkCAAVh" +
	"bGxvYwACBGZyZWUAAwpMAigBAX8DQCABQQBBACABKAIEIAEoAgAQADYCBCABQQhqIgEgAEkNAAsL" +
	"IQEBfwNAIAEoAgAgASgCBEEBEAEgAUEIaiIBIABJDQALCw=="

// maxBatch is the entries that fit into the module's one page of memory.
const maxBatch = wasmPage / 8

// block is memory of the guest that is allocated and not used yet.
type block struct{ size, align, ptr uint32 }

// batch is an instance of batchCode, bound to one guest. A guest that serves one
// request has none: to make it costs more than it saves.
type batch struct {
	module      api.Module
	memory      api.Memory
	alloc, free api.Function
}

func newBatch(ctx context.Context, h *Host, guest api.Module) (b batch, err error) {
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == "guest" {
			return guest
		}
		return nil
	})
	b.module, err = h.runtime.InstantiateModule(ctx, h.batch, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return b, err
	}
	b.memory = b.module.Memory()
	b.alloc, b.free = b.module.ExportedFunction("alloc"), b.module.ExportedFunction("free")
	return b, nil
}

func compileBatch(ctx context.Context, r wazero.Runtime) (wazero.CompiledModule, error) {
	code, err := base64.StdEncoding.DecodeString(batchCode)
	if err != nil {
		return nil, err
	}
	return r.CompileModule(ctx, code)
}

// runBatch lets one of the two functions work through entries of 8 bytes and
// returns what the entries are then, as a view. The context ends it wherever it
// is: wazero's checks ask the module that was called, also inside the guest.
func (g *guest) runBatch(ctx context.Context, f api.Function, entries []byte) ([]byte, error) {
	g.batch.memory.Write(0, entries)
	g.stack[0] = uint64(len(entries))
	g.inRealloc = true
	err := f.CallWithStack(ctx, g.stack[:1])
	g.inRealloc = false
	if err != nil {
		return nil, err
	}
	done, _ := g.batch.memory.Read(0, uint32(len(entries)))
	return done, nil
}

// reserve allocates blocks ahead. The puts that follow must ask for them in this
// order; blocks of no bytes are left out.
func (g *guest) reserve(ctx context.Context, blocks []block) error {
	entries := g.scratch[:0]
	for _, b := range blocks {
		entries = appendWords(entries, b.size, b.align)
	}
	g.scratch = entries
	done, err := g.runBatch(ctx, g.batch.alloc, entries)
	if err != nil {
		return err
	}
	for i := range blocks {
		blocks[i].ptr = word(done, 8*i+4)
	}
	g.reserved = blocks
	return nil
}

// reserveRequest reserves what putRequest is about to ask for.
func (g *guest) reserveRequest(ctx context.Context, in *request) error {
	blocks := g.blocks[:0]
	add := func(n int, align uint32) {
		if n > 0 {
			blocks = append(blocks, block{size: uint32(n), align: align})
		}
	}
	add(len(in.uri), abi.ByteAlign)
	for i := range in.headers {
		add(len(in.headers[i].name), abi.ByteAlign)
		add(len(in.headers[i].value), abi.ByteAlign)
	}
	add(len(in.headers)*abi.HeaderSize, abi.WordAlign)
	add(len(in.body), abi.ByteAlign)
	g.blocks = blocks
	if len(blocks) > maxBatch || len(blocks) == 0 || g.batch.module == nil {
		return nil // one by one then
	}
	return g.reserve(ctx, blocks)
}

// reserveRows reserves what putRows is about to ask for.
func (g *guest) reserveRows(ctx context.Context, r *result) error {
	blocks := g.blocks[:0]
	add := func(n int, align uint32) {
		if n > 0 {
			blocks = append(blocks, block{size: uint32(n), align: align})
		}
	}
	for _, name := range r.columns {
		add(len(name), abi.ByteAlign)
	}
	add(len(r.columns)*abi.StringSize, abi.WordAlign)
	rows := 0
	for values := r.values; len(values) > 0; values = values[len(r.columns):] {
		for _, v := range values[:len(r.columns)] {
			switch v := v.(type) {
			case string:
				add(len(v), abi.ByteAlign)
			case []byte:
				add(len(v), abi.ByteAlign)
			case time.Time:
				return nil // its text is made later; one by one then
			}
		}
		add(len(r.columns)*abi.ValueSize, abi.ValueAlign)
		rows++
	}
	add(rows*abi.StringSize, abi.WordAlign)
	g.blocks = blocks
	if len(blocks) > maxBatch || len(blocks) < 2 || g.batch.module == nil {
		return nil
	}
	return g.reserve(ctx, blocks)
}

// releaseBatch gives back the strings of a list, except those of no bytes. It
// overwrites the list.
func (g *guest) releaseBatch(ctx context.Context, list []byte) error {
	entries := list[:0]
	for s := list; len(s) > 0; s = s[abi.StringSize:] {
		if word(s, 4) != 0 {
			entries = append(entries, s[:abi.StringSize]...)
		}
	}
	for len(entries) > 0 {
		n := min(len(entries), wasmPage)
		if _, err := g.runBatch(ctx, g.batch.free, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}
