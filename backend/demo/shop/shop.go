// Package shop is the demo shop of `kith dev`: pages, and a small server part that does
// what a shop's server does. It calls Kith only over HTTP, with the client of clients/go
// and an API key, and the payment gateway as a merchant does. It knows nothing of the
// service behind these calls.
package shop

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kith/clients/go"
)

// Path is where the shop is served.
const Path = "/shop"

// Program is the key of the program of which the shop shows share links.
const Program = "roastery"

// Config configures a demo shop.
type Config struct {
	// Tenants are those that the shop serves, each on a host of its own. A request to
	// another host is for the first.
	Tenants []Tenant
	// Gateway is the shop's account at the gateway lab. Without a URL, the shop takes no
	// payments.
	Gateway Gateway
	// Folder is where the shop keeps its customers. If empty, it keeps them in memory.
	Folder string
	// Portal is the path of the portal for marketers; empty if there is none.
	Portal string
	// Developers is the path of the page with the keys of the demo; empty if there is none.
	Developers string
	// Story plays a story with invented people. If nil, there is no button for it.
	Story Story
	// Choose connects Kith to the other gateway of the tenant that has a choice: to Stripe,
	// or to Gateway.
	Choose func(ctx context.Context, stripe bool) error
	Log    *slog.Logger
}

// Tenant is a tenant of Kith. Its key is public, as those of all demo tenants.
type Tenant struct {
	Alias, Key string
	// URL is the base URL at which people open the shop, and at which the shop calls
	// Kith: that of the edge.
	URL string
	// Connected is true if Kith is connected to the tenant's payment gateway: then the
	// shop may not report the status of a subscription.
	Connected bool
	// Stripe is the shop's account at Stripe; nil if the tenant has no choice, and pays at
	// Config.Gateway. At most one tenant has a choice.
	Stripe *Stripe
	// AtStripe is true if the payments are taken at Stripe when the shop starts.
	AtStripe bool
}

// Story plays the whole story of a shop with invented people.
type Story interface {
	// Played reports whether the story was played for a tenant.
	Played(ctx context.Context, tenant string) (bool, error)
	// Play plays it, and reports its steps: done of all.
	Play(ctx context.Context, tenant string, report func(done, all int, text string)) error
}

// site is the shop of one tenant.
type site struct {
	Config
	tenant Tenant
	host   string
	book   *book
	story  storyRun
	// chooser is the site of the tenant that has a choice of gateways, or nil.
	chooser *site
	// choosing is held while a gateway is connected.
	choosing sync.Mutex
	// atStripe is true if new orders are paid at Stripe.
	atStripe atomic.Bool
}

// Shop serves the demo shop.
type Shop struct{ sites []*site }

// New returns a shop, or an error if its data cannot be read.
func New(c Config) (*Shop, error) {
	s := &Shop{}
	for _, tenant := range c.Tenants {
		u, err := url.Parse(tenant.URL)
		if err != nil {
			return nil, fmt.Errorf("demo shop: %w", err)
		}
		path := ""
		if c.Folder != "" {
			path = filepath.Join(c.Folder, "shop-"+tenant.Alias+".json")
		}
		b, err := openBook(path)
		if err != nil {
			return nil, err
		}
		one := &site{Config: c, tenant: tenant, host: u.Hostname(), book: b}
		one.atStripe.Store(tenant.AtStripe)
		s.sites = append(s.sites, one)
	}
	for _, one := range s.sites {
		if one.tenant.Stripe == nil || c.Choose == nil {
			continue
		}
		for _, other := range s.sites {
			other.chooser = one
		}
	}
	return s, nil
}

// Register registers the pages of the shop.
func (s *Shop) Register(mux *http.ServeMux) {
	// Requests that pages of other sites cause are refused.
	guard := http.NewCrossOriginProtection()
	for pattern, do := range pages {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+Path+path, atSeenHost(guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.siteOf(r.Host).serve(w, r, do)
		}))))
	}
	mux.HandleFunc("GET "+Path+"/asset/{name}", asset)
}

