package store

import "context"

// Companion is work that is committed together with the next transaction of a context,
// whichever use case makes that transaction. The audit log uses it: an entry is stored if
// and only if the change is.
type Companion struct {
	// outer is the companion of the context that this one was added to, or nil.
	outer     *Companion
	do        func(context.Context, *Tx) error
	committed bool
}

type companionKey struct{}

// WithCompanion returns a context whose first transaction that commits also runs do, at its
// end, together with the earlier companions of ctx. An error of do rolls the transaction
// back. Until it has committed, only one goroutine may write with the context.
func WithCompanion(ctx context.Context, do func(context.Context, *Tx) error) (context.Context, *Companion) {
	c := &Companion{outer: companionOf(ctx), do: do}
	return context.WithValue(ctx, companionKey{}, c), c
}

// Committed reports whether a transaction has committed the work.
func (c *Companion) Committed() bool { return c.committed }

// companionOf returns the companion of a context, or nil.
func companionOf(ctx context.Context) *Companion {
	c, _ := ctx.Value(companionKey{}).(*Companion)
	return c
}

func (c *Companion) run(ctx context.Context, tx *Tx) error {
	if c == nil || c.committed {
		return nil
	}
	if err := c.outer.run(ctx, tx); err != nil {
		return err
	}
	return c.do(ctx, tx)
}

func (c *Companion) commit() {
	// Once committed, the companion is only read, so that several goroutines may write.
	if c != nil && !c.committed {
		c.outer.commit()
		c.committed = true
	}
}
