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
	"kith/core/analytics"
	"kith/core/wire"
)

// Limits of one call.
const (
	// maxConflicts is how many pairs of different fields may have the same response
	// name. Validation compares them all, and reports an error for each pair of one
	// selection set.
	maxConflicts = 200
	// maxOverlap is how many pairs of fields may have the same response name.
	// Validation compares those of one selection set.
	maxOverlap = 50_000
	// maxQuery is the length of the longest document, in bytes. The variables are
	// limited by the size of the body only.
	maxQuery = 128 << 10
	// maxTokens is how many tokens a document may have.
	maxTokens = 20_000
	// maxDepth is how deep fields may be nested. The introspection query of common
	// tools needs 16 levels.
	maxDepth = 16
	// maxRoot is how many fields an operation may have at the top level. Clients
	// combine up to 10 queries in one operation.
	maxRoot = 50
	// maxFields is how many fields an operation may have. The fields of a fragment
	// count each time that it is spread.
	maxFields = 2000
	// maxFragments is how many fragments a document may have, and how many spreads:
	// validation compares each with every other.
	maxFragments = 200
	// maxCost is how many fields the answer may have. The fields within a list count
	// once for each element that its limit allows.
	maxCost = 50_000
	// listCost is how many elements are counted for a list that has no argument
	// limit, such as the rewards of a referral.
	listCost = 10
	// maxLimit is the largest limit of a list, and defaultLimit its default (clients
	// 1.11.8).
	maxLimit     = 1000
	defaultLimit = 20
	// defaultMaxTime is the MaxTime of a new server.
	defaultMaxTime = 20 * time.Second
	// parallel is how many fields of a query are resolved concurrently.
	parallel = 4
)

// bounds are the limits that depend on the caller. They are lower for a caller without
// credentials, whom the tenant can neither identify nor stop.
type bounds struct {
	// body, query and answer are in bytes. For the others see the constants above.
	body, query, tokens, root, fields, fragments, cost, answer int
}

var (
	authenticatedBounds = bounds{
		body: wire.MaxBody, query: maxQuery, tokens: maxTokens, root: maxRoot, fields: maxFields,
		fragments: maxFragments, cost: maxCost, answer: 4 << 20,
	}
	// answer: the template of one widget may have 512 KiB.
	anonymousBounds = bounds{
		body: 24 << 10, query: 24 << 10, tokens: 4000, root: 20, fields: 400, fragments: 50, cost: 4000, answer: 1 << 20,
	}
)

// boundsOf returns the bounds for a caller. In development all callers have the higher
// ones, since GraphiQL sends a large introspection query without credentials.
func (s *Server) boundsOf(c base.Caller) bounds {
	if c.Key || c.User != nil || s.introspection {
		return authenticatedBounds
	}
	return anonymousBounds
}

// documentCounts counts the parts of a document, without expanding fragments. It counts all
// operations, since validation reads those too that a call does not run.
type documentCounts struct {
	// fields is the number of fields, spreads the number of fragment spreads.
	fields, spreads int
	// signatures counts, for each response name, the fields with that name by their
	// signature.
	signatures map[string]map[string]int
}

// checkSize refuses a document whose validation would take too long or would report too
// many errors.
func checkSize(d *ast.QueryDocument, limits bounds) error {
	c := documentCounts{signatures: map[string]map[string]int{}}
	for _, op := range d.Operations {
		c.count(op.SelectionSet)
	}
	for _, f := range d.Fragments {
		c.count(f.SelectionSet)
	}
	if c.fields > limits.fields {
		return core.Invalid("query", "must not ask for more than "+strconv.Itoa(limits.fields)+" fields")
	}
	if max(len(d.Fragments), c.spreads) > limits.fragments {
		return core.Invalid("query", "must not have more than "+strconv.Itoa(limits.fragments)+" fragments, nor spread them more often")
	}
	overlap, conflicts := c.pairs()
	if overlap > maxOverlap {
		return core.Invalid("query", "must not use the same names in more than "+strconv.Itoa(maxOverlap)+" pairs of fields; send several calls")
	}
	if conflicts > maxConflicts {
		return core.Invalid("query", "must not use the same names for different fields, or with different arguments, in more than "+
			strconv.Itoa(maxConflicts)+" pairs of fields; give each field its own alias")
	}
	return nil
}

// count counts the fields and spreads of a selection set.
func (c *documentCounts) count(all ast.SelectionSet) {
	for _, s := range all {
		switch s := s.(type) {
		case *ast.Field:
			c.fields++
			if c.signatures[s.Alias] == nil {
				c.signatures[s.Alias] = map[string]int{}
			}
			c.signatures[s.Alias][signature(s)]++
			c.count(s.SelectionSet)
		case *ast.InlineFragment:
			c.count(s.SelectionSet)
		case *ast.FragmentSpread:
			c.spreads++
		}
	}
}

