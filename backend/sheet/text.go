package sheet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"kith/core"
	"kith/core/importfile"
)

// copyText writes a text file.
func copyText(to io.Writer, in io.Reader, format importfile.Format) (d importfile.Dialect, err error) {
	from := bufio.NewReaderSize(in, sniffed)
	text := &decoder{in: from}
	head, _ := from.Peek(sniffed)
	if decoded, ok := fromUTF16(head); ok {
		text.encoding, text.order = importfile.UTF16, byteOrder(head)
		_, _ = from.Discard(2)
		head = decoded
	}
	if format == importfile.JSONL {
		_, err = io.Copy(to, text)
		return importfile.Dialect{Encoding: text.name()}, err
	}
	lines := io.Reader(text)
	if onlyCR(head) {
		lines, head = returns{text}, bytes.ReplaceAll(head, []byte{'\r'}, []byte{'\n'})
	}
	separator, skip := separatorOf(head)
	// Positions are those of the decoded bytes. The skipped ones are ASCII.
	if skip > 0 {
		if _, err := io.CopyN(io.Discard, lines, int64(skip)); err != nil {
			return d, err
		}
	}
	if separator == ',' {
		_, err = io.Copy(to, lines)
	} else {
		err = separate(to, lines, separator)
	}
	return importfile.Dialect{Encoding: text.name(), Separator: string(separator)}, err
}

// plain reports whether a text file with these first bytes needs no conversion.
func plain(head []byte, format importfile.Format) bool {
	if byteOrder(head) != nil {
		return false
	}
	if i := notASCII(head); i >= 0 && utf8.FullRune(head[i:]) && !validRune(head[i:]) {
		return false
	}
	separator, skip := separatorOf(head)
	return format == importfile.JSONL || separator == ',' && skip == 0 && !onlyCR(head)
}

// onlyCR reports whether the lines of a file end with CR only, as Excel for Mac once saved CSV.
func onlyCR(head []byte) bool {
	return bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0
}

// returns reads each CR as a line end.
type returns struct{ io.Reader }

func (r returns) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// byteOrder returns the byte order of UTF-16, which the mark at the beginning of a file says,
// or nil.
func byteOrder(head []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return binary.LittleEndian
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return binary.BigEndian
	}
	return nil
}

// fromUTF16 returns the first bytes of a file as UTF-8, without the mark, if they are UTF-16.
func fromUTF16(head []byte) ([]byte, bool) {
	order := byteOrder(head)
	if order == nil {
		return nil, false
	}
	units := make([]uint16, (len(head)-2)/2)
	for i := range units {
		units[i] = order.Uint16(head[2+2*i:])
	}
	return []byte(string(utf16.Decode(units))), true
}

const bom = "\ufeff"

// separatorOf returns the separator that the header has most often outside quotes; a comma if
// none. skip is the length of what is before the header and no part of it: Excel's line "sep=;".
func separatorOf(head []byte) (separator byte, skip int) {
	from := len(head) - len(bytes.TrimPrefix(head, []byte(bom)))
	if len(head) > from+5 && strings.EqualFold(string(head[from:from+4]), "sep=") && (head[from+5] == '\n' || head[from+5] == '\r') {
		skip = from + 6
		if strings.HasPrefix(string(head[from+5:]), "\r\n") {
			skip++
		}
		if given := head[from+4]; given == ',' || given == ';' || given == '\t' {
			return given, skip
		}
		from = skip
	}
	quoted, counts := false, map[byte]int{}
	for _, c := range head[from:] {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted || c >= utf8.RuneSelf:
		case c == '\n' && counts[','] == 0 && counts[';'] == 0 && counts['\t'] == 0 && counts[0] == 0:
			// An empty line before the header.
		case c == '\n':
			return most(counts), skip
		case c == ',' || c == ';' || c == '\t':
			counts[c]++
		case c > ' ':
			counts[0] = 1 // the line is not empty
		}
	}
	return most(counts), skip
}

func most(counts map[byte]int) byte {
	best := byte(',')
	for _, c := range []byte{';', '\t'} {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// decoder reads a text as UTF-8.
type decoder struct {
	in *bufio.Reader
	// encoding is empty while only ASCII was read: it may be UTF-8 or Windows-1252. The first
	// bytes that are not ASCII decide.
	encoding string
	order    binary.ByteOrder
	// pending has decoded bytes that did not fit.
	pending, scratch []byte
	high             rune
}

// name returns the encoding of what was read.
func (d *decoder) name() string {
	if d.encoding == "" {
		return importfile.UTF8
	}
	return d.encoding
}

func (d *decoder) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case len(d.pending) > 0:
		n := copy(p, d.pending)
		d.pending = d.pending[n:]
		return n, nil
	case d.encoding == importfile.UTF8:
		return d.in.Read(p)
	case d.encoding == importfile.Windows1252:
		return d.readBytes(p)
	case d.encoding == importfile.UTF16:
		return d.readUnits(p)
	}
	if _, err := d.in.Peek(1); err != nil {
		return 0, err
	}
	next, _ := d.in.Peek(min(d.in.Buffered(), len(p)))
	i := notASCII(next)
	if i != 0 {
		if i > 0 {
			next = next[:i]
		}
		n := copy(p, next)
		_, _ = d.in.Discard(n)
		return n, nil
	}
	first, err := d.in.Peek(utf8.UTFMax)
	if err != nil && err != io.EOF {
		return 0, err
	}
	// A byte that Windows-1252 does not have either is no sign of it.
	if d.encoding = importfile.UTF8; !validRune(first) && windowsRune(first[0]) != utf8.RuneError {
		d.encoding = importfile.Windows1252
	}
	return d.Read(p)
}

