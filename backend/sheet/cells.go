package sheet

import (
	"bufio"
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"kith/core"
	"kith/core/importfile"
)

// texts are the shared texts of a workbook: all of them in one string, since each of its own
// would need twice the memory.
type texts struct {
	all  []byte
	ends []uint32
}

func (t texts) at(i int) (string, bool) {
	if i < 0 || i >= len(t.ends) {
		return "", false
	}
	begin := uint32(0)
	if i > 0 {
		begin = t.ends[i-1]
	}
	return string(t.all[begin:t.ends[i]]), true
}

func (b *book) readTexts(part string) (all texts, err error) {
	err = b.each(part, maxTexts, func(t *tokens, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		text, err := t.text("si")
		if err != nil {
			return err
		}
		if len(all.ends) == maxShared {
			return errBig
		}
		all.all = append(all.all, text...)
		all.ends = append(all.ends, uint32(len(all.all)))
		return nil
	})
	return all, err
}

// text returns the text up to the end of an element, which has begun: that of its elements t,
// which are several if parts of it have another font, but not how it is pronounced.
func (t *tokens) text(end string) (string, error) {
	var text strings.Builder
	inside, spoken := false, false
	for {
		token, err := t.next()
		if err != nil {
			return "", err
		}
		switch e := token.(type) {
		case xml.StartElement:
			inside = e.Name.Local == "t"
			spoken = spoken || e.Name.Local == "rPh"
		case xml.EndElement:
			if e.Name.Local == end {
				return unescape(text.String()), nil
			}
			inside = false
			spoken = spoken && e.Name.Local != "rPh"
		case xml.CharData:
			if inside && !spoken {
				if text.Len()+len(e) > maxToken {
					return "", errBig
				}
				text.Write(e)
			}
		}
	}
}

// unescape replaces letters that XML does not have, which Excel writes as _x000D_.
func unescape(s string) string {
	var out []byte
	for {
		at := strings.Index(s, "_x")
		if at < 0 || at+7 > len(s) {
			break
		}
		unit, err := strconv.ParseUint(s[at+2:at+6], 16, 16)
		if err != nil || s[at+6] != '_' || utf16.IsSurrogate(rune(unit)) {
			out, s = append(out, s[:at+2]...), s[at+2:]
			continue
		}
		out, s = append(append(out, s[:at]...), string(rune(unit))...), s[at+7:]
	}
	if out == nil {
		return s
	}
	return string(append(out, s...))
}

// style is how numbers of a cell are shown.
type style struct {
	date bool
	// zeros is the number of digits to which a number is filled up with zeros, or 0.
	zeros int
}

// readStyles returns the styles that cells name.
func (b *book) readStyles(part string) (all []style, err error) {
	codes, inside := map[string]style{}, false
	err = b.each(part, maxPart, func(_ *tokens, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			codes[attr(e, "numFmtId")] = styleOf(attr(e, "formatCode"))
		case "cellStyleXfs", "cellStyles", "dxfs":
			inside = false
		case "cellXfs":
			inside = true
		case "xf":
			if inside {
				id := attr(e, "numFmtId")
				s, ok := codes[id]
				if n, err := strconv.Atoi(id); !ok && err == nil {
					// The built-in formats of dates, with those of East Asia.
					s.date = 14 <= n && n <= 22 || 27 <= n && n <= 36 || 45 <= n && n <= 47 || 50 <= n && n <= 58
				}
				all = append(all, s)
			}
		}
		return nil
	})
	return all, err
}

// styleOf returns the style of a format code, such as "dd.mm.yyyy" or "00000".
func styleOf(code string) (s style) {
	code, _, _ = strings.Cut(code, ";")
	if len(code) > 1 && strings.Trim(code, "0") == "" {
		return style{zeros: len(code)}
	}
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '\\', '_', '*':
			i++
		case '"':
			i = skipTo(code, i, '"')
		case '[':
			end := skipTo(code, i, ']')
			// [h] is an elapsed time; others are colours, conditions and currencies.
			if inner := strings.ToLower(strings.Trim(code[i:end], "[")); inner != "" && strings.Trim(inner, "hms") == "" {
				return style{}
			}
			i = end
		case 'd', 'D', 'm', 'M', 'y', 'Y', 'h', 'H', 's', 'S':
			s.date = true
		}
	}
	return s
}

func skipTo(s string, from int, end byte) int {
	if i := strings.IndexByte(s[from+1:], end); i >= 0 {
		return from + 1 + i
	}
	return len(s)
}

// copySheet writes the rows of the sheet as CSV. Empty rows between others are empty lines, so
// that rows keep their numbers.
func (b *book) copySheet(out *bufio.Writer) error {
	t, closer, err := b.open(b.sheet, maxSheet)
	if err != nil {
		return err
	}
	defer closer.Close()
	row := sheetRow{book: b}
	for {
		token, err := t.next()
		if err == io.EOF && t.depth == 0 && row.sheet {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "sheetData":
				row.sheet = true
			case "row":
				err = row.begin(e)
			case "c":
				err = row.cell(t, e)
			}
		case xml.EndElement:
			if e.Name.Local == "row" {
				err = row.write(out)
			}
		}
		if err != nil {
			return err
		}
	}
}

// sheetRow is the row of a sheet that is being read.
type sheetRow struct {
	book *book
	// sheet is true once the sheet has begun.
	sheet bool
	// number is that of the row, and written the last one that was written.
	number, written int
	cells           []string
	// next is the index of the column of a cell without a reference: behind the one before it.
	next int
	// width is the number of columns of the header.
	width int
}

