package graphql

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/core"
)

// list is a page of a list in an answer.
type list[N any] struct {
	Data []N
	// Count is the number of elements in Data, and TotalCount that of the whole list.
	// The schema has no totalCount of events, which are not counted.
	Count      int32
	TotalCount long
}

func newList[N any](data []N, total int) *list[N] {
	return &list[N]{Data: data, Count: int32(len(data)), TotalCount: long(total)}
}

// empty returns a list without elements.
func empty[N any]() *list[N] { return newList([]N{}, 0) }

// keyedList returns the page that find returns for a filter, as nodes. It needs the API
// key.
func keyedList[A, F, S, N any](
	ctx context.Context, args A, filter func(A) (F, error),
	find func(context.Context, core.TenantAlias, F) ([]S, int, error), nodes func(*call, []S) []N,
) (*list[N], error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	f, err := filter(args)
	if err != nil {
		return nil, err
	}
	page, total, err := find(ctx, c.tenant, f)
	if err != nil {
		return nil, err
	}
	return newList(nodes(c, page), total), nil
}

// listsOf returns a list for each of several users or referrals from the page of each. It creates the
// nodes of all lists together, so that they share their loaders.
func listsOf[K comparable, S, N any](owners []K, pageOf func(K) (page []S, total int), nodes func([]S) []N) map[K]*list[N] {
	var all []S
	for _, owner := range owners {
		page, _ := pageOf(owner)
		all = append(all, page...)
	}
	rest := nodes(all)
	lists := make(map[K]*list[N], len(owners))
	for _, owner := range owners {
		page, total := pageOf(owner)
		lists[owner] = newList(rest[:len(page)], total)
		rest = rest[len(page):]
	}
	return lists
}

// sublist returns a page of a slice.
func sublist[T any](all []T, limit, offset int) []T {
	return all[min(offset, len(all)):min(offset+limit, len(all))]
}

// orNull returns the node of a value that was found, or nil if err is "not found".
func orNull[S, N any](found S, err error, node func(S) *N) (*N, error) {
	if base.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return node(found), nil
}

// maxOffset is the largest offset of a list.
const maxOffset = 1<<31 - 1

// pageArguments are the arguments of a page of a list.
type pageArguments struct{ Limit, Offset argument }

func (p pageArguments) page() (limit, offset int, err error) {
	if limit, err = within("limit", p.Limit, 0, maxLimit); err != nil {
		return 0, 0, err
	}
	offset, err = within("offset", p.Offset, 0, maxOffset)
	return limit, offset, err
}

// keyed is page for a list that needs the API key.
func (p pageArguments) keyed(ctx context.Context) (c *call, limit, offset int, err error) {
	if c, err = keyHolder(ctx); err != nil {
		return nil, 0, 0, err
	}
	limit, offset, err = p.page()
	return c, limit, offset, err
}

// listArguments are the arguments of a list that has a filter.
type listArguments struct {
	Filter argument
	pageArguments
}

// read reads the filter by conditions, and the page.
func (a listArguments) read(conditions func(*filterReader)) (limit, offset int, err error) {
	r := &filterReader{at: "filter", a: a.Filter}
	if conditions(r); r.err != nil {
		return 0, 0, r.err
	}
	return a.page()
}

// within reads a whole number from 0 to maximum; unset if it is missing.
func within(field string, a argument, unset, maximum int64) (int, error) {
	n := a.number(unset)
	if n < 0 || n > maximum {
		return 0, core.Invalid(field, "must be a whole number from 0 to "+strconv.FormatInt(maximum, 10))
	}
	return int(n), nil
}
