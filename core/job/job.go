// Package job decides what a job is: its types, its states, how long it lives
// and what it may be asked for (reference, 3.1). What a job does to the rows of
// a file, and what it writes, is in core/importfile and core/exportfile.
package job

import (
	"strings"

	"kith/core"
)

// Type says what a job does, as OPERATION/TASK.
type Type string

// Types of jobs (reference, 3.1). A QUERY writes a file, a MUTATION reads one.
const (
	User                    Type = "QUERY/USER"
	UserEvent               Type = "QUERY/USER_EVENT"
	UserReferral            Type = "QUERY/USER_REFERRAL"
	UserRewardBalance       Type = "QUERY/USER_REWARD_BALANCE"
	RewardBalance           Type = "QUERY/REWARD_BALANCE"
	Referral                Type = "QUERY/REFERRAL"
	Reward                  Type = "QUERY/REWARD"
	RedeemableRewardBalance Type = "QUERY/REDEEMABLE_REWARD_BALANCE"

	ImportUser      Type = "MUTATION/USER"
	ImportDelete    Type = "MUTATION/DELETE_USER"
	ImportUserEvent Type = "MUTATION/USER_EVENT"
	ImportRedeem    Type = "MUTATION/REDEEMABLE_REWARD_BALANCE"
)

// Operations: what a type begins with.
const (
	Query    = "QUERY"
	Mutation = "MUTATION"
)

// Types lists all that are offered.
func Types() []Type {
	return []Type{
		User, UserEvent, UserReferral, UserRewardBalance, RewardBalance, Referral, Reward, RedeemableRewardBalance,
		ImportUser, ImportDelete, ImportUserEvent, ImportRedeem,
	}
}

// ParseType returns s as a type that is offered, or an error about field.
//
// Spec silent: the reference lists QUERY/REFERRAL_PARTICIPANT,
// QUERY/US_TAXABLE_VALUE, MUTATION/REFERRAL and MUTATION/USER_STATS too, of
// which it says nothing more; they are refused.
func ParseType(field, s string) (Type, error) {
	for _, t := range Types() {
		if s == string(t) {
			return t, nil
		}
	}
	return "", core.Invalid(field, "must be one of "+join(Types()))
}

// ExportTypes lists the tasks that a REST export may name (reference, 1.9).
func ExportTypes() []Type {
	return []Type{User, UserReferral, Referral, UserRewardBalance, RewardBalance, Reward}
}

// ParseExportType returns the type of a REST export, where only the task is
// said, or an error about field.
func ParseExportType(field, task string) (Type, error) {
	var tasks []string
	for _, t := range ExportTypes() {
		if task == t.Task() {
			return t, nil
		}
		tasks = append(tasks, t.Task())
	}
	return "", core.Invalid(field, "must be one of "+strings.Join(tasks, ", "))
}

// Import reports whether the job reads a file; all others write one.
func (t Type) Import() bool { return t.Operation() == Mutation }

// Operation is Query or Mutation; webhooks tell it apart from the task
// (reference, 6).
func (t Type) Operation() string { operation, _, _ := strings.Cut(string(t), "/"); return operation }

// Task is the part of the type behind the operation, such as "USER".
func (t Type) Task() string { _, task, _ := strings.Cut(string(t), "/"); return task }

// Status is where a job is.
type Status string

const (
	// Pending is a job that waits or runs. Creation puts it there.
	Pending Status = "PENDING"
	// Completed is a job that did all it could; rows that failed are in its
	// errors file. The worker moves it there. Nothing moves it on.
	Completed Status = "COMPLETED"
	// Aborted is a job that could not go on. The worker moves it there. Nothing
	// moves it on.
	Aborted Status = "ABORTED"
	// Expired is how a REST export shows whose file is gone; it is not stored.
	Expired Status = "EXPIRED"
)

// ParseStatus returns s as a stored status or an error about field.
func ParseStatus(field, s string) (Status, error) {
	switch status := Status(s); status {
	case Pending, Completed, Aborted:
		return status, nil
	}
	return "", core.Invalid(field, "must be one of PENDING, COMPLETED, ABORTED")
}

// Format is the form of the files that a job writes.
type Format string

