package graphql

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"kith/core"
	"kith/core/wire"
)

// loadSchema reads a schema in GraphQL's own language.
func loadSchema(text string) (*ast.Schema, error) {
	schema, err := validator.LoadSchema(validator.Prelude, &ast.Source{Name: "schema.graphql", Input: text})
	if err != nil {
		return nil, err
	}
	// The library knows the directive; an answer in parts is not offered.
	delete(schema.Directives, "defer")
	return schema, nil
}

// parse reads a document. What it says may still make no sense; see validate.
func parse(text string, most bounds) (*ast.QueryDocument, error) {
	if len(text) > most.query {
		return nil, wire.TooLarge(most.query)
	}
	if !utf8.ValidString(text) {
		return nil, core.Invalid("query", "must be UTF-8")
	}
	d, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: newLines.Replace(strings.TrimPrefix(text, "\ufeff"))}, most.tokens)
	if err != nil {
		return nil, syntaxProblem(err, most)
	}
	if len(d.Operations) == 0 {
		return nil, core.Invalid("query", "must have an operation, such as { viewer { permissions } }")
	}
	return d, nil
}

// newLines writes all ends of lines alike, as the GraphQL specification reads them; the
// library's columns are one too many after "\r\n".
var newLines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// syntaxError is a document that cannot be read, and where.
type syntaxError struct {
	at      []wire.Position
	message string
}

func (e *syntaxError) Error() string { return e.message }

func syntaxProblem(err error, most bounds) error {
	var problem *gqlerror.Error
	if !errors.As(err, &problem) {
		return err
	}
	if strings.HasPrefix(problem.Message, "exceeded token limit") {
		return core.Invalid("query", "must not have more than "+strconv.Itoa(most.tokens)+" words and signs")
	}
	return &syntaxError{positions(problem.Locations), short(strings.ReplaceAll(problem.Message, "<EOF>", "the end"))}
}

func positions(all []gqlerror.Location) []wire.Position {
	out := make([]wire.Position, len(all))
	for i, at := range all {
		out[i] = wire.Position{Line: at.Line, Column: at.Column}
	}
	return out
}

// short keeps a message short, whatever was sent.
func short(s string) string {
	const shown = 200
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + "…"
	}
	return s
}

// specifiedRules are those of section 5 of the GraphQL specification, and one for the
// scalars that it does not define.
var specifiedRules = []validator.Rule{
	rules.FieldsOnCorrectTypeRule,
	rules.FragmentsOnCompositeTypesRule,
	rules.KnownArgumentNamesRule,
	rules.KnownDirectivesRule,
	rules.KnownFragmentNamesRule,
	rules.KnownRootTypeRule,
	rules.KnownTypeNamesRule,
	rules.LoneAnonymousOperationRule,
	rules.MaxIntrospectionDepth,
	rules.NoFragmentCyclesRule,
	rules.NoUndefinedVariablesRule,
	rules.NoUnusedFragmentsRule,
	rules.NoUnusedVariablesRule,
	rules.OverlappingFieldsCanBeMergedRule,
	rules.PossibleFragmentSpreadsRule,
	rules.ProvidedRequiredArgumentsRule,
	rules.ScalarLeafsRule,
	rules.SingleFieldSubscriptionsRule,
	rules.UniqueArgumentNamesRule,
	rules.UniqueDirectivesPerLocationRule,
	rules.UniqueFragmentNamesRule,
	rules.UniqueInputFieldNamesRule,
	rules.UniqueOperationNamesRule,
	rules.UniqueVariableNamesRule,
	rules.ValuesOfCorrectTypeRule,
	rules.VariablesAreInputTypesRule,
	rules.VariablesInAllowedPositionRule,
	{Name: "ScalarsOfCorrectForm", RuleFunc: scalarsOfCorrectForm},
}

// maxProblems is how many problems of one document are reported.
const maxProblems = 20

// validate returns what keeps a document from being run.
func validate(schema *ast.Schema, d *ast.QueryDocument) (problems []wire.GraphQLError) {
	observers := &validator.Events{}
	for _, rule := range specifiedRules {
		rule.RuleFunc(observers, func(options ...validator.ErrorOption) {
			if len(problems) == maxProblems {
				return
			}
			problem := &gqlerror.Error{}
			for _, option := range options {
				option(problem)
			}
			problems = append(problems, wire.GraphQLError{
				Err: core.Invalid("", short(problem.Message)), Kind: wire.GraphQLValidation, At: positions(problem.Locations),
			})
		})
	}
	validator.Walk(schema, d, observers)
	return problems
}

// scalarsOfCorrectForm refuses literals that a scalar does not take. The library
// leaves scalars that the GraphQL specification does not define to the server, and takes
// an Int of more than 32 bits.
func scalarsOfCorrectForm(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnValue(func(_ *validator.Walker, v *ast.Value) {
		switch {
		case v.Definition == nil || v.ExpectedType == nil || v.Definition.Kind != ast.Scalar:
			return
		case v.Definition.BuiltIn && (v.Definition.Name != "Int" || v.Kind != ast.IntValue):
			return
		case v.Kind == ast.Variable || v.Kind == ast.NullValue || v.Kind == ast.ListValue && v.ExpectedType.Elem != nil:
			return
		}
		if _, rule := coerceScalar(v.Definition.Name, plainValue(v, nil)); rule != "" {
			addError(validator.Message("%s: %s", v.String(), rule), func(err *gqlerror.Error) {
				err.Locations = append(err.Locations, gqlerror.Location{Line: v.Position.Line, Column: v.Position.Column})
			})
		}
	})
}