// signature returns the name of a field with its arguments, as text.
func signature(f *ast.Field) string {
	var b strings.Builder
	b.WriteString(f.Name)
	for _, a := range f.Arguments {
		b.WriteString(" " + a.Name + ":" + a.Value.String())
	}
	return b.String()
}

// pairs returns the number of pairs of fields with the same response name, and how many
// of these pairs are different fields or have different arguments.
func (c *documentCounts) pairs() (overlap, conflicts int) {
	for _, signatures := range c.signatures {
		all := 0
		for _, times := range signatures {
			conflicts += times * all
			all += times
		}
		overlap += all * (all - 1) / 2
	}
	return overlap, conflicts
}

// measure is the size of a selection set with its fragments expanded. size is the bytes
// of the names in the answer; for the others see the constants above.
type measure struct{ depth, root, fields, cost, size int }

// ceiling limits the sums, which nested fragments could make overflow.
const ceiling = 1 << 30

func (m measure) plus(n measure) measure {
	return measure{
		depth: max(m.depth, n.depth), root: min(m.root+n.root, ceiling),
		fields: min(m.fields+n.fields, ceiling), cost: min(m.cost+n.cost, ceiling), size: min(m.size+n.size, ceiling),
	}
}

// meter measures a valid operation.
type meter struct {
	document *ast.QueryDocument
	inputs   inputs
	// fragments has the sizes of the fragments that were measured.
	fragments map[string]measure
	// introspects reports whether the operation has a field __schema or __type.
	introspects bool
}

// within refuses an operation that exceeds a bound.
func (m measure) within(limits bounds) error {
	for _, bound := range []struct {
		size, limit int
		what        string
	}{
		{m.depth, maxDepth, "levels of nested fields"},
		{m.root, limits.root, "fields at the top level"},
		{m.fields, limits.fields, "fields"},
		{m.cost, limits.cost, "fields in its answer, where a field in a list counts once for each element that the limit allows"},
		{m.size, limits.answer, "bytes of names in its answer"},
	} {
		if bound.size > bound.limit {
			return core.Invalid("query", "must not ask for more than "+strconv.Itoa(bound.limit)+" "+bound.what)
		}
	}
	return nil
}

func (m *meter) selections(all ast.SelectionSet) (total measure) {
	for _, s := range all {
		switch s := s.(type) {
		case *ast.FragmentSpread:
			total = total.plus(m.fragment(s.Name))
		case *ast.InlineFragment:
			total = total.plus(m.selections(s.SelectionSet))
		case *ast.Field:
			total = total.plus(m.field(s))
		}
	}
	return total
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
		// 8 bytes: quotes, a colon, a comma, and null for a missing value.
		size: min(len(f.Alias)+8+times*min(below.size+2, ceiling/maxLimit), ceiling),
	}
}

// times returns how many values a field may have in the answer.
func (m *meter) times(f *ast.Field) int {
	if f.Definition.Arguments.ForName("limit") != nil {
		// A value out of range is refused when the field is resolved.
		arguments, err := m.inputs.arguments(f.Definition.Arguments, f.Arguments)
		if err != nil {
			return maxLimit
		}
		n, _ := arguments["limit"].(int64)
		return int(min(max(n, 1), maxLimit))
	}
	if f.ObjectDefinition != nil && f.ObjectDefinition.Name == "AnalyticsSeries" && f.Name == "points" {
		return analytics.MostPoints
	}
	// The elements of a page, in data, were counted with its limit.
	if f.Definition.Type.Elem != nil && f.Name != "data" {
		return listCost
	}
	return 1
}

// budget limits the bytes of an answer. Each value and each error is subtracted when it
// is written; the call is cancelled when nothing is left.
type budget struct {
	left atomic.Int64
	// limit is the initial value of left.
	limit  int64
	cancel context.CancelCauseFunc
}

// errAnswerTooLarge is why a call was cancelled whose answer became too large.
var errAnswerTooLarge = errors.New("graphql: the answer is too large")

func newBudget(limit int, cancel context.CancelCauseFunc) *budget {
	b := &budget{limit: int64(limit), cancel: cancel}
	b.left.Store(b.limit)
	return b
}

func (b *budget) spend(n int) {
	if b.left.Add(-int64(n)) < 0 {
		b.cancel(errAnswerTooLarge)
	}
}

// tooLarge returns the error of a call that used up its budget. The fields of a mutation
// that ran before are not undone.
func (b *budget) tooLarge() error {
	return core.Invalid("query", "the answer would take more than "+strconv.FormatInt(b.limit, 10)+
		" bytes: ask for fewer fields or smaller pages; mutations that ran are not undone")
}

// errorSize is the bytes of an error in the answer, without its message. The message is
// in the answer twice: as message and in apiError.
const errorSize = 512
