package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/people"
)

const (
	// maxVisits bounds the tenants whose share links are visited, webTime the time of all
	// visits together, and visitTime that of one.
	maxVisits = 20
	webTime   = time.Minute
	visitTime = 10 * time.Second
	// certificateLeft is the least time for which a certificate must be valid. Let's
	// Encrypt's clients renew 30 days before the end.
	certificateLeft = 14 * 24 * time.Hour
	maxAnswer       = 64 << 10
)

// Web examines what visitors reach: the share links of each tenant, through the proxy.
type Web struct {
	DB *store.Primary
	// PublicURL is the origin of share links of tenants without one of their own.
	PublicURL string
	Now       func() core.Time

	once    sync.Once
	visits  []visit
	skipped string
	err     error
}

// Checks returns the checks. They share their visits.
func (w *Web) Checks() []Check {
	return []Check{{"TLS", w.tls}, {"share links", w.shareLinks}, {"cookie", w.cookie}}
}

// visit is the answer to a share link, and what matters of its tenant.
type visit struct {
	tenant core.TenantAlias
	// origin is that of the tenant's share links, landing that of its landing page.
	origin, landing string
	answer          answer
	// atLanding is the answer at the origin of the landing page, if that is another one.
	atLanding answer
}

// answer is what a share link was answered.
type answer struct {
	// err says why there is no answer.
	err    error
	status int
	// kith is true if the answer deletes the tenant's cookie, as only Kith's does; secure if
	// it does so for https only.
	kith, secure bool
	// expires is the end of the certificate, zero without TLS.
	expires time.Time
}

// badCertificate reports whether there is no answer because of the certificate.
func (a answer) badCertificate() bool {
	var bad *tls.CertificateVerificationError
	return errors.As(a.err, &bad)
}

// client stores no cookies and follows no redirects, which lead to the shop.
var client = &http.Client{
	Timeout:       visitTime,
	Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// unknownCode is the code of the visited links. A visit of it is not counted, and even if a
// user has it, only as one whose visitor permits no cookie.
const unknownCode = "kith-doctor"

// follow sends GET of a share link as a browser does whose user permits no cookies. The
// answer deletes the tenant's cookie, which shows how Kith sets it, and counts no visit.
func follow(ctx context.Context, origin string, tenant core.TenantAlias) (a answer) {
	to := link.Share{Origin: origin, Tenant: tenant}.URL(unknownCode)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return answer{err: err}
	}
	name := link.CookieName(tenant)
	r.Header.Set("Sec-GPC", "1")
	r.Header.Set("User-Agent", "Mozilla/5.0 (kith doctor)")
	r.Header.Set("Cookie", name+"=doctor")
	response, err := client.Do(r)
	if err != nil {
		var known *url.Error
		if errors.As(err, &known) {
			err = known.Err // without the method and the URL
		}
		return answer{err: err}
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	a.status = response.StatusCode
	for _, c := range response.Cookies() {
		if c.Name == name && c.MaxAge < 0 {
			a.kith, a.secure = true, c.Secure
		}
	}
	if response.TLS != nil {
		a.expires = response.TLS.PeerCertificates[0].NotAfter
	}
	return a
}

// read visits the share links, once.
func (w *Web) read(ctx context.Context) ([]visit, error) {
	w.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, webTime)
		defer cancel()
		var all []core.TenantAlias
		if all, w.err = tabledb.Aliases(ctx, w.DB.Reads); w.err != nil {
			return
		}
		for _, alias := range all {
			if people.Home(alias) != alias {
				continue
			}
			if len(w.visits) == maxVisits {
				w.skipped = fmt.Sprintf("; only the first %d tenants were visited", maxVisits)
				return
			}
			t, err := tenantdb.Find(ctx, w.DB.Reads, alias)
			if err != nil {
				w.err = err
				return
			}
			v := visit{tenant: alias, landing: link.OriginOf(t.Landing)}
			v.origin = cmp.Or(t.ShareOrigin, w.PublicURL, v.landing)
			if v.origin == "" {
				continue
			}
			v.answer = follow(ctx, v.origin, alias)
			if v.landing != "" && v.landing != v.origin {
				v.atLanding = follow(ctx, v.landing, alias)
			}
			w.visits = append(w.visits, v)
		}
	})
	return w.visits, w.err
}

// unchecked is the text of a problem of a visit that does not show whether there is one.
const unchecked = "unchecked"

