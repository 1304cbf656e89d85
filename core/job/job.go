// Package job defines jobs: their types, states, lifetimes and parameters
// (clients 3.1). The files that jobs read and write are defined in core/importfile and
// core/exportfile.
package job

import (
	"strings"

	"kith/core"
)

// Type is the type of a job, as OPERATION/TASK.
type Type string

// Types of jobs (clients 3.1.1). A QUERY writes a file, a MUTATION reads one.
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

// Operations: the first part of a type.
const (
	Query    = "QUERY"
	Mutation = "MUTATION"
)

// Types lists all supported types.
func Types() []Type {
	return []Type{
		User, UserEvent, UserReferral, UserRewardBalance, RewardBalance, Referral, Reward, RedeemableRewardBalance,
		ImportUser, ImportDelete, ImportUserEvent, ImportRedeem,
	}
}

// ParseType returns s as a supported type, or an error about field.
//
// Spec silent: QUERY/REFERRAL_PARTICIPANT, QUERY/US_TAXABLE_VALUE, MUTATION/REFERRAL
// and MUTATION/USER_STATS are refused (clients 3.1.1).
func ParseType(field, s string) (Type, error) { return core.ParseOneOf(field, s, Types()...) }

// ExportTypes lists the types of REST exports (clients 1.9.3).
func ExportTypes() []Type {
	return []Type{User, UserReferral, Referral, UserRewardBalance, RewardBalance, Reward}
}

// ParseExportType returns the type of a REST export, which names only the task, or an
// error about field.
func ParseExportType(field, task string) (Type, error) {
	var tasks []string
	for _, t := range ExportTypes() {
		if strings.EqualFold(task, t.Task()) {
			return t, nil
		}
		tasks = append(tasks, t.Task())
	}
	return "", core.Invalid(field, "must be one of "+strings.Join(tasks, ", "))
}

// Import reports whether the job reads a file; all others write one.
func (t Type) Import() bool { return t.Operation() == Mutation }

// Operation returns Query or Mutation, which webhooks send separately from the task
// (clients 6.5.11).
func (t Type) Operation() string { operation, _, _ := strings.Cut(string(t), "/"); return operation }

// Task returns the part of the type after the operation, such as "USER".
func (t Type) Task() string { _, task, _ := strings.Cut(string(t), "/"); return task }

// Status is the state of a job.
type Status string

const (
	// Pending is a job that waits or runs. It is the state of a new job.
	Pending Status = "PENDING"
	// Completed is a job that processed all rows; rejected rows are in its errors
	// file. The worker sets it. It is final.
	Completed Status = "COMPLETED"
	// Aborted is a job that stopped at an error. The worker sets it. It is final.
	Aborted Status = "ABORTED"
	// Expired is the status of a REST export whose files were removed. It is not
	// stored.
	Expired Status = "EXPIRED"
)

// Format is the form of the files that a job writes.
type Format string

const (
	CSV  Format = "CSV"
	XLSX Format = "XLSX"
)

// ParseFormat returns s as a format or an error about field.
func ParseFormat(field, s string) (Format, error) { return core.ParseOneOf(field, s, CSV, XLSX) }

// Extension returns the file name extension of the format, without a dot.
func (f Format) Extension() string { return strings.ToLower(string(f)) }

// Life is how long a job's files are kept after its end, and an upload after its job was
// created (clients 1.9.6: the sample has exactly 28 days).
const Life = 28 * core.Day

// Memory is how long a job is listed after its end.
//
// Spec silent: twice as long as its files, so that a caller can distinguish an
// expired file from one that never existed.
const Memory = 2 * Life

// RequesterAPI is the requester of a job whose caller named none (spec 2.3.3).
const RequesterAPI = "API"

// RequesterSFTP is the requester of a job whose file came over SFTP.
const RequesterSFTP = "SFTP"

// Stats counts the records of a job. It is updated while the job runs.
type Stats struct {
	// Processed counts all records so far, Errors the rejected ones among them.
	Processed, Errors int64
	// Idle counts those that an import accepted and that did nothing.
	Idle int64
}

// Input is a request to create a job (clients 3.1.4).
type Input struct {
	Type Type
	Name string
	// Requester names who created the job; RequesterAPI by default.
	Requester string
	Format    Format
	MailTo    string
	// File is the upload that an import reads.
	File core.FileRef
	// Params is the JSON object as sent; "{}" by default.
	Params string
	// Once is the id that the job gets, so that a form which is sent twice makes one job; empty
	// for a new id. A stored job has none.
	Once string
}

// Job is a stored job.
type Job struct {
	ID string
	Input
	Status Status
	// Message says why the job was aborted or stops, or is a remark about its end; usually
	// empty.
	Message string
	Stats   Stats
	// Total is the number of records that the job processes in all; 0 until it is known.
	Total int64
	// Row is the number of the last row of its file that an import has processed, as
	// spreadsheets show it. It is 0 before the first one, and of jobs whose errors have numbers
	// of records: those that ran before rows were counted.
	Row int64
	// Result and Errors are the files that the job wrote; empty if it wrote none.
	Result, Errors core.FileRef
	Created        core.Time
	// Started is when a worker began with the job; zero while it waits.
	Started core.Time
	// Completed is when the job was completed or aborted. Expires is when its files
	// are removed. Both are zero while it is pending.
	Completed, Expires core.Time
}

// Gone reports whether the job's files have expired.
func (j Job) Gone(now core.Time) bool { return j.Expires != 0 && now >= j.Expires }

// StoppedBy begins the message of an import that was stopped; the name of the caller follows.
const StoppedBy = "stopped by "

// Stopping reports whether the job was stopped, and has not ended yet.
func (j Job) Stopping() bool { return j.Status == Pending && strings.HasPrefix(j.Message, StoppedBy) }

// Attachment is one of the files of a job.
type Attachment string

const (
	// ResultFile is the file that the job wrote, ErrorsFile has the rejected rows,
	// and SourceFile is the file that an import read.
	ResultFile Attachment = "result"
	ErrorsFile Attachment = "errors"
	SourceFile Attachment = "source"
	// RejectedFile has the rows of SourceFile that an import rejected, to be corrected. It is
	// not stored: it is written when it is asked for.
	RejectedFile Attachment = "rejected"
)

// ParseAttachment returns s as one of a job's files, ResultFile when it is
// empty, or an error about field.
func ParseAttachment(field, s string) (Attachment, error) {
	if s == "" {
		return ResultFile, nil
	}
	return core.ParseOneOf(field, s, ResultFile, ErrorsFile, SourceFile, RejectedFile)
}

// Attached returns one of the job's files, or a CodeNotFound error that says why
// there is no such file.
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

// ExportStatus returns the status of a REST export, which may be Expired.
func (j Job) ExportStatus(now core.Time) Status {
	if j.Gone(now) {
		return Expired
	}
	return j.Status
}

// Filter selects jobs. An empty field matches all (clients 3.1.5).
type Filter struct {
	// Operation is Query or Mutation.
	Operation          string
	IDs                []string
	Type, NotType      Type
	Statuses           []Status
	NotStatus          Status
	Created, Completed core.Span
	// A job must also match all of And, and at least one of Or.
	And, Or       []Filter
	Limit, Offset int
}
