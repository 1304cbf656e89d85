package frame

import (
	"html/template"
	"io/fs"
	"net/http"
	"net/url"

	"kith/core"
	"kith/core/operation"
)

// Pages are pages that belong together.
type Pages struct {
	// Routes are the pages.
	Routes Routes
	// Uploads are routes whose handlers read the body themselves, without a limit of the
	// frame. The token of the page must be in the header X-Csrf-Token, or in the first part
	// of a form, whose other parts Visit.NextPart returns.
	Uploads Routes
	// Files has the templates, in the folder page, as NAME.html, and Functions what they
	// call beside the functions of the frame. A file parts.html has what several of these
	// pages use.
	Files     fs.FS
	Functions template.FuncMap
	// Done has the texts that Visit.Done names.
	Done map[string]string
	// Style is the style of the pages of a section, nested in their main element: write
	// ".scripted & .x" where an ancestor of that element counts. Script is a
	// script of these pages. Both may be empty.
	Style, Script string

	templates func() map[string]*template.Template
	script    string // the path of Script
}

// Section is one entry of the navigation, with the pages below it.
type Section struct {
	// Key is the path below the tenant, Title the entry in the navigation. Letter goes to
	// it by keyboard: g, then the letter.
	Key, Title, Letter string
	// Needs is the operation without which the section cannot be opened. Its reads need no
	// other unless their page requires it; use cases that change something require theirs.
	Needs *operation.Operation
	// Finds are look-ups of the first page, which the palette offers for what was typed.
	Finds []Find
	// Shortcuts returns further pages, which the palette offers for what was typed; nil: none.
	Shortcuts func(*Visit) ([]Shortcut, error)
	Pages
}

// Shortcut is a page by its title; Path begins below the section.
type Shortcut struct{ Title, Path string }

// Find is a look-up: its title, and the parameter of the page that takes the text.
type Find struct{ Title, Parameter string }

// path returns the path of the section's first page.
func (s *Section) path(v *Visit) string { return v.TenantPath() + "/" + s.Key }

// visible returns the sections that the caller may open.
func (v *Visit) visible() (all []*Section) {
	for _, s := range v.sections {
		if v.May(s.Needs) {
			all = append(all, s)
		}
	}
	return all
}

// May reports whether the caller's role permits an operation.
func (v *Visit) May(op *operation.Operation) bool { return op.Permits(v.Caller.Role) }

// SectionPath returns the path of the first page of the visit's section.
func (v *Visit) SectionPath() string { return v.section.path(v) }

// PathOf returns the path of the first page of a section, or "" if there is no such section
// or the caller may not open it.
func PathOf(v *Visit, key string) string {
	for _, s := range v.visible() {
		if s.Key == key {
			return s.path(v)
		}
	}
	return ""
}

// PersonPath returns the path of the page of a user of a shop, in the section people.
func PersonPath(tenant core.TenantAlias, account core.AccountID, user core.UserID) string {
	return Root + "/t/" + string(tenant) + "/people/" + url.PathEscape(string(account)) + "/" + url.PathEscape(string(user))
}

// inSection returns a handler of a section: the visitor must be signed in and a member of
// the tenant in the path, with a role that permits what the section needs.
func inSection(s *Section, h Handler) Handler {
	return InTenant(func(v *Visit) error {
		v.section = s
		if err := s.Needs.Require(v.Caller); err != nil {
			return err
		}
		return h(v)
	})
}

// start leads a person to their first tenant.
func start(v *Visit) error {
	if err := v.mustSignIn(); err != nil {
		return err
	}
	if len(v.Tenants) == 0 {
		return v.Redirect(Root + "/profile")
	}
	return v.Redirect(Root + "/t/" + string(v.Tenants[0].Tenant))
}

// startTenant leads a member to the first section that the role may open.
var startTenant = InTenant(func(v *Visit) error {
	if all := v.visible(); len(all) > 0 {
		return v.Redirect(all[0].path(v))
	}
	return v.Page(http.StatusOK, "nothing", "Nothing here for your role yet", nil)
})
