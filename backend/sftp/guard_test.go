package sftp

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

type pipe struct{ io.Reader }

func (pipe) Write(p []byte) (int, error) { return len(p), nil }
func (pipe) Close() error                { return nil }

func packet(kind byte, body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))+1), append([]byte{kind}, body...)...)
}

func TestGuard(t *testing.T) {
	t.Parallel()
	const write = 6
	for _, c := range []struct {
		name     string
		in, want []byte
		err      error
	}{
		{"nothing", nil, nil, nil},
		{"another packet", packet(write, "0001data"), packet(write, "0001data"), nil},
		{"read", packet(packetRead, "0001\x00\x00\x00\x011offsetoffset"), packet(packetRemove, "0001\x00\x00\x00\x00"), nil},
		{"read and another", append(packet(packetRead, "0001"), packet(write, "0002")...), append(packet(packetRemove, "0001\x00\x00\x00\x00"), packet(write, "0002")...), nil},
		{"a read within data", packet(write, string(packet(packetRead, "0001"))), packet(write, string(packet(packetRead, "0001"))), nil},
		{"the longest read", packet(packetRead, string(make([]byte, maxRead-1))), packet(packetRemove, string(make([]byte, 8))), nil},
		{"a longer one", packet(packetRead, string(make([]byte, maxRead))), nil, errLongRead},
		{"a read without a number", packet(packetRead, "001"), packet(packetRead, "001"), nil},
		{"half a head", []byte{0, 0, 0}, nil, io.ErrUnexpectedEOF},
		{"half a read", packet(packetRead, "0001data")[:10], nil, io.EOF},
	} {
		for _, slow := range []bool{false, true} {
			in := io.Reader(bytes.NewReader(c.in))
			if slow {
				in = iotest.OneByteReader(in)
			}
			got, err := io.ReadAll(&guard{ReadWriteCloser: pipe{in}})
			if c.err != io.EOF {
				require.Equal(t, c.err, err, c.name)
			}
			require.Equal(t, string(c.want), string(got), c.name)
		}
	}
}

// For any input, no read request with a number passes, and all other packets pass
// unchanged.
func FuzzGuard(f *testing.F) {
	f.Add(packet(packetRead, "0001handle"))
	f.Add(append(packet(6, "0001"), packet(packetRead, "0002")...))
	f.Add([]byte{0, 0, 0, 0, 5, 0, 0, 0, 9, 5})
	f.Fuzz(func(t *testing.T, in []byte) {
		got, _ := io.ReadAll(&guard{ReadWriteCloser: pipe{bytes.NewReader(in)}})
		for len(got) >= 5 {
			size := binary.BigEndian.Uint32(got)
			if got[4] == packetRead && size >= 5 {
				t.Fatalf("%x: a read request of %d bytes passes", in, size)
			}
			if size == 0 || uint64(size)+4 > uint64(len(got)) {
				return // the library ends the session, or waits for the rest
			}
			if got[4] != packetRemove {
				require.True(t, bytes.Contains(in, got[:size+4]), "a packet is unchanged")
			}
			got = got[size+4:]
		}
	})
}
