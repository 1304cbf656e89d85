package core

import "strings"

// FileRef names a file that a tenant uploaded, as {folder}/{tenant}/{base}_{id}.{ext}
// (reference, 1.9): callers keep it as it is, people recognise their file by it.
type FileRef string

// The two folders of files.
const (
	// ImportFolder holds what callers uploaded.
	ImportFolder = "imports"
	// ExportFolder holds what jobs wrote.
	ExportFolder = "exports"
)

const maxFileBase = 64

// NewFileRef names a new file of a tenant. name is the file's name as its
// sender has it, with or without folders, or empty; only letters, digits, - and
// _ of it are kept, and of its endings only those of ext. id is a new record id,
// which keeps two files of one name apart.
func NewFileRef(folder string, tenant TenantAlias, name, ext, id string) FileRef {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	base, _, _ := strings.Cut(name, ".")
	base = strings.Map(func(r rune) rune {
		if r < 0x80 && (alnum(byte(r)) || r == '-' || r == '_') {
			return r
		}
		return -1
	}, base)
	if len(base) > maxFileBase {
		base = base[:maxFileBase]
	}
	if base == "" {
		base = "file"
	}
	return FileRef(folder + "/" + string(tenant) + "/" + base + "_" + id + "." + ext)
}

// ParseFileRef returns s as the ref of a file that the tenant uploaded, or an
// error about field. Whether there is such a file is not looked at.
func ParseFileRef(field string, tenant TenantAlias, s string) (FileRef, error) {
	name, ok := strings.CutPrefix(s, ImportFolder+"/"+string(tenant)+"/")
	if !ok || !word(name, 1, maxID, "-_.") || strings.Contains(name, "..") {
		return "", Invalid(field, "is not the fileRef of a file that this tenant uploaded")
	}
	return FileRef(s), nil
}

// Name is the last part of the ref: the name under which the file is sent.
func (f FileRef) Name() string { return string(f[strings.LastIndexByte(string(f), '/')+1:]) }
