package frame

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"kith/core"
)

// Form is a form with what the visitor entered, and what is wrong with it.
type Form struct {
	values url.Values
	// Errors are the errors in the order of the fields. An error about no field of the form
	// has an empty Field.
	Errors []FormProblem
}

// FormProblem is what is wrong with a field.
type FormProblem struct{ Field, Message string }

// NewForm returns a form with the values that a visitor sent, or none.
func (v *Visit) NewForm() *Form {
	if v.R.Method == http.MethodPost {
		return &Form{values: v.R.PostForm}
	}
	return &Form{values: v.R.URL.Query()}
}

// Show returns the handler of a page with a form, which show writes as the visitor opens it.
func Show(show func(*Visit, *Form) error) Handler {
	return func(v *Visit) error { return show(v, v.NewForm()) }
}

// FormOf returns a form with values that the visitor may change.
func FormOf(values url.Values) *Form { return &Form{values: values} }

// Value returns what the visitor entered into a field.
func (f *Form) Value(field string) string { return f.values.Get(field) }

// Once returns the id of a form that is applied once, also if it is sent twice: the one that it
// was sent with, or a new one. The page has it in the field once.
func (v *Visit) Once(f *Form) string { return cmp.Or(f.Value("once"), v.Engine.NewID()) }

// Twice returns nil for the error of a form that was sent twice: it was applied once, which
// is what the visitor wants. If its values have changed between, as with the browser's Back,
// the form is shown again and can be sent as a new one. The error must be of a use case that
// knows no other conflict.
func (v *Visit) Twice(err error) error {
	var known *core.Error
	switch {
	case !errors.As(err, &known) || known.Code != core.CodeConflict:
		return err
	case known.Differs:
		v.R.PostForm.Del("once")
		return &core.Error{Code: core.CodeConflict, Message: "this form was sent before with other values, which were stored; these were not: send it again to add them too"}
	}
	return nil
}

// Changed returns what the visitor entered into a field, and whether it differs from what the page
// showed, which the form has in the field with was- before its name. A form that stores only such
// fields takes back nothing that other members have changed since it was opened.
func (f *Form) Changed(field string) (value string, changed bool) {
	value = f.values.Get(field)
	return value, !f.values.Has("was-"+field) || value != f.values.Get("was-"+field)
}

// SeenOf returns the value of the field seen of a form that replaces settings: a digest of them.
func SeenOf(settings string) string {
	sum := sha256.Sum256([]byte(settings))
	return hex.EncodeToString(sum[:8])
}

// CompareAndRepeat says what to do with a form whose settings have changed since it was opened.
const CompareAndRepeat = "open it again in another tab, compare, and repeat your change there"

// CheckSeen returns an error for a form whose settings have changed since it was opened. what
// names them.
func (f *Form) CheckSeen(what, settings string) error {
	if seen := f.Value("seen"); seen == "" || seen == SeenOf(settings) {
		return nil
	}
	return &core.Error{Code: core.CodeConflict, Message: what + " has changed since you opened this page; " + CompareAndRepeat}
}

func (f *Form) Failed() bool { return len(f.Errors) > 0 }

// Problem returns what is wrong with a field, or "".
func (f *Form) Problem(field string) string {
	for _, e := range f.Errors {
		if e.Field == field {
			return e.Message
		}
	}
	return ""
}

// Refuse adds an error of a use case to the form. labels are the fields of the form with
// their labels; an error about another field is about the whole form. It returns false if
// the error is not about what the visitor sent: then it belongs on a page of its own.
func (f *Form) Refuse(err error, labels map[string]string) bool {
	for _, one := range Split(err) {
		var known *core.Error
		if !errors.As(one, &known) {
			return false
		}
		switch known.Code {
		case core.CodeInvalid, core.CodeConflict, core.CodeRateLimited:
		case core.CodeUnauthenticated, core.CodeForbidden:
			if known.Field == "" {
				return false
			}
		default:
			return false
		}
		if label, ok := labels[known.Field]; ok {
			f.Errors = append(f.Errors, FormProblem{known.Field, Sentence(label + " " + known.ForForm())})
		} else {
			f.Errors = append(f.Errors, FormProblem{"", Sentence(known.ForForm())})
		}
	}
	return true
}

// Again shows a form again after an error of a use case; see Refuse for err and labels. An
// error that is not about what the visitor sent is returned.
func (f *Form) Again(v *Visit, err error, labels map[string]string, show func(*Visit, *Form) error) error {
	if !f.Refuse(err, labels) {
		return err
	}
	return show(v, f)
}

// Split returns the errors that errors.Join has joined.
func Split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, Split(one)...)
		}
		return all
	}
	return []error{err}
}

// Status returns the HTTP status of a page with a form.
func (f *Form) Status() int {
	if f.Failed() {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// input is a field of a form as the templates "input", "select" and "choices" show it.
type input struct {
	Name, Label, Value, Problem string
	// The rest is optional. Type is the type of the element: text unless it is set.
	Type, Hint, Autocomplete, Inputmode string
	Options                             []Option
	Optional                            bool
}

// Option is one choice of a field.
type Option struct {
	Value, Label, Hint string
	Chosen             bool
}

// OptionsOf returns options of pairs of a value and a label.
func OptionsOf(chosen string, pairs ...string) (all []Option) {
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, Option{Value: pair[0], Label: pair[1], Chosen: pair[0] == chosen})
	}
	return all
}

// Choose marks the option with a value as chosen, and returns all options.
func Choose(all []Option, value string) []Option {
	for i := range all {
		all[i].Chosen = all[i].Value == value
	}
	return all
}

func newOption(value, label, hint string) Option {
	return Option{Value: value, Label: label, Hint: hint}
}

// newInput returns a field of a form. more are pairs of the names type, hint,
// autocomplete, inputmode, value or optional, and a value.
func newInput(f *Form, name, label string, more ...string) (input, error) {
	in := input{Name: name, Label: label, Value: f.Value(name), Problem: f.Problem(name), Type: "text"}
	for i := 0; i+1 < len(more); i += 2 {
		switch more[i] {
		case "type":
			in.Type = more[i+1]
		case "hint":
			in.Hint = more[i+1]
		case "autocomplete":
			in.Autocomplete = more[i+1]
		case "inputmode":
			in.Inputmode = more[i+1]
		case "optional":
			in.Optional = true
		case "value":
			if _, sent := f.values[name]; !sent {
				in.Value = more[i+1]
			}
		default:
			return in, errors.New("portal: a field has no option " + more[i])
		}
	}
	if in.Type == "password" {
		in.Value = "" // never sent back
	}
	return in, nil
}

// newSelect returns a field with a choice from a list. f may be nil.
func newSelect(f *Form, name, label string, options []Option) input {
	in := input{Name: name, Label: label, Options: options}
	if f != nil {
		in.Problem = f.Problem(name)
	}
	return in
}

// newChoices returns a field with an element of a type, radio or checkbox, for each option.
func newChoices(kind, name string, options []Option) input {
	return input{Type: kind, Name: name, Options: options}
}
