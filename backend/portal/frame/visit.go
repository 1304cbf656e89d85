package frame

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"kith/backend/app/base"
	"kith/backend/app/members"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/people"
)

// Visit is one request to a page.
type Visit struct {
	*Portal
	W    http.ResponseWriter
	R    *http.Request
	seen auth.Hop
	// nonce is in the Content-Security-Policy and in each script of the page.
	nonce string

	// Seat is the visitor's session; Known is true if there is one, also if the one-time
	// code is still missing. token is the session's token.
	Seat  members.Seat
	Known bool
	token string
	// Tenants are those of a person who has signed in.
	Tenants []peopledb.Membership
	// Caller is set on the pages of a tenant, and section on those of a section.
	Caller  people.Caller
	section *Section
	// pages has the templates; nil if no page is at the address.
	pages *Pages
	// parts are the parts of an upload that a form has sent.
	parts *multipart.Reader
	// frames is true if the page may show frames of the portal.
	frames bool
	// failed is the error of the page's handler.
	failed error
}

type visitKey struct{}

func newVisit(p *Portal, w http.ResponseWriter, r *http.Request, seen auth.Hop) *Visit {
	v := &Visit{Portal: p, W: w, seen: seen}
	var raw [16]byte
	_, _ = rand.Read(raw[:])
	v.nonce = base64.RawStdEncoding.EncodeToString(raw[:])
	v.R = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	return v
}

func (v *Visit) Ctx() context.Context { return v.R.Context() }

// Visitor returns the visitor as use cases take one.
func (v *Visit) Visitor() members.Visitor {
	address, _ := auth.ParseAddress(v.seen.For)
	return members.Visitor{Address: address, Agent: v.R.UserAgent(), Device: v.Cookie(deviceCookie)}
}

// maxForm is the most bytes of a form.
const maxForm = 64 << 10

// run identifies the visitor, checks that a request which may change anything was sent by
// a page of the portal, and calls h.
func (v *Visit) run(h Handler, upload bool) error {
	if err := v.identify(); err != nil {
		return err
	}
	if v.R.Method != http.MethodGet && v.R.Method != http.MethodHead {
		if err := v.checkOrigin(); err != nil {
			return err
		}
		if upload {
			if err := v.beginUpload(); err != nil {
				return err
			}
		} else {
			v.R.Body = http.MaxBytesReader(v.W, v.R.Body, maxForm)
			if err := v.R.ParseForm(); err != nil {
				return formError(err)
			}
		}
		if err := v.checkToken(); err != nil {
			return err
		}
	}
	return h(v)
}

func formError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &core.Error{Code: core.CodeTooLarge, Message: "The form is larger than 64 kB. Shorten it and send it again."}
	}
	return &core.Error{Code: core.CodeMalformed, Message: "The form did not arrive completely. Send it again.", Err: err}
}

// identify finds the visitor's session.
func (v *Visit) identify() (err error) {
	v.token = v.Cookie(sessionCookie)
	if v.Seat, v.Known, err = v.Engine.SignIns.Find(v.Ctx(), v.token); err != nil {
		return err
	}
	if v.SignedIn() {
		v.Tenants, err = v.Engine.SignIns.Tenants(v.Ctx(), v.Seat)
	}
	return err
}

// SignedIn reports whether the visitor has completed a sign-in.
func (v *Visit) SignedIn() bool { return v.Known && v.Seat.SignedIn() }

// mustSignIn returns an error, which fail answers with the sign-in page, unless the
// visitor is signed in.
func (v *Visit) mustSignIn() error {
	if v.SignedIn() {
		return nil
	}
	return &core.Error{Code: core.CodeUnauthenticated, Message: "Sign in to see this page."}
}

// signedInOnly returns a handler for people who are signed in.
func SignedInOnly(h Handler) Handler {
	return func(v *Visit) error {
		if err := v.mustSignIn(); err != nil {
			return err
		}
		return h(v)
	}
}

// InTenant returns a handler for members of the tenant in the path.
func InTenant(h Handler) Handler {
	return SignedInOnly(func(v *Visit) error {
		alias, err := core.ParseTenantAlias(v.R.PathValue("tenant"))
		if err == nil {
			v.Caller, err = v.Engine.SignIns.As(v.Ctx(), v.Visitor(), v.Seat, alias)
		}
		var known *core.Error
		if errors.Is(err, members.ErrSecondStep) {
			return v.Done(Root+"/profile/two-step", "second-step-needed")
		}
		if errors.As(err, &known) && known.Code == core.CodeNotFound {
			return core.NotFound("You are not a member of a tenant with this name. Ask an owner of it to invite you, or choose one of yours above.")
		}
		if err != nil {
			return err
		}
		return h(v)
	})
}

// TenantPath returns the path of the visit's tenant.
func (v *Visit) TenantPath() string { return Root + "/t/" + string(v.Caller.Tenant) }

// Live reports whether the visit's tenant is a live tenant.
func (v *Visit) Live() bool { return base.Live(v.Caller.Tenant) }

// Link returns a link to a path of the portal that works elsewhere. Its origin is never the
// host that a request names, except on the developer's own machine: without one it is the
// path, and the script of the page adds the origin that the browser knows.
func (v *Visit) Link(path string) string { return link.Sent(v.URL, v.seen.Proto, v.seen.Host, path) }

// Redirect sends the visitor to a path of the portal.
func (v *Visit) Redirect(path string) error {
	v.secure()
	v.W.Header().Set("Location", path)
	v.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// Done sends the visitor to a path after a change, where a message says what happened; see
// Pages.Done.
func (v *Visit) Done(path, what string) error {
	if v.texts[what] == "" {
		return errors.New("portal: no text says that this was done: " + what)
	}
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return v.Redirect(path + separator + "done=" + url.QueryEscape(what))
}

// Next returns the path of the portal that the parameter next names, or otherwise.
func (v *Visit) Next(otherwise string) string { return Local(v.R.FormValue("next"), otherwise) }

// Local returns a path of the portal with its query, or otherwise if it leads elsewhere.
func Local(to, otherwise string) string {
	parsed, err := url.Parse(to)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.User != nil || !owns(parsed.Path) || link.Unclean(parsed.EscapedPath()) ||
		strings.ContainsAny(to, "\\\r\n\t") || len(to) > 2000 {
		return otherwise
	}
	return to
}

// Home returns the origin at which people open the portal, if this visit is at another one;
// else it is empty.
func (v *Visit) Home() string {
	if home, err := url.Parse(v.URL); v.URL == "" || err != nil || home.Host == v.seen.Host {
		return ""
	}
	return v.URL
}

// NextQuery returns the query that leads to a path of the portal later.
func NextQuery(next string) string {
	if next == "" {
		return ""
	}
	return "?next=" + url.QueryEscape(next)
}

// Host returns the host that the visitor requested.
func (v *Visit) Host() string { return v.seen.Host }
