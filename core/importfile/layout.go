package importfile

import (
	"slices"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/job"
)

// Kind is the kind of the values in a column.
type Kind uint8

const (
	// Text is any text.
	Text Kind = iota
	// Boolean is true or false, in any case.
	Boolean
	// Integer is a whole number.
	Integer
	// Any is a number if it is written as in JSON and a float64 keeps all of its
	// digits; true or false; else a text.
	Any
)

// Column is one column of a CSV file.
type Column struct {
	// Path has the parts of its name, which dots separate.
	Path []string
	Kind Kind
	// Ignored is true for a column that imports do not read.
	Ignored bool
	// foreign is true for a column of another service's files that has no meaning here.
	foreign bool
}

// money reports whether the column has an amount of money.
func (c Column) money() bool {
	return c.Name() == "event.fields.revenue" || c.Name() == "valueToRedeem"
}

// isID reports whether the column has ids of the shop, in which a comma is no decimal comma.
func (c Column) isID() bool {
	return c.Name() == "event.fields.order_id" || c.Name() == "event.fields.refund_id"
}

// Name returns the column's name in the header.
func (c Column) Name() string { return strings.Join(c.Path, ".") }

// Layout describes the columns of a CSV file.
type Layout struct {
	// Columns are the columns in the order of the file, then those that a Mapping fills from
	// a column that has another meaning too.
	Columns []Column
	// Order has the indexes of the columns that are not ignored, ordered so that
	// columns of one nested object are adjacent.
	Order []int
	// Names is the header as the file has it, without columns at its end that have no name.
	Names []string
	// Unknown are the names of columns that are not imported because nothing says what they
	// mean.
	Unknown []string
	// Separator is that of the file as it came; see Dialect. With semicolons, numbers may have
	// a decimal comma.
	Separator string
	// from has the indexes of the cells of the columns after those of the file.
	from []int
}

// Heading returns the name in the header of the column that fills one of Kith's, or the name
// of that if the file has no header.
func (l Layout) Heading(name string) string {
	for i, c := range l.Columns {
		if c.Name() != name || c.Ignored {
			continue
		}
		if own := len(l.Columns) - len(l.from); i >= own {
			i = l.from[i-own]
		}
		return l.Names[i]
	}
	if strings.HasPrefix(name, "referralCodes.") && len(l.Names) > 0 { // referralCode fills it
		return l.Heading("referralCode")
	}
	return name
}

// rules describes the columns of a type of job.
type rules struct {
	required []string
	known    map[string]Kind
	// families are prefixes of columns with any name, such as customFields.
	families map[string]Kind
	// ignored are columns of reports, which people complete and upload again.
	ignored []string
	// aliases are other names of columns.
	aliases map[string]string
}

// ProblemColumn is the column of a file of rejected rows that says what is wrong with each
// row. Imports ignore it, so that the file can be corrected and imported as it is.
const ProblemColumn = "kithProblem"

// reports are columns of the user reports that no import sets.
var reports = []string{
	"firstSeenIP", "lastSeenIP", "emailHash", "referralSource", "shareLink", "facebookShareLink", "twitterShareLink",
	"emailShareLink", "linkedinShareLink",
}

