package app_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/jobs"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/core"
	"kith/core/job"
)

// noRoom is the error of a file beyond a quota.
func noRoom(bytes int) error {
	return &core.Error{Code: core.CodeConflict, Field: "file", Message: fmt.Sprintf("exceeds the %d bytes that the files of a tenant may have; "+
		"remove imports and exports, wait until files expire, or ask the operator to raise KITH_MAX_STORAGE", bytes)}
}

// countingStore counts the bytes that it has, and the most that it had.
type countingStore struct {
	file.Store
	held, most atomic.Int64
}

type countingWriter struct {
	file.Writer
	store  *countingStore
	size   int64
	closed bool
}

func (s *countingStore) Create(ctx context.Context, ref core.FileRef) (file.Writer, error) {
	to, err := s.Store.Create(ctx, ref)
	return &countingWriter{Writer: to, store: s}, err
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.size += int64(len(p))
	held := w.store.held.Add(int64(len(p)))
	for most := w.store.most.Load(); held > most && !w.store.most.CompareAndSwap(most, held); {
		most = w.store.most.Load()
	}
	return w.Writer.Write(p)
}

func (w *countingWriter) Close() error {
	w.closed = true
	return w.Writer.Close()
}

func (w *countingWriter) Abort() {
	if !w.closed {
		w.closed = true
		w.store.held.Add(-w.size)
	}
	w.Writer.Abort()
}

// Uploads at the same time never exceed the storage of a tenant, whether their sizes are known
// or not, and one that is refused leaves nothing.
func TestUpload_StorageIsBounded(t *testing.T) {
	const size, fit, senders = 40_000, 10, 64
	everywhere(t, func(t *testing.T, b bundle) {
		for name, body := range map[string]func() io.Reader{
			"known":   func() io.Reader { return strings.NewReader(strings.Repeat("x", size)) },
			"unknown": func() io.Reader { return io.LimitReader(strings.NewReader(strings.Repeat("x", size)), size) },
		} {
			dir := t.TempDir()
			stored := &countingStore{Store: file.Dir(dir)}
			b.Files.Store, b.Files.MaxStorage = stored, size*fit+1
			var accepted atomic.Int64
			var all sync.WaitGroup
			for range senders {
				all.Go(func() {
					_, err := b.Files.Upload(t.Context(), b.tenant, "a.csv", body())
					if err == nil {
						accepted.Add(1)
					} else if want := noRoom(size*fit + 1); err.Error() != want.Error() || !base.IsConflict(err) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if name == "known" {
				require.EqualValues(t, fit, accepted.Load())
			}
			require.Positive(t, accepted.Load(), name)
			require.LessOrEqual(t, stored.most.Load(), b.Files.MaxStorage, name)
			require.Equal(t, accepted.Load()*size, stored.held.Load(), name)
			held, err := jobdb.StoredBytes(t.Context(), b.DB.Reads, b.tenant, b.Now())
			require.NoError(t, err)
			require.Equal(t, stored.held.Load(), held, "nothing stays reserved")
			require.EqualValues(t, accepted.Load(), filesIn(t, dir), name)
			b.pass(core.Day)
		}
	})
}

// filesIn returns the number of files in a folder and those below it.
func filesIn(t *testing.T, dir string) (n int) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	}))
	return n
}

func TestUpload_UnusedFilesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.imported(t, job.ImportUser, "used.csv", userRows(0, 1), "{}")
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
		for i := range jobs.MaxUnused - 1 {
			ok, err := jobdb.InsertFile(t.Context(), tx, jobdb.File{Tenant: b.tenant, Ref: core.FileRef(fmt.Sprint("imports/", b.tenant, "/", i)), Expires: tx.Now + core.Day}, jobdb.Quota{Bytes: 1e6})
			require.True(t, ok)
			require.NoError(t, err)
		}
		return nil
	}))
	b.upload(t, "a.csv", "id\n")
	_, err := b.Files.Upload(t.Context(), b.tenant, "a.csv", strings.NewReader("id\n"))
	require.EqualError(t, err, "file: 1000 files wait for an import; import them, or wait until they are removed a day after their upload")
	_, err = b.Files.AddPiece(t.Context(), b.tenant, strings.NewReader("id\n"))
	require.NoError(t, err, "pieces have a limit of their own")
	b.pass(core.Day)
	b.upload(t, "a.csv", "id\n")
}

// An upload that no job reads is kept for a day. A job keeps it, until the last job that read
// it is removed.
func TestUpload_IsKeptByItsJobs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	unused := b.upload(t, "a.csv", userRows(0, 1))
	done := b.imported(t, job.ImportUser, "a.csv", userRows(0, 1), "{}")
	in := b.jobInput(job.ImportUser, "{}")
	in.File = done.File
	again := b.create(t, in)
	b.pass(core.Day)
	b.removeOldFiles(t)
	in.File = unused
	_, err := b.Jobs.Create(t.Context(), b.tenant, in)
	require.EqualError(t, err, "fileRef: there is no such file; an upload that no job reads is kept for a day")
	for _, j := range []job.Job{done, again} {
		require.Len(t, b.rows(t, j.ID, job.SourceFile), 2)
		_, err = b.Jobs.Delete(t.Context(), b.tenant, j.ID)
		require.NoError(t, err)
	}
	held, err := jobdb.StoredBytes(t.Context(), b.DB.Reads, b.tenant, b.Now())
	require.NoError(t, err)
	require.Zero(t, held)
}

// Without room, an export is aborted. An import applies its rows, and its files have as many
// as fit.
func TestJobs_WithoutRoom(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	in := b.jobInput(job.ImportUser, "{}")
	in.File = b.upload(t, "a.csv", userRows(0, 3))
	b.Files.MaxStorage = int64(len(userRows(0, 3)))
	export := b.create(t, b.jobInput(job.User, "{}"))
	require.Equal(t, job.Aborted, export.Status)
	require.Equal(t, noRoom(int(b.Files.MaxStorage)).Error(), export.Message)
	made := b.create(t, in)
	require.Equal(t, job.Completed, made.Status)
	require.Equal(t, job.Stats{Processed: 3}, made.Stats)
	require.Contains(t, made.Message, "the result file ends after 0 bytes of rows; all rows were processed. The files of the tenant may have ")
	require.Len(t, b.rows(t, made.ID, job.ResultFile), 1)
	_, err := b.Files.Upload(t.Context(), b.tenant, "a.csv", strings.NewReader("x"))
	require.Equal(t, noRoom(int(b.Files.MaxStorage)), err)
	_, err = b.Jobs.Delete(t.Context(), b.tenant, made.ID)
	require.NoError(t, err)
	b.upload(t, "a.csv", "x")
}
