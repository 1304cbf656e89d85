package graphql

import (
	"strconv"

	"kith/core"
)

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

func within(field string, a argument, most int64) (int, error) {
	n, err := a.number(field, 0)
	if err == nil && (n < 0 || n > most) {
		err = core.Invalid(field, "must be a whole number from 0 to "+strconv.FormatInt(most, 10))
	}
	return int(n), err
}
