package files

import (
	"slices"
	"strconv"
	"strings"

	"kith/backend/app/jobs"
	"kith/backend/portal/frame"
	"kith/core/importfile"
	"kith/core/job"
)

// maxAsked is the number of columns of a file at most whose meaning people choose in the portal:
// forms are bounded. A file with more is imported by its names, or by the API.
const maxAsked = 100

// column is a column of a file, with the choice of what it is.
type column struct {
	Number int
	Name   string
	// Samples are its first values.
	Samples []string
	Options []frame.Option
	// Twice is true if another one has the same name, so that neither can be chosen.
	Twice bool
}

// Field is the name of the column's field in the form.
func (c column) Field() string { return "c" + strconv.Itoa(c.Number) }

// idColumn is one of the columns that say who a person is, with the choice of its source.
type idColumn struct {
	Name, Label string
	Options     []frame.Option
}

// asked is the data of the part of the page on which columns are chosen.
type asked struct {
	Columns []column
	IDs     []idColumn
	// Question is true if a person must look at the choice.
	Question bool
}

// askedOf returns the choice for a file that was checked; it has no columns for a file without a
// header.
func askedOf(t job.Type, c jobs.Checked) (a asked) {
	names := c.Names
	if len(names) > maxAsked {
		return a
	}
	ids, own := importfile.UserColumns(t), importfile.Meanings(t, names)
	source := map[string]string{}
	for i, meant := range own {
		if _, chosen := c.Columns[meant]; meant != "" && !chosen {
			source[meant] = names[i]
		}
	}
	for target, name := range c.Columns {
		source[target] = name
	}
	for i, name := range names {
		if name == importfile.ProblemColumn || strings.TrimSpace(name) == "" {
			continue
		}
		one := column{Number: i, Name: name, Twice: slices.Index(names, name) != i || slices.Contains(names[i+1:], name)}
		for _, row := range c.Samples {
			if i < len(row) && row[i] != "" {
				one.Samples = append(one.Samples, row[i])
			}
		}
		one.Options = targets(t, ids, source, name)
		a.Columns = append(a.Columns, one)
	}
	for n, label := range []string{"The account of a row", "The user of a row"} {
		id := idColumn{Name: ids[n], Label: label, Options: []frame.Option{{Label: "choose a column"}}}
		for i, name := range names {
			if name != importfile.ProblemColumn {
				id.Options = append(id.Options, frame.Option{Value: strconv.Itoa(i), Label: name, Chosen: source[ids[n]] == name})
			}
		}
		a.IDs = append(a.IDs, id)
	}
	a.Question = len(c.File) > 0 || len(c.Columns) > 0 || len(c.Unknown) > 0
	return a
}

// targets returns what a column may be.
func targets(t job.Type, ids [2]string, source map[string]string, name string) []frame.Option {
	all := []frame.Option{{Label: "do not import"}}
	known := importfile.Known(t)
	for _, family := range []string{"customFields", "event.fields"} {
		if own := family + "." + fieldName(name); len(importfile.Meanings(t, []string{own})[0]) > 0 && !slices.Contains(known, own) {
			known = append(known, own)
		}
	}
	for _, target := range importfile.Mapping(source).Names() {
		if source[target] == name && !slices.Contains(known, target) {
			known = append(known, target)
		}
	}
	for _, target := range known {
		if !slices.Contains(ids[:], target) {
			all = append(all, frame.Option{Value: target, Label: words(target), Chosen: source[target] == name})
		}
	}
	return all
}

// fieldName returns the name of a field of one's own for a column, such as Shoe_Size.
func fieldName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '.' || r < ' ' || strings.ContainsRune(` "'`, r) {
			return '_'
		}
		return r
	}, strings.TrimSpace(name))
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return name
}

// words returns the name of a column as people read it, such as "first name".
func words(target string) string {
	for prefix, before := range map[string]string{"customFields.": "own field: ", "event.fields.": "field of the event: "} {
		if name, ok := strings.CutPrefix(target, prefix); ok {
			return before + name
		}
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(target, ".", ": ") {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// chosenColumns returns the mapping that a form chooses, or nil if it has no choice.
func chosenColumns(f *frame.Form, t job.Type) importfile.Mapping {
	var names []string
	for i := 0; i < maxAsked && f.Value("h"+strconv.Itoa(i)) != ""; i++ {
		names = append(names, strings.TrimPrefix(f.Value("h"+strconv.Itoa(i)), headerMark))
	}
	if len(names) == 0 {
		return nil
	}
	ids, own := importfile.UserColumns(t), importfile.Meanings(t, names)
	m, taken, times := importfile.Mapping{}, map[string]bool{}, map[string]int{}
	for _, meant := range own {
		times[meant]++
	}
	for i, name := range names {
		target := f.Value("c" + strconv.Itoa(i))
		if target == "" || slices.Contains(ids[:], target) {
			continue
		}
		if taken[target] = true; own[i] != target || times[target] > 1 {
			m[target] = name
		}
	}
	for _, meant := range own {
		if meant != "" && !slices.Contains(ids[:], meant) && !taken[meant] {
			m[meant] = ""
		}
	}
	for _, id := range ids {
		i, err := strconv.Atoi(f.Value(id))
		switch {
		case err != nil || i < 0 || i >= len(names):
			if times[id] > 0 {
				m[id] = ""
			}
		case own[i] != id || times[id] > 1:
			m[id] = names[i]
		}
	}
	return m
}

// headerMark begins each name of a header in the form, so that no field is empty.
const headerMark = "="
