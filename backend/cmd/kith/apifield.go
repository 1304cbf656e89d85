package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/wire"
)

// splitField returns the name and the value of a field.
func splitField(field string) (name, value string, err error) {
	name, value, ok := strings.Cut(field, "=")
	switch {
	case !ok || name == "":
		err = core.Invalid(field, "must be NAME=VALUE")
	case strings.ContainsRune(field, utf8.RuneError): // which the parser of flags writes for other bytes
		err = core.Invalid(name, "must be UTF-8")
	}
	return name, value, err
}

// openFile opens a file that the operator names. An error is about the argument or flag field.
func openFile(field, name string) (*os.File, error) {
	file, err := os.Open(name) // #nosec G304 -- the operator names the file
	var info os.FileInfo
	if err == nil {
		info, err = file.Stat()
	}
	if err == nil && info.IsDir() {
		err = errors.Join(&os.PathError{Path: name, Err: syscall.EISDIR}, file.Close())
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = core.Invalid(field, name+": "+path.Err.Error()+"; give a file that can be read")
	}
	return file, err
}

// readFile reads most bytes at most of the file that open opens; - is the standard input.
func readFile(name string, most int64, open func(name string) (*os.File, error)) ([]byte, error) {
	in := os.Stdin
	if name != "-" {
		file, err := open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, most))
}

// readInput reads the file of the argument or flag field, or the standard input.
func readInput(field, name string) ([]byte, error) {
	text, err := readFile(name, wire.MaxBody+1, func(name string) (*os.File, error) { return openFile(field, name) })
	if err == nil && len(text) > wire.MaxBody {
		err = core.Invalid(name, "is larger than 1 MiB")
	}
	return text, err
}

// field is a field of the command line for a JSON object.
type field struct {
	name, path string
	// isList says that the values are added to a list; else there is one value.
	isList bool
	values []json.RawMessage
}

// parseFields reads fields of the form NAME=VALUE, and the files that they name; see
// apiCommand.Help. input is the file of the body, or empty.
func parseFields(given []string, input string) (all []field, err error) {
	inputs := 0
	if input == "-" {
		inputs++
	}
	for _, text := range given {
		f := field{}
		if f.name, text, err = splitField(text); err != nil {
			return nil, err
		}
		if text == "@-" {
			inputs++
		}
		if inputs > 1 {
			return nil, core.Invalid(f.name, "the standard input can be read once only; put the other text into a file")
		}
		f.path, f.isList = strings.CutSuffix(f.name, "[]")
		if f.values, err = fieldValues(f.name, text, f.isList); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// withFields returns a JSON object, or a new one, with the values of fields. Other values stay
// as they are written.
func withFields(body []byte, fields []field) ([]byte, error) {
	object := json.RawMessage(body)
	if len(object) > 0 {
		if whole := gjson.ParseBytes(body); !json.Valid(body) || !whole.IsObject() {
			return nil, core.Invalid("input", "must be a JSON object, so that fields can change it")
		} else if twice := repeatedKey(whole); twice != "" {
			return nil, core.Invalid("input", twice+" occurs twice")
		}
	}
	for _, f := range fields {
		changed, err := setAt(object, strings.Split(f.path, "."), f.change)
		if err != nil {
			return nil, err
		}
		object = changed
	}
	return object, nil
}

// change returns the value that the field sets in place of an old one, or of none.
func (f field) change(old json.RawMessage) (json.RawMessage, error) {
	if !f.isList {
		return f.values[0], nil
	}
	var list []json.RawMessage
	if len(old) > 0 && json.Unmarshal(old, &list) != nil {
		return nil, core.Invalid(f.name, "has a value that is no list")
	}
	return marshal(append(list, f.values...))
}

// setAt changes the value at a path of an object. An object that is not there is made.
func setAt(object json.RawMessage, keys []string, change func(old json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(object) > 0 && json.Unmarshal(object, &members) != nil || members == nil {
		if !bytes.Equal(object, []byte("null")) {
			return nil, core.Invalid(strings.Join(keys, "."), "would be in a value that is no object; leave that out, or set it to null before")
		}
		members = map[string]json.RawMessage{}
	}
	if further := keys[1:]; len(further) > 0 {
		inner := change
		change = func(old json.RawMessage) (json.RawMessage, error) { return setAt(old, further, inner) }
	}
	var err error
	if members[keys[0]], err = change(members[keys[0]]); err != nil {
		return nil, err
	}
	return marshal(members)
}

// marshal is json.Marshal that keeps <, > and &, since some objects are stored as they are sent.
func marshal(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	err := to.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// fieldValues returns the value of a field as JSON: several, if it is the lines of a file.
func fieldValues(name, text string, isList bool) (all []json.RawMessage, err error) {
	file, ok := strings.CutPrefix(text, "@")
	if !ok {
		value, err := marshal(fieldValue(text))
		return []json.RawMessage{value}, err
	}
	content, err := readInput(name, file)
	if err != nil {
		return nil, err
	}
	whole := strings.TrimPrefix(string(content), "\ufeff")
	if !utf8.ValidString(whole) {
		return nil, core.Invalid(name, "the text of "+file+" must be UTF-8")
	}
	lines := []string{whole}
	if isList {
		lines = strings.FieldsFunc(whole, func(c rune) bool { return c == '\n' || c == '\r' })
	}
	for _, line := range lines {
		if isList {
			line = strings.TrimSpace(line)
		}
		if line == "" && isList {
			continue
		}
		value, err := marshal(line)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

// fieldValue returns the value of a field: JSON as it is, and any other text as text.
func fieldValue(text string) any {
	if json.Valid([]byte(text)) && repeatedKey(gjson.Parse(text)) == "" {
		return json.RawMessage(text)
	}
	return text
}

// repeatedKey returns a key that occurs twice in an object within a value, or "". The decoder
// would take the last.
func repeatedKey(value gjson.Result) (twice string) {
	seen := map[string]bool{}
	value.ForEach(func(key, inner gjson.Result) bool {
		if value.IsObject() && seen[key.String()] {
			twice = key.String()
		}
		seen[key.String()] = true
		if inner.IsObject() || inner.IsArray() {
			twice = cmp.Or(twice, repeatedKey(inner))
		}
		return twice == ""
	})
	return twice
}
