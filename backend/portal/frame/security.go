package frame

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"kith/core"
	"kith/core/people"
)

// secure sets the headers of all pages. Pages may load files of the portal only, and run
// only scripts that the server wrote into them. Referrer-Policy is not no-referrer, with
// which browsers send no Origin with forms.
func (v *Visit) secure() {
	h := v.W.Header()
	policy := "default-src 'none'; script-src 'nonce-" + v.nonce + "'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	if v.frames {
		policy += "; frame-src 'self'"
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// ShowFrames permits the page of a visit to show documents of WriteFrame.
func ShowFrames(v *Visit) { v.frames = true }

// framePolicy is the Content-Security-Policy of documents in frames. Sandbox gives them an
// origin of their own, so that their scripts reach nothing of the portal. They may load
// public files, and send nothing.
const framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' https:; style-src 'unsafe-inline' https:; img-src https: data:; " +
	"font-src https: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// WriteFrame answers a visit with a whole HTML document, which may have scripts of its own,
// for a frame of a page; see ShowFrames.
func WriteFrame(v *Visit, html string) error {
	v.secure()
	h := v.W.Header()
	h.Set("Content-Security-Policy", framePolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	_, _ = v.W.Write([]byte(html)) // if this fails the visitor has disconnected
	return nil
}

// encrypted reports whether the visitor uses https.
func (v *Visit) encrypted() bool {
	return v.seen.Proto == "https" || strings.HasPrefix(v.URL, "https:")
}

// sessionCookie is the cookie of a session.
const sessionCookie = "kith_portal"

// cookieName returns the name of a cookie in the browser. A browser accepts a cookie with
// the prefix __Host- only from this host over https, so no other host can set it.
func (v *Visit) cookieName(name string) string {
	if v.encrypted() {
		return "__Host-" + name
	}
	return name
}

// Cookie returns a cookie that SetCookie has set, or "".
func (v *Visit) Cookie(name string) string {
	if cookie, err := v.R.Cookie(v.cookieName(name)); err == nil {
		return cookie.Value
	}
	return ""
}

// SetSession sets the cookie of a session; an empty token removes it.
func (v *Visit) SetSession(token string) {
	life := int(v.Engine.SignIns.Sessions.Life / core.Second)
	if token == "" {
		life = -1
	}
	v.SetCookie(sessionCookie, token, life)
}

// deviceCookie is the cookie by which a browser that has signed in is recognised; see
// members.SignIns.NewDevice.
const deviceCookie = "kith_device"

// markDevice sets the cookie of a browser in which a person has signed in, if it has none of
// that person. An answer that sets another cookie leaves it to the next page.
func (v *Visit) markDevice() error {
	if !v.SignedIn() || v.W.Header().Get("Set-Cookie") != "" {
		return nil
	}
	device, err := v.Engine.SignIns.NewDevice(v.Visitor(), v.Seat)
	if err == nil && device != "" {
		v.SetCookie(deviceCookie, device, int(people.DeviceLife/core.Second))
	}
	return err
}

// Confirmed gives the caller's password from a field of a form, for a change that needs it, and
// calls change; see the template "again". Errors about the password are about the field.
func Confirmed(v *Visit, f *Form, field string, change func() error) error {
	var err error
	if password := f.Value(field); !v.Caller.Confirmed && password != "" {
		err = v.Engine.SignIns.Confirm(v.Ctx(), v.Visitor(), v.Seat, password)
		v.Caller.Confirmed = err == nil
	}
	if err == nil {
		err = change()
	}
	var known *core.Error
	if errors.As(err, &known) && known.Field == "password" {
		about := *known
		about.Field = field
		return &about
	}
	return err
}

// SetCookie sets a cookie that only the server reads, for some seconds. An answer sets one
// cookie at most, because Spin sends only one.
func (v *Visit) SetCookie(name, value string, seconds int) {
	http.SetCookie(v.W, &http.Cookie{ // #nosec G124 -- over http, on a developer's machine, a browser refuses Secure
		Name: v.cookieName(name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.encrypted(), MaxAge: seconds,
	})
}

// checkOrigin returns an error if a request was sent by a page of another site. All
// current browsers send at least one of the two headers with a form.
func (v *Visit) checkOrigin() error {
	h := v.R.Header
	switch h.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return nil
	case "":
		if from, err := url.Parse(h.Get("Origin")); err == nil && from.Host != "" && strings.EqualFold(from.Host, v.seen.Host) {
			return nil
		}
	}
	return &core.Error{
		Code: core.CodeForbidden,
		Message: "This form was sent by a page of another site, or a proxy has changed its origin. Open the portal again and repeat the step. " +
			"If this happens each time, the operator must add the proxy to --trusted-proxies.",
	}
}

// CSRFField is the name of the form field with the token of checkToken, and csrfHeader the
// header that htmx sends it in.
const (
	CSRFField  = "csrf"
	csrfHeader = "X-Csrf-Token"
)

// csrfToken returns a token that only pages of the visitor's session have. Each page has
// another one, so that compressing the page does not reveal it.
func (v *Visit) csrfToken() string {
	if !v.Known {
		return ""
	}
	var salt [16]byte
	_, _ = rand.Read(salt[:])
	return base64.RawURLEncoding.EncodeToString(append(salt[:], v.csrfMAC(salt[:])...))
}

func (v *Visit) csrfMAC(salt []byte) []byte {
	mac := hmac.New(sha256.New, []byte(v.token))
	_, _ = mac.Write([]byte("kith portal csrf"))
	_, _ = mac.Write(salt)
	return mac.Sum(nil)
}

// checkToken returns an error if a form lacks the token of the visitor's session. Without
// a session there is nothing that a foreign page could use; checkOrigin refuses it anyway.
func (v *Visit) checkToken() error {
	if !v.Known {
		return nil
	}
	sent := v.R.Header.Get(csrfHeader)
	if sent == "" {
		sent = v.R.PostForm.Get(CSRFField)
	}
	raw, err := base64.RawURLEncoding.DecodeString(sent)
	if err == nil && len(raw) == 16+sha256.Size && hmac.Equal(raw[16:], v.csrfMAC(raw[:16])) {
		return nil
	}
	return &core.Error{Code: core.CodeForbidden, Message: "The page was opened in another session. Go back, load it again and repeat the step."}
}
