// Package widget parses the names of widgets and checks their templates.
package widget

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"kith/core"
)

// Type names a widget: p/{program}/w/{key} for a widget of a program, w/{key} for one
// of the tenant.
type Type struct {
	// Program is empty for a widget of the tenant, and if First is set.
	Program core.ProgramKey
	// First is true for a widget of the tenant's first program, whose key In sets.
	First bool
	Key   Key
}

// Key names a widget of a program or of a tenant: 1 to 64 of A-Z a-z 0-9 - _ . .
type Key string

// Keys of the widgets that every program has.
const (
	// Referrer is the widget from which a user shares links.
	Referrer Key = "referrerWidget"
	// Conversion is the widget for a referred user.
	Conversion Key = "conversionWidget"
)

// ParseType returns s as a type or an error about field (RS036). The names
// REFERRER_WIDGET, which is also the default for an empty s, and CONVERSION_WIDGET,
// which older clients send, mean the widgets of the first program. The parts of a
// type are percent-encoded (clients 1.6.9).
func ParseType(field, s string) (t Type, err error) {
	switch s {
	case "", "REFERRER_WIDGET":
		return Type{First: true, Key: Referrer}, nil
	case "CONVERSION_WIDGET":
		return Type{First: true, Key: Conversion}, nil
	}
	program, key := "", ""
	if rest, ok := strings.CutPrefix(s, "p/"); ok {
		program, key, ok = strings.Cut(rest, "/w/")
		if ok {
			t.Program, err = core.ParseProgramKey(field, decoded(program))
		}
		if !ok || err != nil {
			return Type{}, badType(field)
		}
	} else if key, ok = strings.CutPrefix(s, "w/"); !ok {
		return Type{}, badType(field)
	}
	if t.Key, err = ParseKey(field, decoded(key)); err != nil {
		return Type{}, err
	}
	return t, nil
}

// In returns the type with the tenant's first program in place of First.
func (t Type) In(first core.ProgramKey) Type {
	if t.First {
		t.Program, t.First = first, false
	}
	return t
}

// ParseKey returns s as a key or an error about field (RS036).
func ParseKey(field, s string) (Key, error) {
	if len(s) < 1 || len(s) > 64 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return "", badType(field)
	}
	return Key(s), nil
}

// String returns the type as clients write it. Call it only on a result of In. No
// part needs encoding.
func (t Type) String() string {
	if t.Program == "" {
		return "w/" + string(t.Key)
	}
	return "p/" + string(t.Program) + "/w/" + string(t.Key)
}

// Unknown returns the error for a type whose program does not exist.
func Unknown(field string) *core.Error {
	return &core.Error{Code: core.CodeInvalid, Field: field, RS: "RS036", Message: "names a program that does not exist"}
}

func badType(field string) *core.Error {
	return &core.Error{
		Code: core.CodeInvalid, Field: field, RS: "RS036",
		Message: "must be a widget such as p/classic/w/referrerWidget or w/referrerWidget, REFERRER_WIDGET or CONVERSION_WIDGET",
	}
}

func decoded(part string) string {
	text, err := url.PathUnescape(part)
	if err != nil {
		return ""
	}
	return text
}

// Limits of a stored widget, in bytes.
const (
	MaxTemplate = 512 << 10
	MaxOptions  = 32 << 10
	// MaxPerTenant is the most widgets that a tenant may store.
	MaxPerTenant = 200
)

// Stored is a tenant's configuration of a widget. An empty field means the default.
type Stored struct {
	Type Type
	// Template is a whole HTML document.
	Template string
	// Options, Branding and Values are JSON objects: jsOptions and brandingConfig for
	// the browser SDK, and values for the template.
	Options, Branding, Values string
	Modified                  core.Time
}

// Check returns an error about the first invalid field, with its name in the API.
func (s Stored) Check() error {
	if s.Template != "" {
		if err := checkTemplate("template", s.Template); err != nil {
			return err
		}
	}
	for _, part := range []struct{ name, json string }{
		{"jsOptions", s.Options}, {"brandingConfig", s.Branding}, {"values", s.Values},
	} {
		if len(part.json) > MaxOptions {
			return core.Invalid(part.name, "must not be longer than 32 KiB")
		}
	}
	return nil
}

// checkTemplate returns an error for a template that clients cannot use: they check
// the doctype, and insert scripts before the end of the head (clients 1.6.10, clients 7.4).
func checkTemplate(field, html string) error {
	start := strings.TrimLeft(html, " \t\r\n\ufeff")
	switch {
	case len(html) > MaxTemplate:
		return core.Invalid(field, "must not be longer than 512 KiB")
	case !utf8.ValidString(html) || strings.IndexByte(html, 0) >= 0:
		return core.Invalid(field, "must be UTF-8 without U+0000")
	case len(start) < len(doctype) || !strings.EqualFold(start[:len(doctype)], doctype):
		return core.Invalid(field, "must be a whole HTML document, which begins with "+doctype)
	case indexFold(html, endOfHead) < 0:
		return core.Invalid(field, "must have "+endOfHead)
	}
	return nil
}

const (
	doctype   = "<!doctype html>"
	endOfHead = "</head>"
)

// WithScript returns a template with a script at the end of its head.
func WithScript(template, script string) string {
	i := indexFold(template, endOfHead)
	if i < 0 {
		i = 0
	}
	return template[:i] + "<script>" + script + "</script>\n" + template[i:]
}

// indexFold returns the index of text in s, ignoring case, or -1. text must be
// lower-case ASCII.
func indexFold(s, text string) int {
	for i := 0; i+len(text) <= len(s); i++ {
		if s[i] == text[0] && strings.EqualFold(s[i:i+len(text)], text) {
			return i
		}
	}
	return -1
}