func validRune(b []byte) bool {
	r, n := utf8.DecodeRune(b)
	return r != utf8.RuneError || n > 1
}

// notASCII returns the index of the first byte that is not ASCII, or -1.
func notASCII(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:])&0x8080808080808080 != 0 {
			break
		}
	}
	for ; i < len(b); i++ {
		if b[i] >= utf8.RuneSelf {
			return i
		}
	}
	return -1
}

// readBytes decodes Windows-1252.
func (d *decoder) readBytes(p []byte) (int, error) {
	if _, err := d.in.Peek(1); err != nil {
		return 0, err
	}
	next, _ := d.in.Peek(min(d.in.Buffered(), len(p)))
	out := d.scratch[:0]
	for _, c := range next {
		r := windowsRune(c)
		if r == utf8.RuneError {
			return 0, core.Invalid("file", "is neither UTF-8 nor Windows-1252; save it as CSV UTF-8 and send it again")
		}
		out = utf8.AppendRune(out, r)
	}
	_, _ = d.in.Discard(len(next))
	n := copy(p, out)
	d.pending, d.scratch = out[n:], out
	return n, nil
}

// readUnits decodes UTF-16.
func (d *decoder) readUnits(p []byte) (int, error) {
	if b, err := d.in.Peek(2); err != nil {
		if len(b) == 1 && err == io.EOF {
			err = core.Invalid("file", "ends in the middle of a letter of UTF-16; send the whole file")
		}
		return 0, err
	}
	next, _ := d.in.Peek(min(d.in.Buffered(), max(len(p), 2)) &^ 1)
	out := d.scratch[:0]
	for i := 0; i < len(next); i += 2 {
		r := rune(d.order.Uint16(next[i:]))
		if d.high != 0 {
			if pair := utf16.DecodeRune(d.high, r); pair != utf8.RuneError {
				out, d.high = utf8.AppendRune(out, pair), 0
				continue
			}
			out, d.high = utf8.AppendRune(out, utf8.RuneError), 0
		}
		if 0xd800 <= r && r < 0xdc00 {
			d.high = r
			continue
		}
		out = utf8.AppendRune(out, r) // half of a pair becomes U+FFFD
	}
	_, _ = d.in.Discard(len(next))
	n := copy(p, out)
	d.pending, d.scratch = out[n:], out
	return n, nil
}

// windows has the runes of the bytes from 0x80 to 0x9f in Windows-1252; 0: it has none. Bytes
// above are those of Unicode.
var windows = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// windowsRune returns the rune of a byte in Windows-1252, or U+FFFD.
func windowsRune(c byte) rune {
	if c < 0x80 || c >= 0xa0 {
		return rune(c)
	}
	if r := windows[c-0x80]; r != 0 {
		return r
	}
	return utf8.RuneError
}

// separate replaces the separators of a CSV file by commas, and quotes fields that have commas.
func separate(to io.Writer, text io.Reader, separator byte) error {
	from, out := bufio.NewReaderSize(text, sniffed), bufio.NewWriterSize(to, sniffed)
	w := fieldWriter{out: out, separator: separator}
	for {
		_, err := from.Peek(1)
		if err == nil {
			b, _ := from.Peek(from.Buffered())
			err = w.add(b)
			_, _ = from.Discard(len(b))
		}
		switch err {
		case nil:
			continue
		case io.EOF:
			if err := w.end(); err != nil {
				return err
			}
			return out.Flush()
		}
		return err
	}
}

// fieldWriter writes fields of a CSV file with another separator.
type fieldWriter struct {
	out       *bufio.Writer
	separator byte
	// field is what was read of the field, unless it begins with a quote; then it is written
	// as it is read. quotes is the number of quotes in it.
	field  []byte
	quoted bool
	quotes int
	any    bool
}

func (w *fieldWriter) add(b []byte) error {
	for len(b) > 0 {
		if !w.any {
			w.any, w.quoted, w.quotes = true, b[0] == '"', 0
		}
		if w.quoted && w.quotes%2 == 1 {
			// Separators and line ends count for nothing up to the next quote.
			i := bytes.IndexByte(b, '"')
			if i < 0 {
				_, err := w.out.Write(b)
				return err
			}
			w.quotes++
			if _, err := w.out.Write(b[:i+1]); err != nil {
				return err
			}
			b = b[i+1:]
			continue
		}
		c := b[0]
		b = b[1:]
		switch {
		case c == w.separator, c == '\n':
			if err := w.end(); err != nil {
				return err
			}
			if c == w.separator {
				c = ','
			}
			if err := w.out.WriteByte(c); err != nil {
				return err
			}
		case w.quoted:
			if c == '"' {
				w.quotes++
			}
			if err := w.out.WriteByte(c); err != nil {
				return err
			}
		default:
			if w.field = append(w.field, c); len(w.field) > importfile.MaxRecord {
				return core.Invalid("file", "has a field of more than 1 MiB; check its separators and quotes")
			}
		}
	}
	return nil
}

// end writes the end of a field.
func (w *fieldWriter) end() (err error) {
	if !w.quoted {
		field, line := bytes.CutSuffix(w.field, []byte{'\r'})
		if bytes.IndexByte(field, ',') >= 0 && bytes.IndexByte(field, '"') < 0 {
			field = append(append([]byte{'"'}, field...), '"')
		}
		_, err = w.out.Write(field)
		if err == nil && line {
			err = w.out.WriteByte('\r')
		}
	}
	w.field, w.any, w.quoted, w.quotes = w.field[:0], false, false, 0
	return err
}
