package shop

import (
	"errors"
	"net/http"
	"net/mail"
	"strings"
	"time"

	"kith/clients/go"
)

// home shows the products.
func (v *visit) home() error {
	return v.show(http.StatusOK, "home", "Coffee for people who share it", map[string]any{
		"Products": catalog, "Medium": sharedBy(v.r.URL.Query().Get("rsShareMedium")),
		"Cookie": v.cookieOfLink(), "Tenant": v.tenant.Alias, "HasStory": v.Story != nil,
	})
}

// cookieOfLink reports whether the browser followed a share link.
func (v *visit) cookieOfLink() bool {
	_, err := v.r.Cookie("kith_" + v.tenant.Alias)
	return err == nil
}

// sharedBy says how a link was shared, or "".
func sharedBy(medium string) string {
	return map[string]string{
		"FACEBOOK": "Facebook", "EMAIL": "e-mail", "TWITTER": "X", "LINKEDIN": "LinkedIn", "SMS": "SMS", "DIRECT": "a direct link",
	}[medium]
}

// joinForm is the content of the sign-up form.
type joinForm struct {
	Name, Email, Code, Next string
	Problem                 string
}

func (v *visit) joinPage() error {
	if v.known {
		return v.redirect(next(v.r.URL.Query().Get("next")))
	}
	return v.showJoin(http.StatusOK, joinForm{Next: next(v.r.URL.Query().Get("next"))})
}

func (v *visit) showJoin(status int, f joinForm) error {
	return v.show(status, "join", "Sign up", map[string]any{"Form": f, "Product": productByID(strings.TrimPrefix(f.Next, "/buy/")), "Cookie": v.cookieOfLink(), "Tenant": v.tenant.Alias})
}

const maxName = 60

// join signs a customer up and identifies them at Kith.
func (v *visit) join() error {
	f := joinForm{
		Name: strings.Join(strings.Fields(v.r.PostFormValue("name")), " "), Email: strings.TrimSpace(v.r.PostFormValue("email")),
		Code: strings.TrimSpace(v.r.PostFormValue("code")), Next: next(v.r.PostFormValue("next")),
	}
	address, err := mail.ParseAddress(f.Email)
	switch {
	case f.Name == "" || len(f.Name) > maxName:
		f.Problem = "Name: 1 to 60 letters; what shall we write on the bag?"
	case err != nil || address.Address != f.Email || len(f.Email) > 120:
		f.Problem = "E-mail: not an address; give one such as name@example.com. Nothing is sent to it."
	case len(f.Code) > 64:
		f.Problem = "Code: too long; leave it out if you have none."
	}
	if f.Problem != "" {
		return v.showJoin(http.StatusUnprocessableEntity, f)
	}
	first, last, _ := strings.Cut(f.Name, " ")
	c, added, err := v.book.join(first, last, f.Email, v.now)
	if err != nil {
		return err
	}
	if added {
		if c, err = v.identify(c, f.Code); err != nil {
			return errors.Join(err, v.book.forget(c.ID))
		}
	}
	token, err := v.book.begin(c.ID)
	if err != nil {
		return err
	}
	v.setSession(token, int(30*24*time.Hour/time.Second))
	return v.redirect(f.Next)
}

// identify creates a customer at Kith. A typed code counts only if it is not the one
// that kith.js filled in: the cookie has that one, and the medium of the share link too.
func (v *visit) identify(c Customer, typed string) (Customer, error) {
	s, err := v.service()
	if err != nil {
		return c, err
	}
	if typed == v.r.PostFormValue("filled") {
		typed = ""
	}
	user, err := s.identify(v.r.Context(), c, s.ForwardedVisitor(v.r, ""), typed)
	if err != nil {
		return c, err
	}
	code := ""
	if user.ReferredBy != nil {
		code = user.ReferredBy.Code
	}
	v.book.keep(c.ID+"/account", v.calls.all())
	return v.book.change(c.ID, func(c *Customer) error { c.Code = code; return nil })
}

// setSession sets the cookie of the session for some seconds.
func (v *visit) setSession(token string, seconds int) {
	http.SetCookie(v.w, &http.Cookie{ // #nosec G124 -- kith dev is reached over http
		Name: v.sessionName(), Value: token, Path: Path, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(v.tenant.URL, "https:"),
	})
}

// leave ends the session.
func (v *visit) leave() error {
	if cookie, err := v.r.Cookie(v.sessionName()); err == nil {
		if err := v.book.end(cookie.Value); err != nil {
			return err
		}
	}
	v.setSession("", -1)
	return v.redirect("")
}

// friend is a friend of a customer, as the account page shows it.
type friend struct{ Name, State string }

// account shows the share link, the widget, the friends and the orders of a customer.
func (v *visit) account() error {
	if !v.signedIn() {
		return nil
	}
	s, err := v.service()
	if err != nil {
		return err
	}
	ctx, c := v.r.Context(), v.customer
	user, err := s.user(ctx, c)
	if unknown(err) {
		// The database of Kith was replaced, and the shop's was not.
		user, err = s.identify(ctx, c, s.ForwardedVisitor(v.r, ""), "")
	}
	if err != nil {
		return err
	}
	attributions, err := s.attributions(ctx, c)
	if err != nil {
		return err
	}
	found, total, err := s.friends(ctx, c)
	if err != nil {
		return err
	}
	var friends []friend
	for _, r := range found {
		var orders []kith.Order
		if r.State == "converted" { // each order may have earned a reward
			if orders, err = s.orders(ctx, r.ID); err != nil {
				return err
			}
		}
		friends = append(friends, friend{strings.TrimSpace(r.ReferredUser.FirstName + " " + r.ReferredUser.LastName), friendWords(r, orders, v.now)})
	}
	token, err := kith.SignUserToken(v.tenant.Key, map[string]any{"accountId": c.ID, "id": c.ID}, time.Hour)
	if err != nil {
		return err
	}
	decisions := attributionWords(attributions)
	if len(decisions) == 0 {
		decisions = []Decision{{"No friend referred this customer: no code reached Kith.", false}}
	}
	return v.showBehind("account", "Your account", c.ID+"/account", decisions, map[string]any{
		"Link": user.ProgramShareLinks[Program].CleanShareLink, "Code": user.ReferralCodes[Program],
		"Friends": friends, "MoreFriends": max(0, total-int64(len(friends))), "Token": token, "Tenant": v.tenant.Alias,
	})
}

// widget shows the customer's widget in a document of its own, whose policy permits the
// inline style and script of the widget.
func (v *visit) widget() error {
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' https: data:; connect-src 'self'; frame-ancestors 'self'")
	if !v.known {
		return refuse("Sign up to see your widget.")
	}
	s, err := v.service()
	if err != nil {
		return err
	}
	html, err := s.widget(v.r.Context(), v.customer)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.w.Write([]byte(html)) // #nosec G705 -- the service rendered it
	return nil
}
