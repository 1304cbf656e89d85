package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kith/backend/app/base"
	"kith/backend/app/jobs"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) exportRoutes() routes {
	return routes{
		tenantPath + "/export":               {"POST": a.keyed(operation.StartExport, created(with(bodyFor(wire.ParseExport), a.createExport)))},
		tenantPath + "/export/upload":        {"POST": a.keyed(operation.StartImport, a.upload)},
		tenantPath + "/export/history/list":  {"GET": a.keyed(operation.ReadExports, with((*call).page, a.exports))},
		tenantPath + "/export/{id}":          {"GET": a.keyed(operation.ReadExports, a.export)},
		tenantPath + "/export/{id}/download": {"GET": a.download},
	}
}

// createExport handles POST /export.
func (a *API) createExport(c *call, in job.Input) ([]byte, error) {
	return encode(a.wireExport)(a.Engine.Jobs.Create(c.Context(), c.tenant, in))
}

func (a *API) wireExport(j job.Job) []byte { return wire.Export(j, a.Engine.Now()) }

// exports handles GET /export/history/list.
func (a *API) exports(c *call, p base.Page) ([]byte, error) {
	found, total, err := a.Engine.Jobs.Exports(c.Context(), c.tenant, p)
	if err != nil {
		return nil, err
	}
	return wire.Exports(found, total, a.Engine.Now()), nil
}

// export handles GET /export/{id}.
func (a *API) export(c *call) ([]byte, error) {
	return encode(a.wireExport)(a.Engine.Jobs.Export(c.Context(), c.tenant, c.PathValue("id")))
}

// download handles GET /export/{id}/download: a file of an export or import, with the
// API key or a signed link. A key that does not permit exports gets 404 for the files of
// an export.
func (a *API) download(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	which, err := job.ParseAttachment("file", q.Get("file"))
	if err != nil {
		return err
	}
	caller, err := a.downloader(w, r, q, which)
	if err != nil {
		return err
	}
	j, err := a.Engine.Jobs.ByIDFor(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	if which == job.RejectedFile {
		form, err := a.Engine.Files.ReadAs(r.Context(), caller.Tenant.Alias, j.File)
		if err != nil {
			return err
		}
		name := jobs.RejectedName(j, form)
		return a.sendWritten(w, r, name, wire.FileType(name), func(to io.Writer) error {
			return a.Engine.Jobs.WriteRejected(r.Context(), caller.Tenant.Alias, j.ID, to)
		})
	}
	file, err := a.Engine.Jobs.Download(r.Context(), caller.Tenant.Alias, r.PathValue("id"), which)
	if err != nil {
		return err
	}
	part, some := partOf(r, file.Size)
	if !some && file.Size > maxWhole && FromEdge(r) {
		return &core.Error{Code: core.CodeTooLarge, Field: "Range", Message: fmt.Sprintf(
			"is required for this file through an edge: the file has %d bytes, and an edge sends at most %d at once; begin with the header Range: bytes=0-, or request the file from a backend", file.Size, maxWhole)}
	}
	body, err := file.Open(r.Context(), part.from)
	if err != nil {
		return err
	}
	defer body.Close()
	h := w.Header()
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Type", wire.FileType(file.Name))
	h.Set("Content-Disposition", `attachment; filename="`+file.Name+`"`)
	h.Set("Content-Length", strconv.FormatInt(part.until-part.from, 10))
	h.Set("Cache-Control", wire.CacheControl)
	if some {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.from, part.until-1, file.Size))
		w.WriteHeader(http.StatusPartialContent)
	}
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.CopyBuffer(stallWriter{w}, io.LimitReader(body, part.until-part.from), make([]byte, bufferSize)); err != nil {
		a.logDownload(r, err)
	}
	return nil
}

// logDownload logs why a download failed, unless its client disconnected.
func (a *API) logDownload(r *http.Request, err error) {
	if r.Context().Err() == nil {
		a.Log.Error("download failed", "id", r.Header.Get(core.RequestIDHeader), "route", r.Pattern, "tenant", r.PathValue("tenant"), "error", err)
	}
}

