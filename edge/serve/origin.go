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

// answerPreflight handles a preflight, if the replica has the origin.
func (r *request) answerPreflight() (abi.Response, error) {
	tenant, covered := origin.Covers(r.path)
	if !covered || !origin.Allowed(r.origin(), r.sitesOf(tenant)) {
		return abi.Response{}, errForward
	}
	return abi.Response{Status: 204}, nil
}

// addCORS adds the CORS headers, with which the page may read the response.
func (r *request) addCORS(response abi.Response) abi.Response {
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

// sitesOf returns the sites of the tenant in the path. It reads them unless an
// earlier statement did.
func (r *request) sitesOf(tenant core.TenantAlias) string {
	if r.sites == nil {
		sites := r.findSites(tenant)
		r.sites = &sites
	}
	return *r.sites
}
