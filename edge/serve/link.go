package serve

import (
	"kith/core/link"
	"kith/edge/abi"
	"kith/edge/route"
)

// shareLink answers a share link that the replica knows.
func (r *request) shareLink(to route.Route) (abi.Response, error) {
	t, ok := r.findTarget(targetByTenant, string(to.Tenant), to.Code)
	if !ok {
		return abi.Response{}, errForward
	}
	tenant, err := r.linkTenant(t)
	if err != nil {
		return abi.Response{}, err
	}
	return redirect(link.FollowShareLink(r.visit(r.visitor()), tenant, t.program, t.code, r.now)), nil
}

// page answers a page request that carries a code which the replica knows.
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
	tenant, err := r.linkTenant(t)
	if err != nil {
		return abi.Response{}, err
	}
	answer, ok := link.TakeCode(r.visit(from), tenant, t.program, t.code, r.now)
	if !ok {
		return abi.Response{}, errForward
	}
	return redirect(answer), nil
}

func (r *request) linkTenant(t target) (link.Tenant, error) {
	keys, err := r.keys()
	if err != nil {
		return link.Tenant{}, err
	}
	return link.Tenant{Alias: t.tenant, Policy: t.policy, Cookies: keys.Cookie(t.tenant)}, nil
}

// redirect puts the service's own cookie last: of several Set-Cookie headers Spin
// sends the last.
func redirect(a link.Answer) abi.Response {
	headers := []abi.Header{
		{Name: "location", Value: a.Location},
		{Name: "cache-control", Value: link.CacheControl},
	}
	for _, cookie := range [...]string{a.SquatchCookie, a.SetCookie} {
		if cookie != "" {
			headers = append(headers, abi.Header{Name: "set-cookie", Value: cookie})
		}
	}
	return abi.Response{Status: a.Status, Headers: headers}
}
