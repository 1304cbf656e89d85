package files

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strconv"

	"kith/backend/app/jobs"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/wire"
)

// pageSize is the number of jobs on a page of the history, and maxPages the number of its
// pages: jobs are listed for 56 days.
const (
	pageSize = 25
	maxPages = 1000
)

// history is the data of the list of imports and exports.
type history struct {
	*frame.Form
	Jobs  []shownJob
	Kinds []frame.Option
	// States are the options of the filter by state.
	States []frame.Option
	// Filtered is true if the filter selects. MayExport and MaySFTP say what else the role
	// may open.
	Filtered, MayExport, MaySFTP bool
	Total                        int
	frame.Links
}

// shownJob is a job as the pages show it.
type shownJob struct {
	job.Job
	job.Progress
	now core.Time
}

// State returns the state of a job in a word or two.
func (j shownJob) State() string {
	switch {
	case j.Status == job.Aborted:
		return "Failed"
	case j.Status == job.Completed && j.Stats.Errors > 0:
		return "Done, rows rejected"
	case j.Status == job.Completed:
		return "Done"
	case j.Stopping():
		return "Stopping"
	case j.Started == 0:
		return "Waiting"
	case j.Type.Import() && j.Total == 0:
		return "Reading the file"
	}
	return "Running"
}

// Tone returns how a state is coloured: good, bad, or "".
func (j shownJob) Tone() string {
	switch {
	case j.Status == job.Aborted, j.Stats.Errors > 0:
		return "bad"
	case j.Status == job.Completed:
		return "good"
	}
	return ""
}

// Pending reports whether the job waits or runs.
func (j shownJob) Pending() bool { return j.Status == job.Pending }

// Good is the number of rows that were not rejected.
func (j shownJob) Good() int64 { return j.Stats.Processed - j.Stats.Errors }

// Took is how long a job that has ended took.
func (j shownJob) Took() core.Time {
	if j.Started == 0 {
		return j.Completed - j.Created
	}
	return j.Completed - j.Started
}

// Kept reports whether the files of the job are kept.
func (j shownJob) Kept() bool { return !j.Gone(j.now) }

func historyPage(v *frame.Visit) error {
	f := v.NewForm()
	filter := job.Filter{Limit: pageSize, Operation: f.Value("kind")}
	switch f.Value("state") {
	case "running":
		filter.Statuses = []job.Status{job.Pending}
	case "done":
		filter.Statuses = []job.Status{job.Completed}
	case "failed":
		filter.Statuses = []job.Status{job.Aborted}
	}
	page, err := strconv.Atoi(f.Value("page"))
	if err != nil || page < 1 || page > maxPages {
		page = 1
	}
	filter.Offset = (page - 1) * pageSize
	all, total, err := v.Engine.Admin.Files.List(v.Ctx(), v.Caller, filter)
	if err != nil {
		return err
	}
	data := history{
		Form: f, Total: total, Filtered: filter.Operation != "" || filter.Statuses != nil,
		Kinds:     frame.OptionsOf(f.Value("kind"), "", "imports and exports", job.Mutation, "imports", job.Query, "exports"),
		States:    frame.OptionsOf(f.Value("state"), "", "any state", "running", "waiting or running", "done", "done", "failed", "failed"),
		MayExport: v.May(operation.StartExport), MaySFTP: v.May(operation.ReadIntegrations),
	}
	for _, j := range all {
		data.Jobs = append(data.Jobs, shown(v, j))
	}
	var next int64
	if page*pageSize < total && page < maxPages {
		next = int64(page) + 1
	}
	data.Links = frame.LinksOf(v, "page", next, page == 1)
	return v.Page(http.StatusOK, "history", "Imports and exports", data)
}

func shown(v *frame.Visit, j job.Job) shownJob {
	now := v.Engine.Now()
	return shownJob{Job: j, Progress: j.Progress(now), now: now}
}

// jobDetails is the data of the page of a job.
type jobDetails struct {
	shownJob
	Kind kind
	// Rejected has the first rejected rows.
	Rejected []importfile.Problem
	// Again is the path of the page on which a corrected file is chosen.
	Again string
	// Sizes are the bytes of the files that can be downloaded.
	Sizes map[job.Attachment]int64
}

// maxAtOnce is the size of a file above which the page's script fetches it in parts. An edge
// has each answer in memory, and sends 32 MiB at most.
const maxAtOnce = 24 << 20