// rulesOf returns the columns of a type (clients 3.3). It is a function, since the component
// would fill a variable at each start.
func rulesOf(t job.Type) rules {
	return map[job.Type]rules{
		job.ImportUser: {
			required: []string{"accountId", "id"},
			known: map[string]Kind{
				"accountId": Text, "id": Text, "firstName": Text, "lastName": Text, "email": Text, "referable": Boolean,
				"locale": Text, "countryCode": Text, "imageUrl": Text, "dateCreated": Integer, "dateUsTaxFormSubmitted": Integer,
				"referredBy.code": Text, "referredBy.isConverted": Boolean, "paymentProviderId": Text, "referralCode": Text,
			},
			families: map[string]Kind{"referralCodes": Text, "shareLinks": Text, "customFields": Any},
			ignored:  reports,
		},
		job.ImportDelete: {
			required: []string{"accountId", "id"},
			known:    map[string]Kind{"accountId": Text, "id": Text, "preserveEmptyAccount": Boolean, "doNotTrack": Boolean},
			ignored:  append([]string{"email", "firstName", "lastName", "imageUrl", "dateCreated", "locale"}, reports...),
		},
		job.ImportUserEvent: {
			required: []string{"accountId", "userId", "event.key"},
			known: map[string]Kind{
				"accountId": Text, "userId": Text, "idempotencyKey": Text, "event.key": Text, "event.dateTriggered": Integer,
			},
			families: map[string]Kind{"event.fields": Any},
			// The names in the export, whose other columns are no events of a file.
			aliases: map[string]string{"user.accountId": "accountId", "user.id": "userId"},
		},
		job.ImportRedeem: {
			required: []string{"accountId", "id", "unit", "valueToRedeem"},
			known:    map[string]Kind{"accountId": Text, "id": Text, "unit": Text, "currency": Text, "valueToRedeem": Text, "idempotencyKey": Text},
			ignored:  []string{"email", "firstName", "lastName", "type", "availableValue"},
			// The names in the report.
			aliases: map[string]string{
				"user.accountId": "accountId", "user.id": "id", "userId": "id", "user.email": "email",
				"user.firstName": "firstName", "user.lastName": "lastName",
			},
		},
	}[t]
}

// ParseHeader parses the names of the columns and returns all problems. Without a mapping, a
// name that is not known is a problem; with one, such a column is not imported.
func ParseHeader(t job.Type, names []string, m Mapping) (Layout, []Problem) {
	for len(names) > 0 && strings.TrimSpace(names[len(names)-1]) == "" {
		names = names[:len(names)-1]
	}
	h := header{rules: rulesOf(t), synonyms: synonymsOf(t), mapping: m, taken: map[string]bool{}, layout: Layout{Names: slices.Clone(names)}}
	if len(names) > MaxColumns {
		h.add("", "the header has "+strconv.Itoa(len(names))+" columns; a file may have "+strconv.Itoa(MaxColumns))
		return Layout{}, h.problems
	}
	h.mapped = h.sources()
	for i, name := range names {
		h.column(i, name)
	}
	for _, c := range h.extra {
		h.layout.Columns = append(h.layout.Columns, c.Column)
		h.layout.from = append(h.layout.from, c.cell)
	}
	for _, name := range h.rules.required {
		if !slices.ContainsFunc(h.layout.Columns, func(c Column) bool { return c.Name() == name && !c.Ignored }) {
			reason := "is required, and the header does not have it"
			if ids := UserColumns(t); slices.Contains(ids[:], name) {
				reason += h.proposal(t)
			}
			h.add(name, reason)
		}
	}
	h.order()
	return h.layout, h.problems
}

type header struct {
	rules    rules
	synonyms map[string]string
	mapping  Mapping
	// mapped has the columns that the mapping fills from each cell.
	mapped map[int][]Column
	layout Layout
	// taken has the names of columns that are filled.
	taken    map[string]bool
	extra    []extraColumn
	problems []Problem
}

// extraColumn is a column that is filled from a cell that fills another one too.
type extraColumn struct {
	Column
	cell int
}

func (h *header) add(column, reason string) {
	h.problems = append(h.problems, Problem{Column: column, Reason: reason})
}

