// Package backup writes a database and the files of jobs to one archive, and restores
// them from it.
//
// An archive is a tar file compressed with gzip, so that it can be read without this
// program, after age has decrypted it if it is encrypted:
//
//   - kith.json is the header;
//   - table/NAME/N.jsonl has rows, each a JSON object by column name;
//   - file/REF is a file of a job;
//   - end.json is the trailer. It has the number of rows and files and the SHA-256 of
//     everything before it, which shows truncation and damage, and a signature of that
//     sum under the master key (HMAC-SHA256), which shows changes.
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

	"filippo.io/age"

	"kith/backend/store/tabledb"
	"kith/core"
	"kith/core/auth"
)

// Format is the version of the archive format that this program writes and reads.
const Format = 1

// Kind is the purpose of an archive.
type Kind string

// The kinds of archives.
const (
	// Backup can be restored.
	Backup Kind = "backup"
	// Export is for the tenant's own use: it has no secrets and cannot be restored.
	Export Kind = "export"
)

// Header is the beginning of an archive.
type Header struct {
	Format int  `json:"format"`
	Kind   Kind `json:"kind"`
	// Kith is the version of the program that wrote it.
	Kith string `json:"kith"`
	// Time is the time of the archived state, in epoch milliseconds.
	Time core.Time `json:"time"`
	// Tenant is the one archived tenant, empty if all tenants are archived.
	Tenant core.TenantAlias `json:"tenant,omitempty"`
	// Tenants are the archived tenants.
	Tenants []core.TenantAlias `json:"tenants"`
	// Schema are the numbers of the migrations that made the tables.
	Schema []int `json:"schema"`
	// Tables are the names of the archived columns, by table.
	Tables map[string][]string    `json:"tables"`
	Intake tabledb.IntakePosition `json:"intake"`
	// KeyCheck is a known text sealed under the master key; empty without a key.
	KeyCheck string `json:"keyCheck,omitempty"`
	// MasterKey is the master key, if the caller asked to include it.
	MasterKey string `json:"masterKey,omitempty"`
}

// Trailer is the end of an archive.
type Trailer struct {
	// Rows are the numbers of rows, by table. Empty tables have 0.
	Rows map[string]int64 `json:"rows"`
	// Files is the number of files.
	Files int64 `json:"files"`
	// SHA256 is the sum of the names, sizes and contents of all entries before the
	// trailer, in hex.
	SHA256 string `json:"sha256"`
	// Signature is the signature of SHA256 under the master key; empty without a key.
	Signature string `json:"signature,omitempty"`
}

// SignedBy reports whether Signature was made by this signer. If so, the archive is
// unchanged since it was written with the master key. The trailer must come from a
// Reader, which has compared SHA256 with the content.
func (t Trailer) SignedBy(by auth.Signer) bool { return by.Verify(t.SHA256, t.Signature) }

// String returns the number of rows and of files.
func (t Trailer) String() string {
	rows := int64(0)
	for _, n := range t.Rows {
		rows += n
	}
	return count(rows, "row") + ", " + count(t.Files, "file")
}

func count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

const (
	headerName  = "kith.json"
	trailerName = "end.json"
	tablePrefix = "table/"
	filePrefix  = "file/"
	// chunkBytes is the size of the entries of a table, in bytes.
	chunkBytes = 1 << 20
	// maxEntry bounds an entry that is read into memory. A row may be larger than
	// chunkBytes.
	maxEntry = 256 << 20
	// readBytes is the size of the buffers of a Reader.
	readBytes = 64 << 10
)

// Writer writes an archive. After an error the archive is not usable.
type Writer struct {
	// Signer signs the archive; nil leaves it unsigned. Set it before Close.
	Signer  *auth.Signer
	zip     *gzip.Writer
	tar     *tar.Writer
	sum     hash.Hash
	time    time.Time
	trailer Trailer
	// table is the current table, chunk its rows that are not written yet, and n the
	// number of its entries so far.
	table string
	chunk bytes.Buffer
	n     int
}

// NewWriter begins an archive.
func NewWriter(to io.Writer, h Header) (*Writer, error) {
	// The fastest level: while the backup is written, the database keeps every row
	// version that the snapshot sees.
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := &Writer{zip: zip, tar: tar.NewWriter(zip), sum: sha256.New(), time: time.UnixMilli(int64(h.Time)), trailer: Trailer{Rows: map[string]int64{}}}
	text, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return nil, err
	}
	return w, w.writeEntry(headerName, int64(len(text)), bytes.NewReader(text))
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

// Row adds a row, a JSON object on one line, to the table.
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
	err := w.writeEntry(fmt.Sprintf("%s%s/%06d.jsonl", tablePrefix, w.table, w.n), int64(w.chunk.Len()), &w.chunk)
	w.chunk.Reset()
	return err
}

// File adds a file, whose content must have exactly size bytes.
func (w *Writer) File(ref core.FileRef, size int64, content io.Reader) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.trailer.Files++
	return w.writeEntry(filePrefix+string(ref), size, content)
}

// Close ends the archive. It does not close the underlying writer.
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
		err = w.writeEntry(trailerName, int64(len(text)), bytes.NewReader(text))
	}
	if err != nil {
		return w.trailer, err
	}
	return w.trailer, errors.Join(w.tar.Close(), w.zip.Close())
}

