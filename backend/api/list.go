package api

import (
	"net/http"
	"net/url"
	"strconv"

	"kith/backend/app"
	"kith/core"
)

// Sizes of a page (reference, 6: REST lists default to 10).
const (
	defaultLimit = 10
	maxLimit     = 1000
	maxOffset    = 1 << 31
)

// page reads limit and offset.
func page(q url.Values) (p app.Page, err error) {
	if p.Limit, err = count(q, "limit", defaultLimit, maxLimit); err != nil {
		return p, err
	}
	p.Offset, err = count(q, "offset", 0, maxOffset)
	return p, err
}

func count(q url.Values, name string, unset, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, core.Invalid(name, "must be a whole number from 0 to "+strconv.Itoa(most))
	}
	return n, nil
}

// lister authenticates a request for a list and reads its query and its page.
func (a *API) lister(w http.ResponseWriter, r *http.Request) (c app.Caller, q url.Values, p app.Page, err error) {
	if c, err = a.keyHolder(w, r); err != nil {
		return c, nil, p, err
	}
	q = r.URL.Query()
	p, err = page(q)
	return c, q, p, err
}