// judge returns the finding of a check that looks at each visit. problem returns what is
// wrong with a visit, and the remedy; both are empty if nothing is.
func (w *Web) judge(ctx context.Context, fine string, problem func(visit) (text, remedy string)) Finding {
	visits, err := w.read(ctx)
	switch {
	case err != nil:
		return failed(err.Error(), "see the database above")
	case len(visits) == 0:
		return skipped("not checked: no tenant has share links yet (kith tenant create)")
	}
	var found Finding
	more, fineVisits := 0, 0
	for _, v := range visits {
		text, remedy := problem(v)
		switch {
		case text == unchecked:
		case text == "":
			fineVisits++
		case found.Text == "":
			found = failed("tenant "+string(v.tenant)+": "+text, remedy)
		default:
			more++
		}
	}
	if more > 0 {
		found.Text += fmt.Sprintf(" (and %d more tenants)", more)
	}
	switch {
	case found.Text != "":
	case fineVisits == 0:
		return skipped("not checked: no share link answers from a host of its own")
	default:
		found.Text = fine
	}
	found.Text += w.skipped
	return found
}

// tls checks that share links are https, and that their certificate stays valid.
func (w *Web) tls(ctx context.Context) Finding {
	return w.judge(ctx, "share links are https, with valid certificates", func(v visit) (text, remedy string) {
		host, secure := strings.CutPrefix(v.origin, "https://")
		left := v.answer.expires.Sub(time.UnixMilli(int64(w.Now())))
		switch {
		case !secure && link.Loopback(strings.TrimPrefix(v.origin, "http://")):
			return unchecked, ""
		case !secure:
			return v.origin + " is not https", "put a reverse proxy with TLS in front of the edge, and give its https origin by KITH_PUBLIC_URL or kith tenant set --share-origin"
		case v.answer.badCertificate():
			return v.origin + ": " + v.answer.err.Error(), "give the proxy a valid certificate for " + host + " with its whole chain, and reload the proxy"
		case v.answer.err == nil && left < certificateLeft:
			return fmt.Sprintf("the certificate of %s ends on %s, in %d days", v.origin, v.answer.expires.UTC().Format(time.DateOnly), int(left.Hours()/24)),
				"renew it now, and find out why it was not renewed by itself"
		case v.answer.kith && !v.answer.secure:
			return v.origin + " is https, but Kith sees http, so its cookie is not Secure",
				"let the proxy set X-Forwarded-Proto to https, and give its address to edge and backend by KITH_TRUSTED_PROXIES"
		case v.answer.err != nil:
			return unchecked, ""
		}
		return "", ""
	})
}

// shareLinks checks that Kith answers share links.
func (w *Web) shareLinks(ctx context.Context) Finding {
	return w.judge(ctx, "Kith answers them", func(v visit) (text, remedy string) {
		switch a := v.answer; {
		case a.kith, a.badCertificate():
			return "", ""
		case a.err != nil:
			return v.origin + ": " + a.err.Error(), "start the proxy and the edge, and open the port; or correct the origin (kith tenant set --share-origin, KITH_PUBLIC_URL)"
		case a.status == http.StatusTooManyRequests:
			return v.origin + " answers 429: too many wrong attempts from this network", "give the address of the proxy by KITH_TRUSTED_PROXIES to edge and backend, or wait a minute"
		case a.status >= http.StatusInternalServerError:
			return fmt.Sprintf("%s answers %d", v.origin, a.status), "look at /readyz of the edge and of the backend, and at the log of the proxy"
		}
		return fmt.Sprintf("%s answers %d, and not as Kith does", v.origin, v.answer.status),
			"let the proxy of this host pass /s/ and the other paths of edge/nginx.conf to an edge of this database"
	})
}

// cookie checks that the attribution cookie is first-party: that Kith answers on the host
// of the shop's pages.
func (w *Web) cookie(ctx context.Context) Finding {
	return w.judge(ctx, "is first-party: Kith answers on the hosts of the shops", func(v visit) (text, remedy string) {
		host := func(origin string) string {
			u, err := url.Parse(origin)
			if err != nil {
				return ""
			}
			return u.Hostname()
		}
		if v.landing == "" || host(v.origin) == host(v.landing) || v.atLanding.kith {
			if !v.answer.kith && !v.atLanding.kith {
				return unchecked, ""
			}
			return "", ""
		}
		return fmt.Sprintf("share links are on %s, the shop is on %s, where Kith does not answer: browsers block the cookie as third-party", host(v.origin), host(v.landing)),
			fmt.Sprintf("let the proxy of %s pass the paths of edge/nginx.conf to the edge, then kith tenant set %s --share-origin %s", host(v.landing), v.tenant, v.landing)
	})
}