func (w *Writer) writeEntry(name string, size int64, content io.Reader) error {
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

// sumHead adds the name and the size of an entry to the sum. The sum is unambiguous
// because a name has no line breaks.
func sumHead(sum hash.Hash, name string, size int64) { fmt.Fprintf(sum, "%s\n%d\n", name, size) }

// Reader reads an archive.
type Reader struct {
	// Header is the header of the archive.
	Header Header
	// Trailer is the trailer of the archive, once Next has returned io.EOF.
	Trailer Trailer
	input   *bufio.Reader
	zip     *gzip.Reader
	tar     *tar.Reader
	sum     hash.Hash
	found   Trailer
	entry   io.Reader // the content of the last entry
}

// Entry is a chunk of a table, or a file.
type Entry struct {
	// Table is the table's name, and Rows has one JSON object per line; both are
	// empty for a file.
	Table string
	Rows  []byte
	// File is the name of a file, and Content its content, which must be read before
	// the next call of Next.
	File    core.FileRef
	Content io.Reader
}

// NewReader reads the header of an archive, which identities decrypt if it is encrypted. It
// refuses an archive of another format and any other file.
func NewReader(from io.Reader, identities ...age.Identity) (*Reader, error) {
	input, err := decrypted(bufio.NewReaderSize(from, readBytes), identities)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(input)
	if err != nil {
		return nil, damaged(err)
	}
	zip.Multistream(false)
	r := &Reader{input: input, zip: zip, tar: tar.NewReader(zip), sum: sha256.New(), found: Trailer{Rows: map[string]int64{}}}
	name, err := r.next()
	if err != nil {
		return nil, damaged(err)
	}
	if name != headerName {
		return nil, core.Invalid("file", "is not an archive of Kith: it begins with "+name)
	}
	text, err := r.text()
	if err == nil {
		err = json.Unmarshal(text, &r.Header)
	}
	if err != nil {
		return nil, damaged(err)
	}
	if r.Header.Format != Format {
		return nil, core.Invalid("file", fmt.Sprintf("has format %d, but this version of kith reads format %d; use kith %s, which wrote it", r.Header.Format, Format, r.Header.Kith))
	}
	return r, nil
}

// damaged returns the error for a file that is truncated or changed.
func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &core.Error{Code: core.CodeInvalid, Field: "file", Message: "is truncated or damaged; use another copy", Err: err}
}

// Next returns the next entry, or io.EOF at the end of the archive, after it has
// verified the sum and the counts.
func (r *Reader) Next() (Entry, error) {
	name, err := r.next()
	if err != nil {
		return Entry{}, damaged(err)
	}
	if ref, ok := strings.CutPrefix(name, filePrefix); ok {
		r.found.Files++
		return Entry{File: core.FileRef(ref), Content: r.entry}, nil
	}
	if name == trailerName {
		return Entry{}, r.end()
	}
	table, _, ok := strings.Cut(strings.TrimPrefix(name, tablePrefix), "/")
	if !ok || !strings.HasPrefix(name, tablePrefix) {
		return Entry{}, damaged(errors.New(name + " is not an entry of an archive"))
	}
	rows, err := r.text()
	if err != nil {
		return Entry{}, damaged(err)
	}
	r.found.Rows[table] += int64(bytes.Count(rows, []byte{'\n'}))
	return Entry{Table: table, Rows: rows}, nil
}

// next skips the rest of the last entry and goes to the next.
func (r *Reader) next() (string, error) {
	if r.entry != nil {
		if _, err := io.Copy(io.Discard, r.entry); err != nil {
			return "", err
		}
	}
	h, err := r.tar.Next()
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(h.Name, "\r\n") {
		return "", fmt.Errorf("%q is not the name of an entry", h.Name)
	}
	r.entry = r.tar
	if h.Name != trailerName {
		sumHead(r.sum, h.Name, h.Size)
		r.entry = io.TeeReader(r.tar, r.sum)
	}
	return h.Name, nil
}

func (r *Reader) text() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.entry, maxEntry+1))
	if err == nil && len(text) > maxEntry {
		err = errors.New("an entry is larger than 256 MiB")
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
		return damaged(errors.New("its SHA-256 is " + sum + ", not " + r.Trailer.SHA256))
	}
	for table, n := range r.Trailer.Rows {
		if r.found.Rows[table] != n {
			return damaged(fmt.Errorf("it has %d rows of %s, not %d", r.found.Rows[table], table, n))
		}
	}
	if r.found.Files != r.Trailer.Files {
		return damaged(fmt.Errorf("it has %d files, not %d", r.found.Files, r.Trailer.Files))
	}
	_, err = r.tar.Next()
	if errors.Is(err, io.EOF) {
		// gzip compares its checksum when it reads its end.
		_, err = r.zip.Read(make([]byte, 1))
	}
	if errors.Is(err, io.EOF) {
		_, err = r.input.ReadByte()
	}
	switch {
	case err == nil:
		return damaged(errors.New("it has data after its end"))
	case !errors.Is(err, io.EOF):
		return damaged(err)
	}
	return io.EOF
}
