package graphql

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/wire"
)

// refused returns the error of a call that was not run.
func refused(err error) []wire.GraphQLError {
	e := wire.GraphQLError{Err: err, Kind: wire.GraphQLValidation}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		e = wire.GraphQLError{Err: core.Invalid("query", syntax.message), Kind: wire.GraphQLSyntax, At: syntax.at}
	}
	return []wire.GraphQLError{e}
}

// anyDone reports whether any top-level field of an answer is not null.
func anyDone(data string) (done bool) {
	gjson.Parse(data).ForEach(func(_, field gjson.Result) bool {
		done = field.Type != gjson.Null
		return !done
	})
	return done
}

// inOrder sorts errors by their positions in the document.
func inOrder(all []wire.GraphQLError) []wire.GraphQLError {
	slices.SortStableFunc(all, func(a, b wire.GraphQLError) int {
		if len(a.At) == 0 || len(b.At) == 0 {
			return 0
		}
		return cmp.Or(cmp.Compare(a.At[0].Line, b.At[0].Line), cmp.Compare(a.At[0].Column, b.At[0].Column))
	})
	return all
}

// logFault logs an internal error, whose text is not sent.
func (c *call) logFault(err error) {
	if _, status, _ := wire.Shown(err); status >= 500 {
		c.log.Error("graphql field failed", "id", c.RequestID, "tenant", c.tenant, "error", err)
	}
}

// apiError is the error of one of several inputs.
type apiError struct {
	Message      string
	StatusCode   int32
	APIErrorCode string
	RsCode       *string
	UserID       *string
	AccountID    *string
	Events       *[]*eventNode
}

// apiError converts an error to the result of one of several inputs. It logs an internal
// error.
func (c *call) apiError(err error) *apiError {
	c.logFault(err)
	e, status, code := wire.Shown(err)
	return &apiError{Message: e.Error(), StatusCode: int32(status), APIErrorCode: code, RsCode: textOrNull(e.RS)}
}