// An edge has each answer in memory. maxWhole is the size in bytes of the largest file that
// passes it at once, maxPart that of a part of a larger one.
const (
	maxWhole = 32 << 20
	maxPart  = 16 << 20
)

// part is the bytes of a file from an offset up to, but not including, another.
type part struct{ from, until int64 }

// partOf returns the part of a file of a size that a request asks for by the header Range. If
// it asks for none, or not for one part that begins inside the file, the part is the whole
// file, and some is false; a server may ignore such a header (RFC 9110, 14.2). Through an
// edge the answer has at most maxPart bytes, and Content-Range says which.
func partOf(r *http.Request, size int64) (p part, some bool) {
	whole := part{0, size}
	text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	if !ok || r.Method != http.MethodGet || r.Header.Get("If-Range") != "" {
		return whole, false
	}
	first, last, ok := strings.Cut(text, "-")
	from, err := strconv.ParseUint(first, 10, 62)
	if !ok || err != nil || int64(from) >= size {
		return whole, false
	}
	p = part{int64(from), size}
	if last != "" {
		end, err := strconv.ParseUint(last, 10, 62)
		if err != nil || end < from {
			return whole, false
		}
		p.until = min(size, int64(end)+1)
	}
	if FromEdge(r) {
		p.until = min(p.until, p.from+maxPart)
	}
	return p, true
}

// downloader returns the caller that fetches a file, who has an API key or a signed link
// to the file.
func (a *API) downloader(w http.ResponseWriter, r *http.Request, q url.Values, which job.Attachment) (c base.Caller, err error) {
	signature := q.Get("signature")
	if signature == "" {
		return a.keyHolder(w, r, operation.DownloadFile)
	}
	if c.Tenant.Alias, err = core.ParseTenantAlias(r.PathValue("tenant")); err != nil {
		return c, err
	}
	expires, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	if err != nil {
		return c, core.Invalid("expires", "must be the number in the link; use the link unchanged")
	}
	link := auth.Download{Job: r.PathValue("id"), File: string(which), Expires: core.Time(expires)}
	return c, a.Engine.Files.CheckLink(c.Tenant.Alias, link, signature)
}

// stallTimeout is how long an upload or a download may make no progress. Other requests
// have a timeout for the whole request; the time that a file takes depends on its size.
const stallTimeout = 30 * time.Second

// bufferSize is the bytes of a download that are sent at once.
const bufferSize = 64 << 10

// stallWriter writes the parts of a file. A part fails if the client accepts nothing for
// stallTimeout.
type stallWriter struct{ http.ResponseWriter }

// Write writes a part.
func (s stallWriter) Write(b []byte) (int, error) {
	// The error is ignored: a writer without deadlines has no timeout.
	_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(time.Now().Add(stallTimeout))
	return s.ResponseWriter.Write(b)
}

// sendWritten answers with a file that write writes. If write fails before the first part
// was sent, it returns the error. After a later error it closes the connection, so that the
// client does not take the file for complete.
func (a *API) sendWritten(w http.ResponseWriter, r *http.Request, name, kind string, write func(io.Writer) error) error {
	to := &writtenFile{w: w, r: r, name: name, kind: kind}
	out := bufio.NewWriterSize(to, bufferSize)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		to.begin() // also an empty file
		return nil
	case !to.begun:
		return err
	}
	a.logDownload(r, err)
	panic(http.ErrAbortHandler)
}

// writtenFile sends a file while it is written. Its headers are sent with the first part.
type writtenFile struct {
	w          http.ResponseWriter
	r          *http.Request
	name, kind string
	begun      bool
}

func (f *writtenFile) begin() {
	if f.begun {
		return
	}
	f.begun = true
	h := f.w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
	h.Set("Cache-Control", wire.CacheControl)
	f.w.WriteHeader(http.StatusOK)
}

// Write sends a part.
func (f *writtenFile) Write(b []byte) (int, error) {
	f.begin()
	if f.r.Method == http.MethodHead {
		return len(b), nil
	}
	return stallWriter{f.w}.Write(b)
}
