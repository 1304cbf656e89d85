package graphql

import (
	"context"
	"strconv"

	"kith/core"
	"kith/core/referral"
)

// list is a part of a list in an answer.
type list[N any] struct {
	Data []N
	// Count is how many Data has, and TotalCount how many there are in all. The
	// schema has no total of events, since nothing counts them.
	Count      int32
	TotalCount long
}

func newList[N any](data []N, total int) *list[N] {
	return &list[N]{Data: data, Count: int32(len(data)), TotalCount: long(total)}
}

// empty is a list of nothing.
func empty[N any]() *list[N] { return newList([]N{}, 0) }

// keyedList is a list that takes the API key to see: what find finds by a filter,
// as nodes.
func keyedList[F, S, N any](
	ctx context.Context, filter func() (F, error),
	find func(context.Context, core.TenantAlias, F) ([]S, int, error), nodes func(*call, []S) []N,
) (*list[N], error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	f, err := filter()
	if err != nil {
		return nil, err
	}
	page, total, err := find(ctx, c.tenant, f)
	if err != nil {
		return nil, err
	}
	return newList(nodes(c, page), total), nil
}

// listsOf makes a list for each of several users from the page that each has. The
// nodes of all lists are made together, since they stand beside one another.
func listsOf[S, N any](users []referral.Identity, pageOf func(referral.Identity) (page []S, total int), nodes func([]S) []N) map[referral.Identity]*list[N] {
	var all []S
	for _, who := range users {
		page, _ := pageOf(who)
		all = append(all, page...)
	}
	left := nodes(all)
	lists := make(map[referral.Identity]*list[N], len(users))
	for _, who := range users {
		page, total := pageOf(who)
		lists[who] = newList(left[:len(page)], total)
		left = left[len(page):]
	}
	return lists
}

// cut returns a page of a list that is in memory.
func cut[T any](all []T, limit, offset int) []T {
	return all[min(offset, len(all)):min(offset+limit, len(all))]
}

// orNull returns the node of what was found, or null when it was not.
func orNull[S, N any](found S, err error, node func(S) *N) (*N, error) {
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return node(found), nil
}

// maxOffset is the largest offset of a list.
const maxOffset = 1<<31 - 1

// pageArguments choose a part of a list.
type pageArguments struct{ Limit, Offset argument }

func (p pageArguments) page() (limit, offset int, err error) {
	if limit, err = within("limit", p.Limit, maxLimit); err != nil {
		return 0, 0, err
	}
	offset, err = within("offset", p.Offset, maxOffset)
	return limit, offset, err
}

// keyed is page for a list that takes the API key to see.
func (p pageArguments) keyed(ctx context.Context) (c *call, limit, offset int, err error) {
	if c, err = keyHolder(ctx); err != nil {
		return nil, 0, 0, err
	}
	limit, offset, err = p.page()
	return c, limit, offset, err
}

func within(field string, a argument, most int64) (int, error) {
	n, err := a.number(field, 0)
	if err == nil && (n < 0 || n > most) {
		err = core.Invalid(field, "must be a whole number from 0 to "+strconv.FormatInt(most, 10))
	}
	return int(n), err
}