// Size returns the bytes of a file.
func (d jobDetails) Size(which job.Attachment) int64 { return d.Sizes[which] }

// Large reports whether a file is fetched in parts.
func (d jobDetails) Large(which job.Attachment) bool { return d.Sizes[which] > maxAtOnce }

// SomeLarge reports whether one of the files is fetched in parts.
func (d jobDetails) SomeLarge() bool {
	return d.Large(job.ResultFile) || d.Large(job.ErrorsFile) || d.Large(job.SourceFile)
}

// sizes returns the sizes of the files of a job. A file that is not kept any more has none.
func sizes(v *frame.Visit, j job.Job) (map[job.Attachment]int64, error) {
	all := map[job.Attachment]int64{}
	for which, ref := range map[job.Attachment]core.FileRef{job.ResultFile: j.Result, job.ErrorsFile: j.Errors, job.SourceFile: j.File} {
		if ref == "" {
			continue
		}
		size, complete, err := v.Engine.Files.Stored(v.Ctx(), v.Caller.Tenant, ref)
		var gone *core.Error
		switch {
		case err == nil && complete:
			all[which] = size
		case err != nil && !errors.As(err, &gone):
			return nil, err
		}
	}
	return all, nil
}

func jobPage(v *frame.Visit) error {
	j, err := v.Engine.Admin.Files.Job(v.Ctx(), v.Caller, v.R.PathValue("job"))
	if err != nil {
		return err
	}
	data := jobDetails{shownJob: shown(v, j), Kind: kindOf(j.Type), Again: v.SectionPath() + "/import?type=" + j.Type.Task()}
	if v.R.Header.Get("HX-Request") != "" && !data.Pending() {
		// The page polls while the job runs. Now it shows the result.
		v.W.Header().Set("HX-Refresh", "true")
	}
	if j.Errors != "" && data.Kept() {
		if data.Rejected, err = v.Engine.Jobs.Rejected(v.Ctx(), v.Caller.Tenant, j.ID); err != nil {
			return err
		}
	}
	if data.Kept() && !data.Pending() {
		if data.Sizes, err = sizes(v, j); err != nil {
			return err
		}
	}
	return v.Page(http.StatusOK, "job", cmp.Or(j.Name, data.Kind.Title), data)
}

// stopImport ends an import; its page then shows what it has done.
func stopImport(v *frame.Visit) error {
	id := v.R.PathValue("job")
	if err := v.Engine.Admin.Files.Stop(v.Ctx(), v.Caller, id); err != nil {
		return err
	}
	return v.Redirect(pathOf(v.Caller.Tenant, id))
}

// removeJob removes a job with its files; an export that runs stops.
func removeJob(v *frame.Visit) error {
	if err := v.Engine.Admin.Files.Remove(v.Ctx(), v.Caller, v.R.PathValue("job")); err != nil {
		return err
	}
	return v.Done(v.SectionPath(), "job-removed")
}

// download sends a file of a job, or a link to it, by which the page's script fetches a large
// file in parts. It is a form, because it adds an entry to the audit log.
func download(v *frame.Visit) error {
	id := v.R.PathValue("job")
	wanted, err := job.ParseAttachment("file", v.R.PostForm.Get("file"))
	if err != nil {
		return err
	}
	if wanted == job.RejectedFile {
		return downloadRejected(v, id)
	}
	d, err := v.Engine.Admin.Files.Download(v.Ctx(), v.Caller, id, wanted)
	if err != nil {
		return err
	}
	if v.R.PostForm.Get("as") == "link" {
		return frame.Plain(v, http.StatusOK, d.Link)
	}
	body, err := d.Open(v.Ctx(), 0)
	if err != nil {
		return err
	}
	defer body.Close()
	return v.Download(d.Name, wire.FileType(d.Name), func(w *bufio.Writer) error {
		_, err := io.Copy(w, body)
		return err
	})
}

// downloadRejected sends the rejected rows of an import, to be corrected.
func downloadRejected(v *frame.Visit, id string) error {
	j, err := v.Engine.Admin.Files.Job(v.Ctx(), v.Caller, id)
	if err != nil {
		return err
	}
	form, err := v.Engine.Files.ReadAs(v.Ctx(), v.Caller.Tenant, j.File)
	if err != nil {
		return err
	}
	name := jobs.RejectedName(j, form)
	return v.Download(name, wire.FileType(name), func(w *bufio.Writer) error { return v.Engine.Admin.Files.WriteRejected(v.Ctx(), v.Caller, id, w) })
}
