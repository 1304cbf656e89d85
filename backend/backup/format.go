// Package backup writes a database and the files of jobs to one stream, and
// brings them back.
//
// The stream is a tar file packed with gzip, so that it can be read without
// this program: kith.json says what it is; table/NAME/N.jsonl have the rows,
// each a line of JSON by the names of the columns; file/REF are the files of
// jobs; end.json, the last, counts what came and has the SHA-256 of it, so that
// a file that was cut or damaged is known, and a signature of that under the
// master key (HMAC-SHA256), so that a file that somebody changed is known.
package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"kith/backend/store/tabledb"
	"kith/core"
	"kith/core/auth"
)

// Format is the number of the form that this program writes and reads.
const Format = 1

// Kind says what an archive can be used for.
type Kind string

// The kinds of archives.
const (
	// Backup can be restored.
	Backup Kind = "backup"
	// Export is for its tenant to read: it has no secrets, and cannot be
	// restored.
	Export Kind = "export"
)

// Header is what an archive begins with.
type Header struct {
	Format int  `json:"format"`
	Kind   Kind `json:"kind"`
	// Kith is the version of the program that wrote it.
	Kith string `json:"kith"`
	// Time is when what it holds was so, in epoch milliseconds.
	Time core.Time `json:"time"`
	// Tenant is the one that it holds, empty when it holds all.
	Tenant core.TenantAlias `json:"tenant,omitempty"`
	// Tenants are those that it holds.
	Tenants []core.TenantAlias `json:"tenants"`
	// Schema are the migrations that made the tables.
	Schema []int `json:"schema"`
	// Tables are the names of the columns that rows have, by table.
	Tables map[string][]string `json:"tables"`
	Intake tabledb.Intake      `json:"intake"`
	// KeyCheck is CheckText under the master key; empty when none was at hand.
	KeyCheck string `json:"keyCheck,omitempty"`
	// MasterKey is there only when it was asked for.
	MasterKey string `json:"masterKey,omitempty"`
}

// Trailer is what an archive ends with.
type Trailer struct {
	// Rows are the numbers of rows, by table, also of tables without any.
	Rows map[string]int64 `json:"rows"`
	// Files is how many files it has.
	Files int64 `json:"files"`
	// SHA256 is over the name, the size and the content of all that came before,
	// in hex.
	SHA256 string `json:"sha256"`
	// Signature is SHA256 signed under the master key; empty when none was at hand.
	Signature string `json:"signature,omitempty"`
}

// SignedBy reports whether Signature was made by this signer: then the archive is
// as it was written by a holder of the master key. The trailer must come from a
// Reader, which has compared SHA256 with the content.
func (t Trailer) SignedBy(by auth.Signer) bool { return by.Verify(t.SHA256, t.Signature) }

// String says how much it was.
func (t Trailer) String() string {
	rows := int64(0)
	for _, n := range t.Rows {
		rows += n
	}
	return fmt.Sprintf("%d rows, %d files", rows, t.Files)
}

const (
	headerName  = "kith.json"
	trailerName = "end.json"
	tablePrefix = "table/"
	filePrefix  = "file/"
	// chunkBytes is how much of a table is written at a time.
	chunkBytes = 1 << 20
	// maxPart bounds what is read into memory at a time. A row may be larger
	// than a chunk.
	maxPart = 256 << 20
)

// Writer writes an archive. What it returned an error for is of no use.
type Writer struct {
	// Signer signs the archive; nil: it is not signed. Set it before Close.
	Signer  *auth.Signer
	zip     *gzip.Writer
	tar     *tar.Writer
	sum     hash.Hash
	time    time.Time
	trailer Trailer
	// table is what chunk has rows of, and n its number.
	table string
	chunk bytes.Buffer
	n     int
}

// NewWriter begins an archive.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	// The best speed: a backup is written while the database waits to drop what
	// the snapshot still sees.
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := &Writer{zip: zip, tar: tar.NewWriter(zip), sum: sha256.New(), time: time.UnixMilli(int64(h.Time)), trailer: Trailer{Rows: map[string]int64{}}}
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return nil, err
	}
	return w, w.part(headerName, int64(len(text)), bytes.NewReader(text))
}

// Table begins a table. Its rows follow.
func (w *Writer) Table(name string) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.table, w.n = name, 0
	w.trailer.Rows[name] = 0
	return nil
}

// Row adds a line to the table.
func (w *Writer) Row(line []byte) error {
	if w.chunk.Len() > 0 && w.chunk.Len()+len(line) >= chunkBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.chunk.Write(line)
	w.chunk.WriteByte('\n')
	w.trailer.Rows[w.table]++
	return nil
}

func (w *Writer) flush() error {
	if w.chunk.Len() == 0 {
		return nil
	}
	w.n++
	err := w.part(fmt.Sprintf("%s%s/%06d.jsonl", tablePrefix, w.table, w.n), int64(w.chunk.Len()), &w.chunk)
	w.chunk.Reset()
	return err
}

// File adds a file of exactly that many bytes.
func (w *Writer) File(ref core.FileRef, size int64, content io.Reader) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.trailer.Files++
	return w.part(filePrefix+string(ref), size, content)
}

// Close ends the archive. What it was written to stays open.
func (w *Writer) Close() (Trailer, error) {
	if err := w.flush(); err != nil {
		return w.trailer, err
	}
	w.trailer.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	if w.Signer != nil {
		w.trailer.Signature = w.Signer.Sign(w.trailer.SHA256)
	}
	text, err := json.MarshalIndent(w.trailer, "", "  ")
	if err == nil {
		err = w.part(trailerName, int64(len(text)), bytes.NewReader(text))
	}
	if err != nil {
		return w.trailer, err
	}
	return w.trailer, errors.Join(w.tar.Close(), w.zip.Close())
}