// atSeenHost sets the host of a request to the one that the visitor requested, which the
// edge passes on.
func atSeenHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen := r.Header.Get("X-Forwarded-Host"); seen != "" {
			r = r.Clone(r.Context())
			r.Host = seen
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Shop) siteOf(host string) *site {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	for _, one := range s.sites {
		if strings.EqualFold(one.host, host) {
			return one
		}
	}
	return s.sites[0]
}

// pages are the pages and forms of the shop.
var pages = map[string]func(*visit) error{
	"GET ":                         (*visit).home,
	"GET /join":                    (*visit).joinPage,
	"POST /join":                   (*visit).join,
	"POST /leave":                  (*visit).leave,
	"GET /account":                 (*visit).account,
	"GET /widget":                  (*visit).widget,
	"GET /buy/{product}":           (*visit).checkoutPage,
	"POST /buy/{product}":          (*visit).buy,
	"GET /orders/{order}":          (*visit).orderPage,
	"POST /orders/{order}/return":  (*visit).returnOrder,
	"POST /orders/{order}/refund":  (*visit).refundHalf,
	"POST /orders/{order}/advance": (*visit).advance,
	"POST /orders/{order}/cancel":  (*visit).cancelOrder,
	"POST /gateway":                (*visit).chooseGateway,
	"GET /story":                   (*visit).storyPage,
	"POST /story":                  (*visit).playStory,
	"GET /story/progress":          (*visit).storyProgress,
}

// visit is a request for a page of the shop.
type visit struct {
	*site
	w   http.ResponseWriter
	r   *http.Request
	now time.Time
	// customer is the signed-in customer; known is false if there is none.
	customer Customer
	known    bool
	nonce    string
	calls    *recorder
	// stripePays is true if an order of this request is paid at Stripe.
	stripePays bool
}

const (
	// pageTimeout bounds a page with all its calls. The edge waits 10 s for a page.
	pageTimeout = 9 * time.Second
	maxForm     = 16 << 10
)

func (s *site) serve(w http.ResponseWriter, r *http.Request, do func(*visit) error) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	v := &visit{site: s, w: w, r: r, now: time.Now(), nonce: rand.Text(), calls: &recorder{base: http.DefaultTransport}, stripePays: s.atStripe.Load()}
	if cookie, err := r.Cookie(s.sessionName()); err == nil {
		v.customer, v.known = s.book.customer(cookie.Value)
	}
	v.headers()
	if err := do(v); err != nil {
		v.problem(err)
	}
}

func (v *visit) headers() {
	h := v.w.Header()
	h.Set("Cache-Control", "no-store")
	forms := "'self'"
	if v.tenant.Stripe != nil {
		// The form of an order leads to the checkout.
		forms += " " + v.tenant.Stripe.URL
	}
	if v.chooser != nil && v.chooser != v.site {
		// The choice of a gateway leads to the shop of the tenant that has it.
		forms += " " + v.chooser.tenant.URL
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+v.nonce+"'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"frame-src 'self'; form-action "+forms+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
}

func (s *site) sessionName() string { return "morrow_" + s.tenant.Alias }

// service returns the client of Kith for this page.
func (v *visit) service() (service, error) {
	client, err := kith.New(kith.Config{
		BaseURL: v.tenant.URL, Tenant: v.tenant.Alias, APIKey: v.tenant.Key,
		HTTPClient: &http.Client{Transport: v.calls}, Timeout: 5 * time.Second, MaxWait: time.Second,
	})
	return service{Client: client, recorder: v.calls, program: Program, connected: v.tenant.Connected || v.stripePays}, err
}

// checkout returns the gateway for this page.
func (v *visit) checkout() checkout { return checkout{v.Gateway, v.calls} }

// redirect answers a form: the browser opens a page of the shop.
func (v *visit) redirect(path string) error {
	http.Redirect(v.w, v.r, Path+path, http.StatusSeeOther)
	return nil
}

// signedIn reports whether there is a customer, and otherwise sends the visitor to the
// sign-up, which leads back to the page.
func (v *visit) signedIn() bool {
	if !v.known {
		_ = v.redirect("/join?next=" + url.QueryEscape(strings.TrimPrefix(v.r.URL.Path, Path)))
	}
	return v.known
}

// next returns the page to which the sign-up leads: one of this shop only.
func next(path string) string {
	if productByID(strings.TrimPrefix(path, "/buy/")) != nil {
		return path
	}
	return "/account"
}
