package auth

import (
	"strconv"

	"kith/core"
)

// DownloadLife is how long a download link is valid.
//
// Spec silent: an hour is enough for a person to click, and limits the use of a
// leaked link to a list of people.
const DownloadLife = core.Hour

// Download is a link that permits its holder to fetch one file of one job.
type Download struct {
	// Job is the id of the job. File is one of its files, a job.Attachment.
	Job, File string
	// Expires is the last time at which the link is valid.
	Expires core.Time
}

// Download returns the signer of a tenant's download links.
func (k Keyring) Download(tenant core.TenantAlias) Signer {
	return Signer{k.masters, "download:" + string(tenant)}
}

// Sign returns the signature that the link carries.
func (d Download) Sign(by Signer) string { return by.Sign(d.text()) }

// Verify reports whether signature was made by Sign with the same signer and
// contents, and the link has not expired.
func (d Download) Verify(by Signer, signature string, now core.Time) bool {
	return now <= d.Expires && by.Verify(d.text(), signature)
}

// text returns the signed text. The job is last, because only it may contain a slash.
func (d Download) text() string {
	return strconv.FormatInt(int64(d.Expires), 10) + "/" + d.File + "/" + d.Job
}
