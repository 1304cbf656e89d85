package auth

import (
	"strconv"

	"kith/core"
)

// DownloadLife is how long a link to a file of a job is good for.
//
// Spec silent: an hour is enough for a person to click, and short for a link
// that opens a list of people to whoever has it.
const DownloadLife = core.Hour

// Download is the right to fetch one file of one job, for whoever has the link.
type Download struct {
	// Job is the job's id, File which of its files.
	Job, File string
	// Expires is the last moment at which the link is good.
	Expires core.Time
}

// Download returns the signer of a tenant's download links.
func (k Keyring) Download(tenant core.TenantAlias) Signer {
	return Signer{k.masters, "download:" + string(tenant)}
}

// Sign returns the signature that the link carries.
func (d Download) Sign(by Signer) string { return by.Sign(d.text()) }

// Verify reports whether signature was made by Sign with the same signer and
// contents, and the link is still good.
func (d Download) Verify(by Signer, signature string, now core.Time) bool {
	return now <= d.Expires && by.Verify(d.text(), signature)
}

// text has the job last: of the other parts none holds a slash.
func (d Download) text() string {
	return strconv.FormatInt(int64(d.Expires), 10) + "/" + d.File + "/" + d.Job
}
