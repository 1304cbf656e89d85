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

// loadSchema parses a schema in the GraphQL schema definition language.
func loadSchema(text string) (*ast.Schema, error) {
	schema, err := validator.LoadSchema(validator.Prelude, &ast.Source{Name: "schema.graphql", Input: text})
	if err != nil {
		return nil, err
	}
	// The library defines this directive for incremental answers, which Kith does not have.
	delete(schema.Directives, "defer")
	return schema, nil
}

// parse parses a document. It checks only the syntax; see validate.
func parse(text string, limits bounds) (*ast.QueryDocument, error) {
	if len(text) > limits.query {
		return nil, &core.Error{Code: core.CodeTooLarge, Field: "query", Message: "is larger than " + strconv.Itoa(limits.query>>10) + " KiB"}
	}
	if !utf8.ValidString(text) {
		return nil, core.Invalid("query", "must be UTF-8")
	}
	d, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: newLines.Replace(strings.TrimPrefix(text, "\ufeff"))}, limits.tokens)
	if err != nil {
		return nil, syntaxProblem(err, limits)
	}
	if len(d.Operations) == 0 {
		return nil, core.Invalid("query", "must have an operation, such as { viewer { permissions } }")
	}
	return d, nil
}

// newLines replaces all line terminators of the GraphQL specification with "\n". After
// "\r\n" the library's columns would be too large by one.
var newLines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// syntaxError is the error of a document that does not parse, with its position.
type syntaxError struct {
	at      []wire.Position
	message string
}

func (e *syntaxError) Error() string { return e.message }

// syntaxProblem converts an error of the parser.
func syntaxProblem(err error, limits bounds) error {
	var problem *gqlerror.Error
	if !errors.As(err, &problem) {
		return err
	}
	if strings.HasPrefix(problem.Message, "exceeded token limit") {
		return core.Invalid("query", "must not have more than "+strconv.Itoa(limits.tokens)+" tokens")
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

// short truncates a text that may contain what a client sent to 200 bytes.
func short(s string) string {
	const shown = 200
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + "…"
	}
	return s
}

// specifiedRules are the validation rules of section 5 of the GraphQL specification, and
// one for the scalars that the specification does not define.
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

// maxProblems is how many validation errors of one document are reported.
const maxProblems = 20

// validate returns the errors of a document that is not valid; none: it can be run.
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

// scalarsOfCorrectForm refuses literals that are not values of their scalar type. The
// library checks neither scalars that the GraphQL specification does not define nor
// whether an Int has at most 32 bits.
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
