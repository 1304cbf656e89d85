package graphql

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"kith/core"
)

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
