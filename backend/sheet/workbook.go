package sheet

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/importfile"
)

// Limits of a workbook.
const (
	// maxPacked is the most bytes of the file, and maxDirectory those of its list of parts.
	maxPacked    = 64 << 20
	maxDirectory = 1 << 20
	// maxSheet is the most bytes of a sheet, maxTexts those of the shared texts and maxPart
	// those of another part, all unpacked.
	maxSheet = 256 << 20
	maxTexts = 128 << 20
	maxPart  = 8 << 20
	// maxShared is the number of shared texts at most, and maxToken the most bytes of a text or
	// of a tag.
	maxShared = 4 << 20
	maxDepth  = 64
	maxToken  = 256 << 10
	// maxRow and maxColumn are those of Excel.
	maxRow, maxColumn = 1 << 20, 1 << 14
)

// slots bounds the memory that workbooks need together.
var slots = make(chan struct{}, 2)

// workbook reports whether a file begins like a workbook, or another ZIP archive. A form of
// Excel's that cannot be read is an error.
func workbook(beginning []byte) (bool, error) {
	if bytes.HasPrefix(beginning, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) {
		if bytes.Contains(beginning, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00")) {
			return false, errPassword
		}
		return false, core.Invalid("file", "is an old workbook (.xls), or one with a password; in Excel, save it as .xlsx without a password, and upload that file")
	}
	return bytes.HasPrefix(beginning, []byte("PK\x03\x04")), nil
}

var (
	errPassword = core.Invalid("file", "is a workbook with a password; remove the password in Excel, save it and upload it again")
	errDamaged  = core.Invalid("file", "is a workbook that is incomplete or damaged; save it again in Excel and upload it")
	errBig      = &core.Error{Code: core.CodeTooLarge, Field: "file", Message: "is too large for a workbook; save its sheet as CSV UTF-8 and upload that file"}
)

// copyWorkbook writes the first visible sheet of a workbook as CSV.
func copyWorkbook(to io.Writer, in io.Reader) (d importfile.Dialect, err error) {
	// The list of a ZIP archive is at its end.
	spool, err := os.CreateTemp("", "kith-workbook-*")
	if err != nil {
		return d, err
	}
	defer spool.Close()
	// Nothing is left if the process ends.
	if err := os.Remove(spool.Name()); err != nil {
		return d, err
	}
	size, err := io.Copy(spool, io.LimitReader(in, maxPacked+1))
	switch {
	case err != nil:
		return d, err
	case size > maxPacked:
		return d, errBig
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	b, err := openBook(spool, size)
	if err == nil {
		out := bufio.NewWriterSize(to, sniffed)
		if err = b.copySheet(out); err == nil {
			err = out.Flush()
		}
	}
	if isDamage(err) {
		err = errDamaged
	}
	return importfile.Dialect{Encoding: importfile.Excel, Sheet: b.name}, err
}

// isDamage reports whether an error of reading a workbook is about its content.
func isDamage(err error) bool {
	var syntax *xml.SyntaxError
	var number *strconv.NumError
	var packed flate.CorruptInputError
	return errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, errXML) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &syntax) || errors.As(err, &number) || errors.As(err, &packed)
}

// errXML is the error of a part that is not as the format requires.
var errXML = errors.New("sheet: unexpected XML")

// book is an open workbook.
type book struct {
	parts map[string]*zip.File
	// name and sheet are the name and the part of the first visible sheet.
	name, sheet string
	date1904    bool
	styles      []style
	texts       texts
}

// budget limits the bytes that are read of a file.
type budget struct {
	io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errBig
	}
	return b.ReaderAt.ReadAt(p, at)
}

func openBook(from io.ReaderAt, size int64) (*book, error) {
	b := &book{parts: map[string]*zip.File{}}
	limit := &budget{from, maxDirectory}
	archive, err := zip.NewReader(limit, size)
	if err != nil {
		return b, err
	}
	limit.left = 1 << 62
	for _, f := range archive.File {
		if f.Flags&1 != 0 {
			return b, errPassword
		}
		b.parts[f.Name] = f
	}
	main, err := b.main()
	if err != nil {
		return b, err
	}
	if err := b.readBook(main); err != nil {
		return b, err
	}
	related, err := b.related(main)
	if err != nil {
		return b, err
	}
	if part := related["styles"]; b.parts[part] != nil {
		if b.styles, err = b.readStyles(part); err != nil {
			return b, err
		}
	}
	if part := related["sharedStrings"]; b.parts[part] != nil {
		b.texts, err = b.readTexts(part)
	}
	return b, err
}

