// Package text has the texts that Kith shows to people who are not its operators: the
// widget, invitations to share, and the page of a share link that does not work. Each
// text exists in each language of Languages.
//
// A language is one file, such as de.go, with its numbers, its plural forms and its
// texts. docs/integrate.md describes how to add one.
package text

import (
	"strings"

	"kith/core"
)

// Tag is a language or locale in the form of BCP 47, such as "de" or "pt-BR".
type Tag string

// maxTag is the most bytes of a tag.
const maxTag = 16

// ParseTag returns s as a tag or an error about field (RS039). "pt_br" is "pt-BR".
func ParseTag(field, s string) (Tag, error) {
	t := TagOf(s)
	if t == "" {
		err := core.Invalid(field, "must be a locale such as en or pt-BR")
		err.RS = "RS039"
		return "", err
	}
	return t, nil
}

// TagOf returns s as a tag, or "" if it is none.
func TagOf(s string) Tag {
	if len(s) > maxTag {
		return ""
	}
	parts := strings.Split(strings.ReplaceAll(s, "_", "-"), "-")
	for i, part := range parts {
		if len(part) < 2 || len(part) > 8 || !alphanumeric(part) || i == 0 && (len(part) > 3 || !letters(part)) {
			return ""
		}
		switch {
		case i > 0 && len(part) == 4 && letters(part): // a script
			parts[i] = strings.ToUpper(part[:1]) + strings.ToLower(part[1:])
		case i > 0 && len(part) == 2: // a region
			parts[i] = strings.ToUpper(part)
		default:
			parts[i] = strings.ToLower(part)
		}
	}
	return Tag(strings.Join(parts, "-"))
}

func letters(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

func alphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Parent returns the tag without its last part: "zh-Hant" for "zh-Hant-TW", and "" for
// "zh".
func (t Tag) Parent() Tag {
	i := strings.LastIndexByte(string(t), '-')
	return t[:max(i, 0)]
}

// RightToLeft reports whether the script of a language is written from right to left.
// It knows more languages than Languages, because a program may have invitations in
// any.
func (t Tag) RightToLeft() bool {
	for t.Parent() != "" {
		t = t.Parent()
	}
	switch t {
	case "ar", "arc", "ckb", "dv", "fa", "he", "ks", "ku", "ps", "sd", "ug", "ur", "yi":
		return true
	}
	return false
}

// Direction returns the value of HTML's dir attribute for a language.
func (t Tag) Direction() string {
	if t.RightToLeft() {
		return "rtl"
	}
	return "ltr"
}

// Limits of an Accept-Language header. Browsers send a few languages.
const (
	maxAcceptLanguage = 1000
	maxAccepted       = 10
)

// Accepted returns the languages of an Accept-Language header, the most wanted first.
// It ignores what is malformed, and languages with the weight 0.
func Accepted(header string) []Tag {
	header = header[:min(len(header), maxAcceptLanguage)]
	var tags []Tag
	var weights []int
	for part := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(part, ";")
		tag, weight := TagOf(strings.TrimSpace(name)), weightOf(parameter)
		if tag == "" || weight == 0 {
			continue
		}
		if len(tags) == maxAccepted {
			break
		}
		// Insert it behind the others of its weight.
		at := len(tags)
		for at > 0 && weights[at-1] < weight {
			at--
		}
		tags, weights = append(tags, ""), append(weights, 0)
		copy(tags[at+1:], tags[at:])
		copy(weights[at+1:], weights[at:])
		tags[at], weights[at] = tag, weight
	}
	return tags
}

// weightOf returns the weight of a parameter such as "q=0.8" in thousandths; 1000
// without one, and 0 for a malformed one (RFC 9110, 12.4.2).
func weightOf(parameter string) int {
	parameter = strings.TrimSpace(parameter)
	if parameter == "" {
		return 1000
	}
	digits, ok := strings.CutPrefix(strings.ToLower(parameter), "q=")
	whole, decimals, _ := strings.Cut(digits, ".")
	if !ok || whole != "0" && whole != "1" || len(decimals) > 3 {
		return 0
	}
	weight := 0
	for _, c := range []byte((decimals + "000")[:3]) {
		if c < '0' || c > '9' {
			return 0
		}
		weight = 10*weight + int(c-'0')
	}
	if whole == "1" {
		return 1000
	}
	return weight
}

// Wanted returns the languages that a person wants, the most wanted first: that of the
// page (the parameter locale), that of the user, and those of the browser's
// Accept-Language header. Any may be empty or malformed.
func Wanted(page, user, acceptLanguage string) []Tag {
	wanted := make([]Tag, 0, 4)
	for _, s := range [...]string{page, user} {
		if t := TagOf(s); t != "" {
			wanted = append(wanted, t)
		}
	}
	return append(wanted, Accepted(acceptLanguage)...)
}

// Languages are the languages of all texts. The first one is used for a person whose
// languages are not among them.
var Languages = [...]Tag{"en", "de", "fr", "es", "pt", "ar"}

// choose returns the index in Languages of the first wanted language that exists, each
// by its tag and then by its parents. locale is the wanted tag, whose region decides
// how the browser formats dates.
func choose(wanted []Tag) (index int, locale Tag) {
	for _, w := range wanted {
		for t := w; t != ""; t = t.Parent() {
			for i := range Languages {
				if Languages[i] == t {
					return i, w
				}
			}
		}
	}
	return 0, Languages[0]
}
