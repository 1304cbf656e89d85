package graphql

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/wire"
)

// refused is the error of a document that is not run.
func refused(err error) []wire.GraphQLError {
	e := wire.GraphQLError{Err: err, Kind: wire.GraphQLValidation}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		e = wire.GraphQLError{Err: core.Invalid("query", syntax.message), Kind: wire.GraphQLSyntax, At: syntax.at}
	}
	return []wire.GraphQLError{e}
}

// anyDone reports whether any field of an operation has an answer.
func anyDone(data string) (done bool) {
	gjson.Parse(data).ForEach(func(_, field gjson.Result) bool {
		done = field.Type != gjson.Null
		return !done
	})
	return done
}

// inOrder sorts errors by their places in the document.
func inOrder(all []wire.GraphQLError) []wire.GraphQLError {
	slices.SortStableFunc(all, func(a, b wire.GraphQLError) int {
		if len(a.At) == 0 || len(b.At) == 0 {
			return 0
		}
		return cmp.Or(cmp.Compare(a.At[0].Line, b.At[0].Line), cmp.Compare(a.At[0].Column, b.At[0].Column))
	})
	return all
}

// logFault logs an error whose text is withheld; a panic was logged where it arose.
func (s *Server) logFault(err error) {
	if _, status, _ := wire.Shown(err); status >= 500 && err != error(errPanicked) {
		s.log.Error("graphql field failed", "error", err)
	}
}

// apiError is why one of several inputs was refused.
type apiError struct {
	Message      string
	StatusCode   int32
	APIErrorCode string
	RsCode       *string
	UserID       *string
	AccountID    *string
	Events       *[]*eventNode
}

// apiError is an error as one of several results; a fault of ours is logged.
func (c *call) apiError(err error) *apiError {
	c.logFault(err)
	e, status, word := wire.Shown(err)
	return &apiError{Message: e.Error(), StatusCode: int32(status), APIErrorCode: word, RsCode: textOrNull(e.RS)}
}