const (
	CSV  Format = "CSV"
	XLSX Format = "XLSX"
)

// ParseFormat returns s as a format or an error about field.
func ParseFormat(field, s string) (Format, error) {
	switch format := Format(s); format {
	case CSV, XLSX:
		return format, nil
	}
	return "", core.Invalid(field, "must be one of CSV, XLSX")
}

// Extension ends the name of a file of that format.
func (f Format) Extension() string { return strings.ToLower(string(f)) }

// Life is how long a job's files are kept after it ended, and an upload after it
// was sent (reference, 1.9: the sample has exactly 28 days).
const Life = 28 * core.Day

// Memory is how long a job is listed after it ended.
//
// Spec silent: as long again as its files, so that a file that is gone can be
// told from one that never was.
const Memory = 2 * Life

// RequesterAPI is the requester of a job that nobody else claims (spec, Job).
const RequesterAPI = "API"

// RequesterSFTP is the requester of a job whose file came over SFTP.
const RequesterSFTP = "SFTP"

// Stats counts the records of a job, while it runs and after.
type Stats struct {
	// Processed are all records so far, Errors those of them that failed.
	Processed, Errors int64
}

// Input is a wish for a job (reference, 3.1).
type Input struct {
	Type Type
	Name string
	// Requester is RequesterAPI unless the caller says otherwise.
	Requester string
	Format    Format
	MailTo    string
	// File is the upload that an import reads.
	File core.FileRef
	// Params is the JSON object as it was sent, "{}" when none was.
	Params string
}

// Job is a stored job.
type Job struct {
	ID string
	Input
	Status Status
	// Message says why the job was aborted, or what else there is to say of how
	// it ended; mostly empty.
	Message string
	Stats   Stats
	// Result and Errors are the files that the job wrote, empty when it wrote
	// none.
	Result, Errors core.FileRef
	Created        core.Time
	// Completed is when the job ended, well or not; Expires when its files go.
	// Both are zero while it is pending.
	Completed, Expires core.Time
}

// Gone reports whether the job's files have been kept long enough.
func (j Job) Gone(now core.Time) bool { return j.Expires != 0 && now >= j.Expires }

// Attachment is one of the files of a job.
type Attachment string

const (
	// ResultFile is what the job wrote, ErrorsFile the rows that failed,
	// SourceFile what an import read.
	ResultFile Attachment = "result"
	ErrorsFile Attachment = "errors"
	SourceFile Attachment = "source"
)

// ParseAttachment returns s as one of a job's files, ResultFile when it is
// empty, or an error about field.
func ParseAttachment(field, s string) (Attachment, error) {
	switch a := Attachment(s); a {
	case "":
		return ResultFile, nil
	case ResultFile, ErrorsFile, SourceFile:
		return a, nil
	}
	return "", core.Invalid(field, "must be one of result, errors, source")
}

// Attached returns one of the job's files, or a not-found error that says why
// there is none.
func (j Job) Attached(which Attachment, now core.Time) (core.FileRef, error) {
	ref := map[Attachment]core.FileRef{ResultFile: j.Result, ErrorsFile: j.Errors, SourceFile: j.File}[which]
	switch {
	case j.Gone(now):
		return "", core.NotFound("the files of this job have expired: they are kept for 28 days")
	case j.Status == Pending && which != SourceFile:
		return "", core.NotFound("the job is not completed yet; ask again when its status is COMPLETED")
	case ref == "":
		return "", core.NotFound("this job has no such file")
	}
	return ref, nil
}

// ExportStatus is the status as a REST export shows it.
func (j Job) ExportStatus(now core.Time) Status {
	if j.Gone(now) {
		return Expired
	}
	return j.Status
}

// Filter narrows a list of jobs; what is empty does not (reference, 3.1).
type Filter struct {
	// Operation is Query or Mutation.
	Operation          string
	IDs                []string
	Type, NotType      Type
	Statuses           []Status
	NotStatus          Status
	Created, Completed core.Span
	// And must all hold besides, and of Or at least one.
	And, Or       []Filter
	Limit, Offset int
}

func join(types []Type) string {
	text := ""
	for i, t := range types {
		if i > 0 {
			text += ", "
		}
		text += string(t)
	}
	return text
}
