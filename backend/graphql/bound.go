package graphql

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/wire"
)

// Bounds of one call.
const (
	// maxConflicts is how many pairs of fields may share a response name and differ.
	// Most of them are in different places; validation compares them all, and each
	// that are in the same place is an error.
	maxConflicts = 200
	// maxOverlap is how many pairs of fields may share a response name, which
	// validation compares where they are in the same place.
	maxOverlap = 50_000
	// maxQuery is the longest document, in bytes; variables are bounded by the
	// body alone.
	maxQuery = 128 << 10
	// maxTokens is how many words and signs a document may have.
	maxTokens = 20_000
	// maxDepth is how many fields may stand below one another. Introspection,
	// which asks for types of types, needs 16.
	maxDepth = 16
	// maxRoot is how many fields an operation may have at its top: clients put
	// up to ten queries into one.
	maxRoot = 50
	// maxFields is how many fields an operation may ask for, each as often as
	// fragments repeat it.
	maxFields = 2000
	// maxFragments is how many fragments a document may have, and how often it may
	// spread them: validation compares each with each.
	maxFragments = 200
	// maxCost is how many fields the answer may have: what is asked for within
	// a list counts as often as its limit says.
	maxCost = 50_000
	// listCost is how often what is asked for within a list counts that has no
	// limit: a referral's rewards, the events of a call.
	listCost = 10
	// maxLimit is the largest limit of a list, and defaultLimit the one when a
	// call gives none (clients 1.11.8).
	maxLimit     = 1000
	defaultLimit = 20
	// defaultMaxTime is the MaxTime of a new server.
	defaultMaxTime = 20 * time.Second
	// parallel is how many fields of a call are resolved at once.
	parallel = 4
)

// bounds are those that depend on who calls. A caller without
// credentials cannot be asked to stop.
type bounds struct {
	// body and query are in bytes, tokens are words and signs; see above for root,
	// fields, fragments and cost. answer is how many bytes the answer may take.
	body, query, tokens, root, fields, fragments, cost, answer int
}

var (
	knownBounds = bounds{
		body: wire.MaxBody, query: maxQuery, tokens: maxTokens, root: maxRoot, fields: maxFields,
		fragments: maxFragments, cost: maxCost, answer: 4 << 20,
	}
	// A template alone may have half a MiB.
	strangerBounds = bounds{
		body: 24 << 10, query: 24 << 10, tokens: 4000, root: 20, fields: 400, fragments: 50, cost: 4000, answer: 1 << 20,
	}
)

// boundsOf are the bounds for a caller. In development the page that asks for the
// schema has no credentials, and its question is a large one.
func (s *Server) boundsOf(c base.Caller) bounds {
	if c.Key || c.User != nil || s.introspection {
		return knownBounds
	}
	return strangerBounds
}

// census counts what a document has as it is written, in all its operations: all
// are validated, also those that a call does not run.
type census struct {
	// fields is how many fields it has, spreads how often it spreads a fragment.
	fields, spreads int
	// meanings is how often each response name stands for which field, with which
	// arguments.
	meanings map[string]map[string]int
}

// bounded refuses a document that would take validation too long, or of which it
// would have too much to say.
func bounded(d *ast.QueryDocument, most bounds) error {
	c := census{meanings: map[string]map[string]int{}}
	for _, op := range d.Operations {
		c.count(op.SelectionSet)
	}
	for _, f := range d.Fragments {
		c.count(f.SelectionSet)
	}
	if c.fields > most.fields {
		return core.Invalid("query", "must not ask for more than "+strconv.Itoa(most.fields)+" fields")
	}
	if max(len(d.Fragments), c.spreads) > most.fragments {
		return core.Invalid("query", "must not have more than "+strconv.Itoa(most.fragments)+" fragments, nor spread them more often")
	}
	overlap, conflicts := c.pairs()
	if overlap > maxOverlap {
		return core.Invalid("query", "must not use the same names in more than "+strconv.Itoa(maxOverlap)+" pairs of fields: ask for less at once")
	}
	if conflicts > maxConflicts {
		return core.Invalid("query", "must not use the same names for different fields, or with different arguments, in more than "+
			strconv.Itoa(maxConflicts)+" pairs of fields: use another alias for each")
	}
	return nil
}

func (c *census) count(all ast.SelectionSet) {
	for _, s := range all {
		switch s := s.(type) {
		case *ast.Field:
			c.note(s)
			c.count(s.SelectionSet)
		case *ast.InlineFragment:
			c.count(s.SelectionSet)
		case *ast.FragmentSpread:
			c.spreads++
		}
	}
}

func (c *census) note(f *ast.Field) {
	c.fields++
	if c.meanings[f.Alias] == nil {
		c.meanings[f.Alias] = map[string]int{}
	}
	c.meanings[f.Alias][meaning(f)]++
}

// meaning is a field with its arguments, as text.
func meaning(f *ast.Field) string {
	var b strings.Builder
	b.WriteString(f.Name)
	for _, a := range f.Arguments {
		b.WriteString(" " + a.Name + ":" + a.Value.String())
	}
	return b.String()
}

