package serve

import (
	"kith/core/auth"
	"kith/core/link"
	"kith/edge/abi"
	"kith/edge/route"
)

// shareLink handles a share link, if the replica has the code.
func (r *request) shareLink(to route.Route) (abi.Response, error) {
	t, ok := r.findTarget(targetByTenant, string(to.Tenant), to.Code)
	if !ok {
		return abi.Response{}, errForward
	}
	visit := r.visit(r.visitor())
	answer := link.FollowShareLink(visit, r.linkTenant(t), t.Program, t.code, r.now)
	response := redirect(answer)
	if answer.Followed != (link.Followed{}) && r.counted() {
		// The host counts the visit, because the backend does not see it.
		response.Headers = append(response.Headers, abi.Header{Name: link.FollowedHeader, Value: answer.Followed.Text()})
	}
	return response, nil
}

// page handles a request for a page with a code, if the replica has the code.
func (r *request) page() (abi.Response, error) {
	code, carried := link.Carried(r.query)
	if !carried || code == "" {
		return abi.Response{}, errForward
	}
	from := r.visitor()
	t, ok := r.findTarget(targetByHost, from.host, code)
	if !ok {
		return abi.Response{}, errForward
	}
	visit := r.visit(from)
	answer, ok := link.TakeCode(visit, r.linkTenant(t), t.Program, t.code, r.now)
	if !ok {
		return abi.Response{}, errForward
	}
	return redirect(answer), nil
}

// linkTenant returns the tenant of a link.
func (r *request) linkTenant(t target) link.Tenant {
	return link.Tenant{Alias: t.Tenant, Policy: t.Policy, SquatchParameter: t.SquatchParameter, Cookies: func() auth.Signer { return r.cookieSigner(t) }}
}

// redirect returns the response for an answer. The attribution cookie is last,
// because Spin sends only the last of several Set-Cookie headers.
func redirect(a link.Answer) abi.Response {
	// Two cookies or a content type, the report to the host and the request id may follow.
	headers := append(make([]abi.Header, 0, 6),
		abi.Header{Name: "location", Value: a.Location},
		abi.Header{Name: "cache-control", Value: link.CacheControl},
	)
	for _, cookie := range [...]string{a.SquatchCookie, a.SetCookie} {
		if cookie != "" {
			headers = append(headers, abi.Header{Name: "set-cookie", Value: cookie})
		}
	}
	if a.Text != "" {
		headers = append(headers, abi.Header{Name: "content-type", Value: "text/plain; charset=utf-8"})
	}
	return abi.Response{Status: a.Status, Headers: headers, Body: []byte(a.Text)}
}
