package account

import (
	"crypto/subtle"
	"net/url"
	"strings"

	"kith/backend/app/members"
	"kith/backend/identity"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/people"
)

// Provider is the identity provider that people may sign in with.
type Provider struct {
	*identity.Provider
	// Name is what people call the provider. Issuer is its URL.
	Name, Issuer string
}

// CallbackPath is the path to which the provider sends a browser back.
const CallbackPath = frame.Root + "/oidc/callback"

func (p *Provider) routes() frame.Routes {
	return frame.Routes{"GET /oidc": p.begin, "GET /oidc/callback": p.finish}
}

// attemptCookie is the cookie with the secrets of a sign-in, and with the path that the
// person wanted. It is valid for attemptLife seconds.
const (
	attemptCookie = "kith_oidc"
	attemptLife   = 600
)

// begin sends the browser to the provider.
func (p *Provider) begin(v *frame.Visit) error {
	// The cookie must be of the host to which the browser comes back.
	if home := v.Home(); home != "" {
		return v.Redirect(home + frame.Root + "/oidc" + frame.NextQuery(v.Next("")))
	}
	attempt := identity.NewAttempt()
	to, err := p.URL(v.Ctx(), attempt)
	if err != nil {
		return err
	}
	v.SetCookie(attemptCookie, strings.Join([]string{attempt.State, attempt.Nonce, attempt.Verifier, url.QueryEscape(v.Next(""))}, "."), attemptLife)
	return v.Redirect(to)
}

// finish signs the person in with whom the browser comes back.
func (p *Provider) finish(v *frame.Visit) error {
	query := v.R.URL.Query()
	parts := strings.SplitN(v.Cookie(attemptCookie), ".", 4)
	if len(parts) != 4 || subtle.ConstantTimeCompare([]byte(parts[0]), []byte(query.Get("state"))) != 1 {
		return &core.Error{Code: core.CodeForbidden, Message: "the sign-in was begun in another browser, or more than 10 minutes ago; begin it again"}
	}
	if query.Get("code") == "" {
		return &core.Error{Code: core.CodeForbidden, Message: "you did not sign in at " + p.Name + "; begin again, or sign in with your password"}
	}
	account, err := p.Redeem(v.Ctx(), identity.Attempt{State: parts[0], Nonce: parts[1], Verifier: parts[2]}, query.Get("code"))
	if err != nil {
		return err
	}
	token, stage, err := v.Engine.Members.SignInAs(v.Ctx(), v.Visitor(), members.Identity{
		Issuer: account.Issuer, Subject: account.Subject, Email: account.Email, Verified: account.Verified, Name: account.Name,
	})
	if err != nil {
		return err
	}
	if v.Known {
		if err := v.Engine.SignIns.SignOut(v.Ctx(), v.Seat); err != nil {
			return err
		}
	}
	v.SetSession(token)
	next, _ := url.QueryUnescape(parts[3])
	next = frame.Local(next, frame.Root)
	if stage == people.SecondFactor {
		return v.Redirect(frame.Root + "/code" + frame.NextQuery(next))
	}
	return v.Redirect(next)
}
