package host

import (
	"bytes"
	"errors"
)

// image is the memory of an instance before its first request. An instance gets it back
// after each request, so that nothing survives from one request to the next, and no
// request depends on which instance serves it.
//
// Memory is the whole state of a guest of this ABI: its compilers have one mutable global,
// the stack pointer, which a call that returns leaves as it was, and change no table.
type image struct {
	// pages are the memory, in parts of pageSize. All pages without content are zeroPage.
	pages [][]byte
}

// pageSize is the size of the parts in which memory is restored. A share link writes to a
// tenth of them.
const pageSize = 2 * kib

var zeroPage = make([]byte, pageSize)

func takeImage(g *guest) *image {
	i := &image{}
	for memory := g.wholeMemory(); len(memory) > 0; memory = memory[pageSize:] {
		page := zeroPage
		if !bytes.Equal(memory[:pageSize], zeroPage) {
			page = bytes.Clone(memory[:pageSize])
		}
		i.pages = append(i.pages, page)
	}
	return i
}

// size returns the size of the memory in bytes.
func (i *image) size() int { return len(i.pages) * pageSize }

// restore gives an instance its memory back, up to an address above which nothing differs.
// It returns false if the memory has grown, since it cannot shrink. It writes only what
// differs, and reads no more than it must: either drives other data out of the
// processor's caches.
func (i *image) restore(g *guest, end uint32) bool {
	memory := g.wholeMemory()
	if len(memory) != i.size() {
		return false
	}
	for n, page := range i.pages[:(int(end)+pageSize-1)/pageSize] {
		if now := memory[n*pageSize:][:pageSize]; !bytes.Equal(now, page) {
			copy(now, page)
		}
	}
	return true
}

// CheckIdle returns an error if the memory of an instance that is not in use is not the
// one before its first request. Tests of components call it.
func (h *Host) CheckIdle() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.idle {
		if !bytes.Equal(g.wholeMemory(), bytes.Join(h.image.pages, nil)) {
			return errors.New("host: an instance kept something of a request")
		}
	}
	return nil
}
