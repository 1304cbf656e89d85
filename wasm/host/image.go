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
	// size is that of the memory. All of it is zero except content, which begins at start.
	size, start int
	content     []byte
}

func takeImage(g *guest) *image {
	memory := g.wholeMemory()
	content := bytes.TrimLeft(memory, "\x00")
	return &image{len(memory), len(memory) - len(content), bytes.Clone(bytes.TrimRight(content, "\x00"))}
}

// restore gives an instance its memory back. It returns false if the memory has grown,
// since it cannot shrink.
func (i *image) restore(g *guest) bool {
	memory := g.wholeMemory()
	if len(memory) != i.size {
		return false
	}
	clear(memory[:i.start])
	n := copy(memory[i.start:], i.content)
	clear(memory[i.start+n:])
	return true
}

// CheckIdle returns an error if the memory of an instance that is not in use is not the
// one before its first request. Tests of components call it.
func (h *Host) CheckIdle() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.idle {
		now := takeImage(g)
		if now.size != h.image.size || now.start != h.image.start || !bytes.Equal(now.content, h.image.content) {
			return errors.New("host: an instance kept something of a request")
		}
	}
	return nil
}
