package fuel

import "fmt"

// reader reads the binary format. Beyond the end it reads zeros, and cut is true.
type reader struct {
	in  []byte
	cut bool
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.in)) {
		r.in, r.cut = nil, true
		return nil
	}
	b := r.in[:n]
	r.in = r.in[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) unsigned() (n uint32) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if n |= uint32(b&0x7f) << shift; b < 0x80 {
			return n
		}
		if shift == 28 {
			r.cut = true
			return 0
		}
	}
}

// signed skips a signed number of up to 64 bits.
func (r *reader) signed() {
	for r.byte() >= 0x80 {
	}
}

func (r *reader) limits() {
	if bounded := r.byte()&1 == 1; bounded {
		r.unsigned()
	}
	r.unsigned()
}

func (r *reader) bulk() (bulk bool, err error) {
	switch op := r.unsigned(); {
	case op <= 7: // conversions
	case op == 9, op == 13, op == 15, op == 16: // drops, table.grow and table.size
		r.unsigned()
	case op == 11, op == 17: // fills
		r.unsigned()
		bulk = true
	case op == 8, op == 10, op == 12, op == 14: // copies
		r.unsigned()
		r.unsigned()
		bulk = true
	default:
		err = fmt.Errorf("the instruction %#x %d is unknown", opBulk, op)
	}
	return bulk, err
}

func (r *reader) vector() error {
	switch op := r.unsigned(); {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.unsigned()
		r.unsigned()
	case op == 12, op == 13: // constants and shuffles
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of lanes
		r.unsigned()
		r.unsigned()
		r.byte()
	case op > 255:
		return fmt.Errorf("the instruction %#x %d is unknown", opVector, op)
	}
	return nil
}

// unsigned and signed append a number in the binary format.
func unsigned(b []byte, n uint32) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func signed(b []byte, n int32) []byte {
	for ; n < -64 || n > 63; n >>= 7 {
		b = append(b, byte(n)&0x7f|0x80)
	}
	return append(b, byte(n)&0x7f)
}