// column adds the column with a name of the file, and those that the mapping fills from it.
func (h *header) column(i int, name string) {
	all := h.mapped[i]
	c, ok := h.meaning(name)
	if _, elsewhere := h.mapping[c.Name()]; ok && elsewhere {
		ok = false // the mapping says what fills it
	} else if ok {
		all = append([]Column{c}, all...)
	}
	switch {
	case len(all) > 0:
	case name == "" && h.mapping == nil:
		h.add("", "column "+strconv.Itoa(i+1)+" has no name")
	case h.mapping == nil:
		h.add(shown(name), "is not a column of this type of job; say in params.columns what it is, or leave it out")
	default:
		h.layout.Unknown = append(h.layout.Unknown, shown(name))
	}
	if len(all) == 0 {
		all = []Column{{Path: []string{name}, Ignored: true}}
	} else if c.foreign && len(all) == 1 {
		h.layout.Unknown = append(h.layout.Unknown, shown(name))
	}
	for n, c := range all {
		if h.taken[c.Name()] && !c.Ignored {
			h.add(shown(name), "is there twice")
		}
		h.taken[c.Name()] = true
		if n == 0 {
			h.layout.Columns = append(h.layout.Columns, c)
		} else {
			h.extra = append(h.extra, extraColumn{c, i})
		}
	}
}

// meaning returns the column that a name of the file means.
func (h *header) meaning(name string) (Column, bool) {
	if name == ProblemColumn {
		return Column{Path: []string{name}, Ignored: true}, true
	}
	if c, ok := h.exact(name); ok {
		return c, true
	}
	// Exports have each date twice: for people, with the time zone in its name, and plain.
	if plain, zone, ok := strings.Cut(name, " ("); ok && strings.HasSuffix(zone, ")") && slices.Contains(h.layout.Names, plain) {
		return Column{Path: []string{name}, Ignored: true}, true
	}
	if program, ok := strings.CutPrefix(name, "sharelinks."); ok {
		return h.exact("shareLinks." + program)
	}
	plain := canonical(name)
	if meant, ok := h.synonyms[plain]; ok {
		if meant == "" {
			return Column{Path: []string{name}, Ignored: true, foreign: true}, true
		}
		return h.exact(meant)
	}
	for family := range h.rules.families {
		// The name below a family is free, and has its case.
		parts := strings.SplitN(strings.TrimSpace(name), ".", strings.Count(family, ".")+2)
		last := len(parts) - 1
		if last > strings.Count(family, ".") && canonical(strings.Join(parts[:last], ".")) == canonical(family) {
			return h.exact(family + "." + parts[last])
		}
	}
	return Column{Path: []string{name}, Ignored: true}, false
}

// exact returns the column with a name of Kith.
func (h *header) exact(name string) (Column, bool) {
	if other, ok := h.rules.aliases[name]; ok {
		name = other
	}
	path := strings.Split(name, ".")
	if kind, ok := h.rules.known[name]; ok {
		return Column{Path: path, Kind: kind}, true
	}
	if slices.Contains(h.rules.ignored, name) {
		return Column{Path: path, Ignored: true}, true
	}
	for family, kind := range h.rules.families {
		below, ok := strings.CutPrefix(name, family+".")
		if ok && below != "" && !slices.Contains(strings.Split(below, "."), "") {
			return Column{Path: path, Kind: kind}, true
		}
	}
	return Column{Path: path, Ignored: true}, false
}

// shown shortens a name for an error message.
func shown(name string) string {
	const most = 64
	if len(name) > most {
		return strings.ToValidUTF8(name[:most], "") + "…"
	}
	return name
}

// order sets Layout.Order, and reports names that are both an object and a value.
func (h *header) order() {
	columns := h.layout.Columns
	for i, c := range columns {
		if !c.Ignored {
			h.layout.Order = append(h.layout.Order, i)
		}
	}
	slices.SortStableFunc(h.layout.Order, func(a, b int) int { return slices.Compare(columns[a].Path, columns[b].Path) })
	for i := 1; i < len(h.layout.Order); i++ {
		upper, below := columns[h.layout.Order[i-1]].Path, columns[h.layout.Order[i]].Path
		if len(below) > len(upper) && slices.Equal(upper, below[:len(upper)]) {
			h.add(shown(strings.Join(upper, ".")), "is both a value and the prefix of another column; rename one of them")
		}
	}
}