func (w *Writer) part(name string, size int64, content io.Reader) error {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.time, Format: tar.FormatPAX})
	if err != nil {
		return fmt.Errorf("archive: %s: %w", name, err)
	}
	sumHead(w.sum, name, size)
	n, err := io.Copy(io.MultiWriter(w.tar, w.sum), content)
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("archive: %s: %w", name, err)
	}
	return nil
}

// sumHead adds what is before the content of a part. A name without line breaks is
// what makes the sum unambiguous.
func sumHead(sum hash.Hash, name string, size int64) { fmt.Fprintf(sum, "%s\n%d\n", name, size) }

// Reader reads an archive.
type Reader struct {
	// Header is what it begins with.
	Header Header
	// Trailer is what it ends with, once Next has returned io.EOF.
	Trailer Trailer
	behind  *bufio.Reader
	zip     *gzip.Reader
	tar     *tar.Reader
	sum     hash.Hash
	found   Trailer
	part    io.Reader // the content of the last part
}

// Part is a piece of a table, or a file.
type Part struct {
	// Table is the table's name, and Rows are lines; both empty for a file.
	Table string
	Rows  []byte
	// File is the name of a file, and Content what it holds. It is to be read
	// before the next part.
	File    core.FileRef
	Content io.Reader
}

// NewReader begins to read. An archive of another format, or what is none, is
// refused.
func NewReader(from io.Reader) (*Reader, error) {
	behind := bufio.NewReaderSize(from, 64<<10)
	zip, err := gzip.NewReader(behind)
	if err != nil {
		return nil, damaged(err)
	}
	zip.Multistream(false)
	r := &Reader{behind: behind, zip: zip, tar: tar.NewReader(zip), sum: sha256.New(), found: Trailer{Rows: map[string]int64{}}}
	name, err := r.next()
	if err != nil {
		return nil, damaged(err)
	}
	if name != headerName {
		return nil, core.Invalid("file", "is no archive of Kith: it begins with "+name)
	}
	text, err := r.text()
	if err == nil {
		err = json.Unmarshal(text, &r.Header)
	}
	if err != nil {
		return nil, damaged(err)
	}
	if r.Header.Format != Format {
		return nil, core.Invalid("file", fmt.Sprintf("has the format %d, and this kith reads %d: it was written by kith %s", r.Header.Format, Format, r.Header.Kith))
	}
	return r, nil
}

// damaged is what is said of a file that does not come to its end as it was
// written.
func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &core.Error{Code: core.CodeInvalid, Field: "file", Message: "is cut or damaged, and nothing was restored from it", Err: err}
}

// Next returns the next part, or io.EOF when the archive has come to its end and
// all was as it was written.
func (r *Reader) Next() (Part, error) {
	name, err := r.next()
	if err != nil {
		return Part{}, damaged(err)
	}
	if ref, ok := strings.CutPrefix(name, filePrefix); ok {
		r.found.Files++
		return Part{File: core.FileRef(ref), Content: r.part}, nil
	}
	if name == trailerName {
		return Part{}, r.end()
	}
	table, _, ok := strings.Cut(strings.TrimPrefix(name, tablePrefix), "/")
	if !ok || !strings.HasPrefix(name, tablePrefix) {
		return Part{}, damaged(errors.New(name + " is not a part of an archive"))
	}
	rows, err := r.text()
	if err != nil {
		return Part{}, damaged(err)
	}
	r.found.Rows[table] += int64(bytes.Count(rows, []byte{'\n'}))
	return Part{Table: table, Rows: rows}, nil
}

// next goes to the next part, past what is left of the last one.
func (r *Reader) next() (string, error) {
	if r.part != nil {
		if _, err := io.Copy(io.Discard, r.part); err != nil {
			return "", err
		}
	}
	h, err := r.tar.Next()
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(h.Name, "\r\n") {
		return "", fmt.Errorf("%q is not the name of a part", h.Name)
	}
	r.part = r.tar
	if h.Name != trailerName {
		sumHead(r.sum, h.Name, h.Size)
		r.part = io.TeeReader(r.tar, r.sum)
	}
	return h.Name, nil
}

func (r *Reader) text() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.part, maxPart+1))
	if err == nil && len(text) > maxPart {
		err = errors.New("a part is larger than 256 MiB")
	}
	return text, err
}

func (r *Reader) end() error {
	text, err := r.text()
	if err == nil {
		err = json.Unmarshal(text, &r.Trailer)
	}
	if err != nil {
		return damaged(err)
	}
	if sum := hex.EncodeToString(r.sum.Sum(nil)); sum != r.Trailer.SHA256 {
		return damaged(errors.New("its SHA-256 is " + sum + ", and was " + r.Trailer.SHA256))
	}
	for table, n := range r.Trailer.Rows {
		if r.found.Rows[table] != n {
			return damaged(fmt.Errorf("it has %d rows of %s, and had %d", r.found.Rows[table], table, n))
		}
	}
	if r.found.Files != r.Trailer.Files {
		return damaged(fmt.Errorf("it has %d files, and had %d", r.found.Files, r.Trailer.Files))
	}
	_, err = r.tar.Next()
	if errors.Is(err, io.EOF) {
		// What gzip checks, it checks at its own end.
		_, err = r.zip.Read(make([]byte, 1))
	}
	if errors.Is(err, io.EOF) {
		_, err = r.behind.ReadByte()
	}
	if !errors.Is(err, io.EOF) {
		return damaged(errors.Join(errors.New("something is behind its end"), err))
	}
	return io.EOF
}