func (r *sheetRow) begin(e xml.StartElement) error {
	next := r.number + 1
	if given := attr(e, "r"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < next || n > maxRow {
			return errXML
		}
		next = n
	}
	r.number, r.next, r.cells = next, 0, r.cells[:0]
	return nil
}

// cell reads a cell, whose element has begun.
func (r *sheetRow) cell(t *tokens, e xml.StartElement) error {
	at := r.next
	if given := attr(e, "r"); given != "" {
		if at = column(given); at < len(r.cells) || at >= maxColumn {
			return errXML
		}
	}
	r.next = at + 1
	kind, styled := attr(e, "t"), attr(e, "s")
	text, err := cellText(t)
	if err == nil {
		text, err = r.book.value(kind, styled, text)
	}
	if err != nil || text == "" {
		return err
	}
	if at >= importfile.MaxColumns {
		return core.Invalid("file", "has a value in column "+strconv.Itoa(at+1)+" of row "+strconv.Itoa(r.number)+"; a file may have "+strconv.Itoa(importfile.MaxColumns)+" columns")
	}
	for len(r.cells) < at {
		r.cells = append(r.cells, "")
	}
	r.cells = append(r.cells, text)
	return nil
}

// cellText returns the text of a cell as the file has it, up to the cell's end.
func cellText(t *tokens) (string, error) {
	var text []byte
	inside, found := false, false
	for {
		token, err := t.next()
		if err != nil {
			return "", err
		}
		switch e := token.(type) {
		case xml.StartElement:
			value := e.Name.Local == "v" || e.Name.Local == "is"
			if inside || value && found {
				return "", errXML
			}
			found = found || value
			if e.Name.Local == "is" {
				inline, err := t.text("is")
				if err != nil {
					return "", err
				}
				text = append(text, inline...)
				continue
			}
			inside = e.Name.Local == "v"
		case xml.EndElement:
			if e.Name.Local == "c" {
				return string(text), nil
			}
			inside = false
		case xml.CharData:
			if inside {
				if len(text)+len(e) > maxToken {
					return "", errBig
				}
				text = append(text, e...)
			}
		}
	}
}

// column returns the index of the column of a cell such as AB12, or -1.
func column(ref string) int {
	n := 0
	for i := range len(ref) {
		c := ref[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > maxColumn {
			return maxColumn
		}
	}
	return n - 1
}

// value returns the value of a cell as it is shown.
func (b *book) value(kind, styled, text string) (string, error) {
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil && text != "" {
			return "", errXML
		}
		shared, ok := b.texts.at(i)
		if !ok && text != "" {
			return "", errXML
		}
		return shared, nil
	case "b":
		if text == "" {
			return "", nil
		}
		return strconv.FormatBool(truth(text)), nil
	case "inlineStr", "e":
		return text, nil
	case "str":
		return unescape(text), nil
	case "d":
		return strings.TrimSuffix(text, "T00:00:00"), nil
	}
	var s style
	if i, err := strconv.Atoi(styled); err == nil && 0 <= i && i < len(b.styles) {
		s = b.styles[i]
	}
	return b.number(s, strings.TrimSpace(text)), nil
}

// number returns a number as Excel shows it, with 15 digits at most, or the date that it is.
func (b *book) number(s style, text string) string {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) || strings.Contains(text, "_") {
		return text
	}
	if !s.date && len(text) > 15 && strings.Trim(text, "0123456789") == "" {
		return text // an id with more digits than Excel keeps, which another program wrote
	}
	if s.date {
		if date, ok := dateOf(value, b.date1904); ok {
			return date
		}
	}
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'e', 14, 64), 64)
	shown := strconv.FormatFloat(value, 'f', -1, 64)
	if s.zeros > len(shown) && strings.Trim(shown, "0123456789") == "" {
		shown = strings.Repeat("0", s.zeros-len(shown)) + shown
	}
	return shown
}

// dateOf returns the date of a number of days, or the time of a part of a day.
func dateOf(days float64, from1904 bool) (string, bool) {
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case days < 0 || days >= 2_958_466: // the year 10000
		return "", false
	case from1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days >= 1 && days < 61:
		// Excel has a 29 February 1900.
		first = first.AddDate(0, 0, 1)
	}
	whole := math.Floor(days)
	seconds := int(math.Round((days - whole) * 86400))
	at := first.AddDate(0, 0, int(whole)).Add(time.Duration(seconds) * time.Second)
	switch {
	case days < 1 && !from1904 && seconds > 0:
		return at.Format(time.TimeOnly), true
	case seconds == 0:
		return at.Format(time.DateOnly), true
	}
	return at.Format("2006-01-02T15:04:05"), true
}

// write writes the row, unless it has no value.
func (r *sheetRow) write(out *bufio.Writer) error {
	if strings.TrimSpace(strings.Join(r.cells, "")) == "" {
		return nil
	}
	for r.written++; r.written < r.number; r.written++ {
		_ = out.WriteByte('\n') // a later error is the same
	}
	if r.width == 0 {
		r.width = len(r.cells)
	}
	for len(r.cells) < r.width {
		r.cells = append(r.cells, "")
	}
	for i, cell := range r.cells {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if strings.ContainsAny(cell, ",\"\r\n") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = out.WriteString(cell)
	}
	return out.WriteByte('\n')
}
