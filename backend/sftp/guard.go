package sftp

import (
	"encoding/binary"
	"errors"
	"io"
)

// Packets of the protocol, version 3: their length in four bytes, which do not
// count, then their type and, but for the first, their number.
const (
	packetRead   = 5
	packetRemove = 13
	// maxRead is how long a wish to read may be.
	maxRead = 1 << 10
)

var errLongRead = errors.New("sftp: a request to read is too long")

// guard hands on what a client asks for, and turns each wish to read into one
// that the box refuses: on a file that was opened to be written, the library
// would take the first for zeros to be written.
type guard struct {
	io.ReadWriteCloser
	// left is what is to come of a packet that passes.
	left uint32
	// ready is what was made of another.
	ready []byte
}

func (g *guard) Read(p []byte) (int, error) {
	if g.left == 0 && len(g.ready) == 0 {
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	if len(g.ready) > 0 {
		n := copy(p, g.ready)
		g.ready = g.ready[n:]
		return n, nil
	}
	n, err := g.ReadWriteCloser.Read(p[:min(uint32(len(p)), g.left)])
	g.left -= uint32(n)
	return n, err
}

// next looks at how a packet begins.
func (g *guard) next() error {
	var head [9]byte
	if _, err := io.ReadFull(g.ReadWriteCloser, head[:5]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if head[4] != packetRead || size < 5 {
		// One of no length has no type: its fifth byte is the next one's, and the
		// library ends the session over it.
		g.ready, g.left = head[:5:5], max(size, 1)-1
		return nil
	}
	if size > maxRead {
		return errLongRead
	}
	if _, err := io.ReadFull(g.ReadWriteCloser, head[5:]); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, g.ReadWriteCloser, int64(size)-5); err != nil {
		return err
	}
	// Its number is kept; what is to be removed is nothing: an empty path.
	g.ready = binary.BigEndian.AppendUint32(nil, 9)
	g.ready = append(append(append(g.ready, packetRemove), head[5:]...), 0, 0, 0, 0)
	return nil
}
