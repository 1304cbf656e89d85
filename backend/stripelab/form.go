package stripelab

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds the levels of a parameter's name, and maxFields the parameters of a call.
const (
	maxDepth  = 8
	maxFields = 2000
)

// form is a parameter: a text, or parameters below it by name. The elements of an array
// have numbers as names.
type form struct {
	text   string
	fields map[string]*form
}

// parseForm reads parameters such as items[0][price]=p, in a body or in a query.
func parseForm(encoded string) (*form, error) {
	root := &form{}
	count := 0
	for pair := range strings.SplitSeq(encoded, "&") {
		if pair == "" {
			continue
		}
		if count++; count > maxFields {
			return nil, fmt.Errorf("more than %d parameters", maxFields)
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, err
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return nil, err
		}
		if err := root.put(name, value); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func (f *form) put(name, value string) error {
	first, rest, _ := strings.Cut(name, "[")
	path := []string{first}
	for rest != "" {
		part, after, closed := strings.Cut(rest, "]")
		if !closed || len(path) >= maxDepth || after != "" && after[0] != '[' {
			return fmt.Errorf("the parameter %q is malformed", name)
		}
		path = append(path, part)
		rest = strings.TrimPrefix(after, "[")
	}
	for _, part := range path {
		if f.fields == nil {
			f.fields = map[string]*form{}
		}
		if part == "" {
			part = strconv.Itoa(len(f.fields))
		}
		if f.fields[part] == nil {
			f.fields[part] = &form{}
		}
		f = f.fields[part]
	}
	f.text = value
	return nil
}

// at returns the parameter at a path, or nil. A nil form has no parameters.
func (f *form) at(path ...string) *form {
	for _, name := range path {
		if f == nil {
			return nil
		}
		f = f.fields[name]
	}
	return f
}

func (f *form) has(name string) bool { return f.at(name) != nil }

// str returns a text, empty if it is not given.
func (f *form) str(path ...string) string {
	if v := f.at(path...); v != nil {
		return v.text
	}
	return ""
}

func (f *form) yes(path ...string) bool { return f.str(path...) == "true" }

// list returns the elements of an array, in the order of their numbers.
func (f *form) list(path ...string) []*form {
	v := f.at(path...)
	if v == nil {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(v.fields), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Compare(x, y)
	})
	var all []*form
	for _, name := range names {
		all = append(all, v.fields[name])
	}
	return all
}

func (f *form) texts(path ...string) []string {
	var all []string
	for _, one := range f.list(path...) {
		all = append(all, one.text)
	}
	return all
}

// leaves calls a function with the path of each text, without the numbers of elements.
func (f *form) leaves(path []string, visit func(path []string)) {
	if len(f.fields) == 0 && len(path) > 0 {
		visit(path)
	}
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		below := path
		if _, err := strconv.Atoi(name); err != nil || len(path) == 0 {
			below = append(slices.Clone(path), name)
		}
		f.fields[name].leaves(below, visit)
	}
}

// unknown returns the name of a parameter that a call does not have, or "". The known ones
// are paths such as items.price; metadata.* has any name below it.
func (f *form) unknown(known []string) string {
	found := ""
	f.leaves(nil, func(path []string) {
		whole := strings.Join(path, ".")
		for _, k := range known {
			if k == whole || strings.HasPrefix(k, whole+".") {
				return
			}
			if prefix, open := strings.CutSuffix(k, ".*"); open && (whole == prefix || strings.HasPrefix(whole, prefix+".")) {
				return
			}
		}
		if found == "" {
			found = path[0]
			for _, part := range path[1:] {
				found += "[" + part + "]"
			}
		}
	})
	return found
}
