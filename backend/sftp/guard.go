package sftp

import (
	"encoding/binary"
	"errors"
	"io"
)

// Packets of the protocol, version 3, consist of a length in four bytes, which does
// not count itself, then a type and, except in the first packet, a request number.
const (
	packetRead   = 5
	packetRemove = 13
	// maxRead is the maximum length of a read request, in bytes.
	maxRead = 1 << 10
)

var errLongRead = errors.New("sftp: a request to read is too long")

// guard passes a client's packets on, and replaces each read request by a remove
// request, which the session refuses. The library would handle a read of a file that
// is open for writing as a write of zeros.
type guard struct {
	io.ReadWriteCloser
	// left is the number of bytes still to come of a packet that passes unchanged.
	left uint32
	// ready is the packet that replaces another.
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

// next reads the beginning of a packet.
func (g *guard) next() error {
	var head [9]byte
	if _, err := io.ReadFull(g.ReadWriteCloser, head[:5]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if head[4] != packetRead || size < 5 {
		// A packet of length 0 has no type: its fifth byte belongs to the next packet.
		// The library ends the session at such a packet.
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
	// The remove request has the same number, and an empty path.
	g.ready = binary.BigEndian.AppendUint32(nil, 9)
	g.ready = append(append(append(g.ready, packetRemove), head[5:]...), 0, 0, 0, 0)
	return nil
}
