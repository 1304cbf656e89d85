package core

import "strings"

// FileRef names a file that a tenant uploaded, as {folder}/{tenant}/{base}_{id}.{ext}
// (clients 1.9.7): callers treat it as opaque, people recognize their file by its
// base.
type FileRef string

// Folders of files.
const (
	// ImportFolder is the folder of files that callers uploaded.
	ImportFolder = "imports"
	// ExportFolder is the folder of files that jobs wrote.
	ExportFolder = "exports"
	// PieceFolder is the folder of pieces of files that are still being uploaded.
	PieceFolder = "pieces"
)

const maxFileBase = 64

// NewFileRef returns the ref of a new file of a tenant. name is the sender's name for
// the file, with or without folders, or empty; its letters, digits, - and _ up to the
// first dot are kept, at most 64 of them. ext is the extension, without a dot. id is
// a new record id, which makes the ref unique.
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

// ParseFileRef returns s as the ref of a file that the tenant uploaded, or an error
// about field. It does not check that the file exists.
func ParseFileRef(field string, tenant TenantAlias, s string) (FileRef, error) {
	name, ok := strings.CutPrefix(s, ImportFolder+"/"+string(tenant)+"/")
	if !ok || !word(name, 1, maxID, "-_.") || strings.Contains(name, "..") {
		return "", Invalid(field, "is not the fileRef of a file that this tenant uploaded")
	}
	return FileRef(s), nil
}

// Name returns the last part of the ref: the file name that a download has.
func (f FileRef) Name() string { return string(f[strings.LastIndexByte(string(f), '/')+1:]) }