// pairs counts those of fields that share a response name, and those that differ
// besides.
func (c *census) pairs() (overlap, conflicts int) {
	for _, meanings := range c.meanings {
		all := 0
		for _, times := range meanings {
			conflicts += times * all
			all += times
		}
		overlap += all * (all - 1) / 2
	}
	return overlap, conflicts
}

// measure is the size of a set of selections; size is in bytes, of the names that
// the answer has.
type measure struct{ depth, root, fields, cost, size int }

// ceiling stops sums that fragments of fragments would make overflow.
const ceiling = 1 << 30

func (m measure) plus(n measure) measure {
	return measure{
		depth: max(m.depth, n.depth), root: min(m.root+n.root, ceiling),
		fields: min(m.fields+n.fields, ceiling), cost: min(m.cost+n.cost, ceiling), size: min(m.size+n.size, ceiling),
	}
}

// meter measures an operation that was validated.
type meter struct {
	document *ast.QueryDocument
	inputs   inputs
	// fragments are those that were measured.
	fragments map[string]measure
	// introspects is true when the operation asks for the schema itself.
	introspects bool
}

// within refuses an operation that asks for too much.
func (m measure) within(most bounds) error {
	for _, bound := range []struct {
		size, most int
		what       string
	}{
		{m.depth, maxDepth, "fields below one another"},
		{m.root, most.root, "fields at its top"},
		{m.fields, most.fields, "fields"},
		{m.cost, most.cost, "fields in its answer, each counted as often as the limits of the lists around it say"},
		{m.size, most.answer, "bytes of names in its answer"},
	} {
		if bound.size > bound.most {
			return core.Invalid("query", "must not ask for more than "+strconv.Itoa(bound.most)+" "+bound.what)
		}
	}
	return nil
}

func (m *meter) selections(all ast.SelectionSet) (total measure) {
	for _, s := range all {
		total = total.plus(m.selection(s))
	}
	return total
}

func (m *meter) selection(s ast.Selection) measure {
	switch s := s.(type) {
	case *ast.FragmentSpread:
		return m.fragment(s.Name)
	case *ast.InlineFragment:
		return m.selections(s.SelectionSet)
	case *ast.Field:
		return m.field(s)
	}
	return measure{}
}

func (m *meter) fragment(name string) measure {
	if known, ok := m.fragments[name]; ok {
		return known
	}
	total := m.selections(m.document.Fragments.ForName(name).SelectionSet)
	m.fragments[name] = total
	return total
}

func (m *meter) field(f *ast.Field) measure {
	m.introspects = m.introspects || f.Name == "__schema" || f.Name == "__type"
	below, times := m.selections(f.SelectionSet), m.times(f)
	return measure{
		depth: below.depth + 1, root: 1, fields: min(below.fields+1, ceiling),
		cost: min(1+times*min(below.cost, ceiling/maxLimit), ceiling),
		// Quotes, a colon, a comma, and null for what is not there.
		size: min(len(f.Alias)+8+times*min(below.size+2, ceiling/maxLimit), ceiling),
	}
}

// times is how often the answer may hold what a field asks for.
func (m *meter) times(f *ast.Field) int {
	if f.Definition.Arguments.ForName("limit") != nil {
		return m.limit(f)
	}
	// What a page holds was counted with its limit.
	if f.Definition.Type.Elem != nil && f.Name != "data" {
		return listCost
	}
	return 1
}

// limit is how long a list may be. One that is out of bounds is refused elsewhere.
func (m *meter) limit(f *ast.Field) int {
	arguments, err := m.inputs.arguments(f.Definition.Arguments, f.Arguments)
	if err != nil {
		return maxLimit
	}
	n, _ := arguments["limit"].(int64)
	return int(min(max(n, 1), maxLimit))
}

// budget is how many bytes an answer may still take. Each value is charged as it
// is written, and each error as it is noted; a call that has used its budget up
// ends there.
type budget struct {
	left atomic.Int64
	// most is what left began with.
	most   int64
	cancel context.CancelCauseFunc
}

// errAnswerTooLarge ends a call whose answer would be too large.
var errAnswerTooLarge = errors.New("graphql: the answer is too large")

func newBudget(most int, cancel context.CancelCauseFunc) *budget {
	b := &budget{most: int64(most), cancel: cancel}
	b.left.Store(b.most)
	return b
}

func (b *budget) spend(n int) {
	if b.left.Add(-int64(n)) < 0 {
		b.cancel(errAnswerTooLarge)
	}
}

// tooLarge is the error of a call that has used its budget up. What a mutation did
// before stays done.
func (b *budget) tooLarge() error {
	return core.Invalid("query", "the answer would take more than "+strconv.FormatInt(b.most, 10)+
		" bytes: ask for fewer fields, or for smaller pages; what was changed until then stays changed")
}

// errorSize is what an error takes besides its message, which is in the answer
// twice: by itself and in apiError.
const errorSize = 512
