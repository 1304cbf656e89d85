package serve

import (
	"kith/core"
	"kith/core/origin"
	"kith/edge/abi"
)

func (r *request) origin() string { return r.header("origin") }

func (r *request) preflight() bool {
	return origin.Preflight(r.Method, r.origin(), r.header("access-control-request-method"))
}

// mayCall answers a preflight from a page that the replica knows.
func (r *request) mayCall() (abi.Response, error) {
	tenant, covered := origin.Covers(r.path)
	if !covered || !origin.Allowed(r.origin(), r.sitesOf(tenant)) {
		return abi.Response{}, errForward
	}
	return abi.Response{Status: 204}, nil
}

// acrossOrigins lets the page that asked read what the edge answered itself.
func (r *request) acrossOrigins(response abi.Response) abi.Response {
	tenant, covered := origin.Covers(r.path)
	if r.origin() == "" || !covered {
		return response
	}
	allowed := origin.Allowed(r.origin(), r.sitesOf(tenant))
	for _, h := range origin.Headers(r.origin(), allowed, r.preflight()) {
		response.Headers = append(response.Headers, abi.Header{Name: h.Name, Value: h.Value})
	}
	return response
}

// sitesOf reads the sites of the tenant in the path, unless an earlier statement
// brought them.
func (r *request) sitesOf(tenant core.TenantAlias) string {
	if r.sites == nil {
		sites := r.findSites(tenant)
		r.sites = &sites
	}
	return *r.sites
}
