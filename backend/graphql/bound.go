package graphql

import (
	"strconv"
	"time"

	"github.com/graph-gophers/graphql-go/ast"

	"kith/backend/program"
	"kith/core"
	"kith/core/wire"
)

// Bounds of one call.
const (
	// maxConflicts is how many pairs of fields may share a response name and differ.
	// Most of them are in different places; validation compares them all, and each
	// that are in the same place is an error.
	maxConflicts = 200
	// maxQuery is the longest document, in bytes; variables are bounded by the
	// body alone.
	maxQuery = 128 << 10
	// maxTokens is how many words and signs a document may have.
	maxTokens = 20_000
	// maxNesting is how many brackets may be open at once.
	maxNesting = 64
	// maxDepth is how many fields may stand below one another. Introspection,
	// which asks for types of types, needs 16.
	maxDepth = 16
	// maxRoot is how many fields an operation may have at its top: clients put
	// up to ten queries into one.
	maxRoot = 50
	// maxFields is how many fields an operation may ask for, each as often as
	// fragments repeat it.
	maxFields = 2000
	// maxCost is how many fields the answer may have: what is asked for within
	// a list counts as often as its limit says.
	maxCost = 50_000
	// listCost is how often what is asked for within a list counts that has no
	// limit: a referral's rewards, the events of a call.
	listCost = 10
	// maxLimit is the largest limit of a list, and defaultLimit the one when a
	// call gives none (reference, 1.11).
	maxLimit     = 1000
	defaultLimit = 20
	// defaultMaxTime is the MaxTime of a new server.
	defaultMaxTime = 20 * time.Second
	// maxOverlap is how many pairs of fields of one name may be compared.
	maxOverlap = 50_000
	// parallel is how many fields of a call are resolved at once.
	parallel = 4
)

// bounds are those that depend on who calls. A caller without
// credentials cannot be asked to stop.
type bounds struct {
	// body and query are in bytes, tokens are words and signs; see above for root,
	// fields and cost. answer is how many bytes the answer may take.
	body, query, tokens, root, fields, cost, answer int
}

var (
	knownBounds = bounds{
		body: wire.MaxBody, query: maxQuery, tokens: maxTokens, root: maxRoot, fields: maxFields, cost: maxCost, answer: 4 << 20,
	}
	// A template alone may have half a MiB.
	strangerBounds = bounds{body: 24 << 10, query: 24 << 10, tokens: 4000, root: 20, fields: 400, cost: 4000, answer: 1 << 20}
)

// boundsOf are the bounds for a caller. In development the page that asks for the
// schema has no credentials, and its question is a large one.
func (s *Server) boundsOf(c program.Caller) bounds {
	if c.Key || c.User != nil || s.introspection {
		return knownBounds
	}
	return strangerBounds
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

// meter measures an operation against the schema.
type meter struct {
	most      bounds
	document  *document
	schema    *ast.Schema
	operation *operation
	variables map[string]any
	// fragments that were measured; one that is being measured has depth -1.
	fragments map[string]measure
	// introspects is true when the operation asks for the schema itself.
	introspects bool
}

// bounded refuses an operation that asks for too much.
func (m *meter) bounded() error {
	total, err := m.selections(m.operation.selections, m.root())
	if err != nil {
		return err
	}
	for _, bound := range []struct {
		size, most int
		what       string
	}{
		{total.depth, maxDepth, "fields below one another"},
		{total.root, m.most.root, "fields at its top"},
		{total.fields, m.most.fields, "fields"},
		{total.cost, m.most.cost, "fields in its answer, each counted as often as the limits of the lists around it say"},
		{total.size, m.most.answer, "bytes of names in its answer"},
	} {
		if bound.size > bound.most {
			return core.Invalid("query", "must not ask for more than "+strconv.Itoa(bound.most)+" "+bound.what)
		}
	}
	return nil
}

func (m *meter) root() ast.NamedType { return m.schema.RootOperationTypes[m.operation.kind] }

func (m *meter) selections(all []selection, of ast.NamedType) (total measure, err error) {
	for _, s := range all {
		one, err := m.selection(s, of)
		if err != nil {
			return total, err
		}
		total = total.plus(one)
	}
	return total, nil
}

func (m *meter) selection(s selection, of ast.NamedType) (measure, error) {
	switch {
	case s.spread != "":
		return m.fragment(s.spread)
	case s.name == "" && s.on != "":
		return m.selections(s.children, m.schema.Types[s.on])
	case s.name == "":
		return m.selections(s.children, of)
	}
	return m.field(s, of)
}

func (m *meter) fragment(name string) (total measure, err error) {
	if known, ok := m.fragments[name]; ok {
		if known.depth < 0 {
			return known, core.Invalid("query", "fragment "+short(name)+" contains itself")
		}
		return known, nil
	}
	f := m.document.fragments[name]
	if f == nil {
		return total, nil
	}
	m.fragments[name] = measure{depth: -1}
	total, err = m.selections(f.selections, m.schema.Types[f.on])
	m.fragments[name] = total
	return total, err
}

func (m *meter) field(s selection, of ast.NamedType) (measure, error) {
	var kind ast.Type
	times := 1
	if s.name == "__schema" || s.name == "__type" {
		m.introspects = true
	} else if def := fieldsOf(of).Get(s.name); def != nil {
		kind, times = def.Type, m.times(s, def)
	}
	below, err := m.selections(s.children, named(kind))
	return measure{
		depth: below.depth + 1, root: 1, fields: min(below.fields+1, ceiling),
		cost: min(1+times*min(below.cost, ceiling/maxLimit), ceiling),
		// Quotes, a colon, a comma, and null for what is not there.
		size: min(len(s.alias)+8+times*min(below.size+2, ceiling/maxLimit), ceiling),
	}, err
}

// times is how often the answer may hold what a field asks for.
func (m *meter) times(s selection, def *ast.FieldDefinition) int {
	if def.Arguments.Get("limit") != nil {
		return min(max(m.limit(s.limit), 1), maxLimit)
	}
	kind := def.Type
	if nonNull, ok := kind.(*ast.NonNull); ok {
		kind = nonNull.OfType
	}
	// What a page holds was counted with its limit.
	if _, ok := kind.(*ast.List); ok && s.name != "data" {
		return listCost
	}
	return 1
}

// limit is what an argument says; what is no number is refused elsewhere.
func (m *meter) limit(text string) int {
	if text == "" {
		return defaultLimit
	}
	if text[0] == '$' {
		given, ok := m.variables[text[1:]]
		if !ok {
			return m.limit(m.operation.defaults[text[1:]])
		}
		n, _ := argument{given}.number("", 0)
		return int(min(n, maxLimit))
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return maxLimit
	}
	return n
}

func fieldsOf(t ast.NamedType) ast.FieldsDefinition {
	switch t := t.(type) {
	case *ast.ObjectTypeDefinition:
		return t.Fields
	case *ast.InterfaceTypeDefinition:
		return t.Fields
	}
	return nil
}

// named is a type without its lists and exclamation marks.
func named(t ast.Type) ast.NamedType {
	for {
		switch of := t.(type) {
		case *ast.NonNull:
			t = of.OfType
		case *ast.List:
			t = of.OfType
		case ast.NamedType:
			return of
		default:
			return nil
		}
	}
}