// Row returns the cells of a row for Columns. It is an error if the row does not have as many as
// the header, then without cells, or a cell that cannot be read. Empty cells after those of the header
// count for nothing. It may change cells.
func (l Layout) Row(cells []string) ([]string, *core.Error) {
	width := len(l.Columns) - len(l.from)
	for len(cells) > width && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) != width {
		return nil, core.Malformed("", "the row has "+strconv.Itoa(len(cells))+" cells, and the header "+strconv.Itoa(width))
	}
	for _, i := range l.from {
		cells = append(cells, cells[i])
	}
	for _, i := range l.Order {
		c := l.Columns[i]
		if isError(cells[i]) {
			return cells, core.Invalid(c.Name(), "is the error "+cells[i]+" of a spreadsheet; correct the cell")
		}
		if c.isDate() && isSerial(cells[i]) {
			return cells, core.Invalid(c.Name(), "has "+cells[i]+", a day as spreadsheets count it; give the column the format of a date, and save the file again")
		}
		sure := true
		switch {
		case l.Separator == ";" && c.isDate():
			date := germanDate(cells[i])
			if _, ok := core.ParseDate(date); !ok && date != cells[i] {
				return cells, core.Invalid(c.Name(), "is a day or time that does not exist, or is before 1970; correct it")
			}
			cells[i] = date
		case l.Separator == ";" && (c.Kind == Any && !c.isID() || c.Kind == Integer || c.money()):
			cells[i], sure = decimal(cells[i], c.money())
		case l.Separator == "\t" && c.money(), c.Name() == "valueToRedeem":
			sure = !core.Thousand(cells[i], ".")
		}
		if !sure && c.money() {
			point := "."
			if l.Separator == ";" {
				point = ","
			}
			sent := strings.TrimSpace(cells[i])
			at := strings.IndexAny(sent, ".,")
			return cells, core.Invalid(c.Name(), "may be a thousand or a decimal number; write "+sent[:at]+sent[at+1:]+" or "+sent[:at]+point+sent[at+1:]+"0")
		}
	}
	return cells, nil
}

// isSerial reports whether a cell has the number of a day, counted from 1900, as cells have that
// lost the format of a date: 46082 or 46082.375. As epoch milliseconds it would be in the first
// minutes of 1970.
func isSerial(cell string) bool {
	day, fraction, _ := strings.Cut(strings.Replace(cell, ",", ".", 1), ".")
	return len(day) == 5 && day[0] != '0' && strings.Trim(day+fraction, "0123456789") == ""
}

// isDate reports whether the column has times.
func (c Column) isDate() bool {
	return c.Name() == "dateCreated" || c.Name() == "event.dateTriggered" || c.Name() == "dateUsTaxFormSubmitted"
}

// germanDate returns a date such as 01.12.2025 or 1.12.2025 14:30, as spreadsheets write it where
// numbers have a decimal comma, in the form of ISO 8601. Another text is returned as it is.
func germanDate(cell string) string {
	date, clock, timed := strings.Cut(strings.TrimSpace(cell), " ")
	parts := strings.Split(date, ".")
	if len(parts) != 3 || len(parts[2]) != 4 || parts[0] == "" || parts[1] == "" || len(parts[0]) > 2 || len(parts[1]) > 2 || !core.Digits(strings.Join(parts, "")) {
		return cell
	}
	pad := func(s string) string { return strings.Repeat("0", 2-len(s)) + s }
	date = parts[2] + "-" + pad(parts[1]) + "-" + pad(parts[0])
	if !timed {
		return date
	}
	if hour, rest, ok := strings.Cut(strings.TrimSpace(clock), ":"); ok && len(hour) == 1 {
		clock = pad(hour) + ":" + rest
	}
	if clock = strings.TrimSpace(clock); len(clock) == len("14:30") {
		clock += ":00"
	}
	return date + "T" + clock
}

// isError reports whether a cell is an error that a spreadsheet shows in place of a value.
func isError(cell string) bool {
	switch cell {
	case "#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!":
		return true
	}
	return false
}
