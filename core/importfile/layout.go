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
	// Ignored is true for a column of reports that imports do not read.
	Ignored bool
}

// Name returns the column's name in the header.
func (c Column) Name() string { return strings.Join(c.Path, ".") }

// Layout describes the columns of a CSV file.
type Layout struct {
	// Columns are the columns in the order of the file.
	Columns []Column
	// Order has the indexes of the columns that are not ignored, ordered so that
	// columns of one nested object are adjacent.
	Order []int
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

// ParseHeader parses the names of the columns and returns all problems.
func ParseHeader(t job.Type, names []string) (Layout, []Problem) {
	h := header{rules: rulesOf(t)}
	if len(names) > MaxColumns {
		h.add("", "the header has "+strconv.Itoa(len(names))+" columns; a file may have "+strconv.Itoa(MaxColumns))
		return Layout{}, h.problems
	}
	for _, name := range names {
		h.column(name)
	}
	for _, name := range h.rules.required {
		if !slices.ContainsFunc(h.layout.Columns, func(c Column) bool { return c.Name() == name }) {
			h.add(name, "is required, and the header does not have it")
		}
	}
	h.order()
	return h.layout, h.problems
}

type header struct {
	rules    rules
	layout   Layout
	names    []string
	problems []Problem
}

func (h *header) add(column, reason string) {
	h.problems = append(h.problems, Problem{Column: column, Reason: reason})
}

func (h *header) column(name string) {
	meant := name
	if other, ok := h.rules.aliases[name]; ok {
		meant = other
	}
	if program, ok := strings.CutPrefix(name, "sharelinks."); ok {
		meant = "shareLinks." + program
	}
	c, ok := h.meaning(meant)
	if name == ProblemColumn {
		c, ok = Column{Path: []string{name}, Ignored: true}, true
	}
	switch {
	case name == "":
		h.add("", "column "+strconv.Itoa(len(h.layout.Columns)+1)+" has no name")
	case !ok:
		h.add(shown(name), "is not a column of this type of job"+h.hint(name))
	case slices.Contains(h.names, meant):
		h.add(shown(name), "is there twice")
	}
	h.names = append(h.names, meant)
	h.layout.Columns = append(h.layout.Columns, c)
}

func (h *header) meaning(name string) (Column, bool) {
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

// hint names the intended column if only the case or surrounding blanks differ.
func (h *header) hint(name string) string {
	for known := range h.rules.known {
		if strings.EqualFold(known, strings.TrimSpace(name)) {
			return "; the name is " + known + ", in this case and without blanks"
		}
	}
	if strings.ContainsAny(name, ";\t") {
		return "; separate columns by commas"
	}
	return ""
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

// CheckRow returns an error if a row does not have as many cells as the header.
func (l Layout) CheckRow(cells []string) *core.Error {
	if len(cells) == len(l.Columns) {
		return nil
	}
	return core.Malformed("", "the row has "+strconv.Itoa(len(cells))+" cells, and the header "+strconv.Itoa(len(l.Columns)))
}