// main returns the name of the part that lists the sheets.
func (b *book) main() (string, error) {
	kinds, err := b.related("")
	main := kinds["officeDocument"]
	switch {
	case err == nil && b.parts[main] != nil && strings.HasSuffix(main, ".xml") && strings.Contains(main, "workbook"):
		return main, nil
	case b.parts["xl/workbook.bin"] != nil:
		return "", core.Invalid("file", "is a binary workbook (.xlsb); in Excel, save it as .xlsx and upload that file")
	case b.parts["mimetype"] != nil && b.parts["content.xml"] != nil:
		return "", core.Invalid("file", "is an OpenDocument file; save it as .xlsx or CSV and upload that file")
	}
	return "", core.Invalid("file", "is an archive and no workbook; unpack it, and upload the file in it")
}

// open returns the tokens of a part.
func (b *book) open(part string, limit int64) (*tokens, io.Closer, error) {
	f := b.parts[part]
	if f == nil {
		return nil, nil, errXML
	}
	in, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	return newTokens(in, limit), in, nil
}

// each calls take for each start of an element of a part.
func (b *book) each(part string, limit int64, take func(t *tokens, e xml.StartElement) error) error {
	t, closer, err := b.open(part, limit)
	if err != nil {
		return err
	}
	defer closer.Close()
	for {
		token, err := t.next()
		if err == io.EOF && t.depth == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if e, ok := token.(xml.StartElement); ok {
			if err := take(t, e); err != nil {
				return err
			}
		}
	}
}

// related returns the parts to which another one refers by the last word of their kind, and by
// their id. The part "" is the archive itself.
func (b *book) related(part string) (map[string]string, error) {
	folder, name := path.Split(part)
	all := map[string]string{}
	err := b.each(folder+"_rels/"+name+".rels", maxPart, func(_ *tokens, e xml.StartElement) error {
		if e.Name.Local != "Relationship" || attr(e, "TargetMode") == "External" {
			return nil
		}
		target := attr(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = folder + target
		}
		target = strings.TrimPrefix(path.Clean(target), "/")
		all["#"+attr(e, "Id")] = target
		kind := attr(e, "Type")
		all[kind[strings.LastIndexByte(kind, '/')+1:]] = target
		return nil
	})
	return all, err
}

// readBook finds the first visible sheet.
func (b *book) readBook(main string) error {
	related, err := b.related(main)
	if err != nil {
		return err
	}
	err = b.each(main, maxPart, func(_ *tokens, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			b.date1904 = truth(attr(e, "date1904"))
		case "sheet":
			part := related["#"+attr(e, "id")]
			if state := attr(e, "state"); b.sheet == "" && (state == "" || state == "visible") && !strings.Contains(part, "chartsheets/") {
				b.sheet, b.name = part, shortName(attr(e, "name"))
			}
		}
		return nil
	})
	if err == nil && b.sheet == "" {
		err = core.Invalid("file", "is a workbook without a visible sheet")
	}
	return err
}

// shortName returns the name of a sheet, which Excel limits to 31 letters, without line ends.
func shortName(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	if len(name) > 4*31 {
		name = strings.ToValidUTF8(name[:4*31], "")
	}
	return name
}

func truth(s string) bool { return s == "1" || s == "true" }

// attr returns an attribute by the local part of its name.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// tokens reads the tokens of a part. A text or a tag above maxToken, a DTD and bytes above the
// limit of the part are errors.
type tokens struct {
	*xml.Decoder
	from  io.Reader
	left  int64
	token int64
	// open are the names of the elements that have begun.
	open  []string
	depth int
}

func newTokens(from io.Reader, limit int64) *tokens {
	t := &tokens{from: from, left: limit}
	t.Decoder = xml.NewDecoder(bufio.NewReaderSize(t, 16<<10))
	t.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errXML }
	return t
}

func (t *tokens) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	t.left -= int64(n)
	t.token -= int64(n)
	if t.left < 0 || t.token < 0 {
		return 0, errBig
	}
	return n, err
}

// next returns the next token. It is valid until the next call.
func (t *tokens) next() (xml.Token, error) {
	t.token = maxToken
	token, err := t.RawToken()
	switch e := token.(type) {
	case xml.StartElement:
		if t.open = append(t.open, e.Name.Local); len(t.open) > maxDepth {
			return nil, errXML
		}
		t.depth++
	case xml.EndElement:
		if t.depth--; t.depth < 0 || t.open[t.depth] != e.Name.Local {
			return nil, errXML
		}
		t.open = t.open[:t.depth]
	case xml.Directive:
		return nil, core.Invalid("file", "is a workbook with a document type, which Excel does not write; save it again in Excel")
	}
	return token, err
}
