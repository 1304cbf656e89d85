package wire

import (
	"slices"
	"strings"

	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/origin"
)

// WebsiteSettings are the settings of a tenant for the pages of its shop.
type WebsiteSettings struct {
	Policy      link.Policy
	ShareOrigin string
	SecureMode  auth.SecureMode
	// Origins are the origins that were added; those of landing pages are allowed too.
	Origins []origin.Origin
}

// Website returns the settings of a website as JSON.
func Website(s WebsiteSettings) []byte {
	w := begin(nil)
	w.list("origins", len(s.Origins), func(b []byte, i int) []byte { return appendString(b, string(s.Origins[i])) })
	w.text("consent", string(s.Policy.Consent))
	w.text("consentCookie", s.Policy.ConsentCookie)
	w.text("shareOrigin", s.ShareOrigin)
	w.object("secureMode", func() {
		for _, e := range auth.Endpoints() {
			w.text(e.String(), s.SecureMode[e].String())
		}
	})
	return w.end()
}

// WebsiteUpdate is a change of the settings of a website. A nil field leaves the setting
// unchanged.
type WebsiteUpdate struct {
	Consent       *link.Consent
	ConsentCookie *string
	ShareOrigin   *string
	// SecureMode has changes as auth.SecureMode.With takes them.
	SecureMode string
	// Origins replace all origins that were added.
	Origins *[]origin.Origin
}

// ParseWebsite parses the body of PUT /website.
func ParseWebsite(body []byte) (in WebsiteUpdate, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "consent":
			return parsed(r, key, v, &in.Consent, func(field, s string) (link.Consent, error) {
				consent, ok := link.ParseConsent(s)
				if !ok {
					return "", core.Invalid(field, "must be one of off, opt-in, opt-out")
				}
				return consent, nil
			})
		case "consentCookie":
			return r.text(&in.ConsentCookie, key, v)
		case "shareOrigin":
			return r.text(&in.ShareOrigin, key, v)
		case "origins":
			all := []origin.Origin{}
			if v.Type() == fastjson.TypeArray {
				in.Origins = &all
			}
			return r.items(key, v, origin.MaxPerTenant, func(i int, v *fastjson.Value) error {
				at := element(r.path(key), i)
				text, err := textItem(at, v)
				if err != nil {
					return err
				}
				o, err := origin.Parse(at, text)
				if !slices.Contains(all, o) {
					all = append(all, o)
				}
				return err
			})
		case "secureMode":
			return r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
				if strings.ContainsAny(name, "=,") {
					return false
				}
				var mode *string
				r.text(&mode, name, v)
				if mode != nil {
					change := name + "=" + *mode
					if _, err := auth.DefaultSecureMode().With(r.path(name), change); err != nil {
						return r.fail(err)
					}
					in.SecureMode += change + ","
				}
				return true
			})
		}
		return false
	})
	return in, err
}

// linkWriter writes the share links of one code.
type linkWriter struct {
	w *writer
	// start is the link without mediums, as a JSON string without the closing quote.
	start []byte
}

func (w *writer) links(s link.Share, code core.ReferralCode) linkWriter {
	start := appendString(nil, s.URL(code))
	return linkWriter{w, start[:len(start)-1]}
}

// link writes one link. Mediums need no escaping.
func (l linkWriter) link(name string, e link.Engagement, m link.ShareMedium) {
	l.w.key(name)
	l.w.b = append(l.w.b, l.start...)
	l.w.b = append(l.w.b, link.Mediums(e, m)...)
	l.w.b = append(l.w.b, '"')
}

// flat writes links with their older names (clients 1.7.3), for the mediums DIRECT,
// FACEBOOK, TWITTER, EMAIL and LINKEDIN.
func (l linkWriter) flat(e link.Engagement, names ...string) {
	mediums := [...]link.ShareMedium{"DIRECT", "FACEBOOK", "TWITTER", "EMAIL", "LINKEDIN"}
	for i, name := range names {
		l.link(name, e, mediums[i])
	}
}

// flatLinks writes a user's links in the older form: an object of names, with a
// nested object for each engagement medium (clients 1.7.3). It writes null if code
// is empty.
func (w *writer) flatLinks(name string, s link.Share, code core.ReferralCode) {
	if code == "" {
		w.raw(name, "null")
		return
	}
	w.key(name)
	w.flatMembers(s, code)
}

func (w *writer) flatMembers(s link.Share, code core.ReferralCode) {
	l := w.links(s, code)
	w.open()
	l.flat(link.Unknown, "shareLink", "facebookShareLink", "twitterShareLink", "emailShareLink", "linkedinShareLink")
	l.flat("MOBILE", "mobileShareLink", "mobileFacebookShareLink", "mobileTwitterShareLink", "mobileEmailShareLink")
	for _, e := range [...]link.Engagement{"EMBED", "POPUP", "HOSTED", "MOBILE", "EMAIL"} {
		w.object(string(e), func() {
			l.flat(e, "shareLink", "facebookShareLink", "twitterShareLink", "emailShareLink", "linkedinShareLink")
		})
	}
	w.close()
}

// programLinks writes a user's links by program (clients 1.2.16).
func (w *writer) programLinks(u UserInfo) {
	w.object("programShareLinks", func() { w.programMembers(u) })
}

func (w *writer) programMembers(u UserInfo) {
	for _, c := range u.User.LinkNames() {
		l := w.links(u.Share, c.Code)
		w.object(string(c.Program), func() {
			l.link("cleanShareLink", "", "")
			for _, e := range [...]link.Engagement{link.Unknown, "EMAIL", "MOBILE"} {
				w.object(string(e), func() { l.link("DIRECT", e, "DIRECT") })
			}
		})
	}
}

// ProgramShareLinks returns a user's links by program as a JSON object.
func ProgramShareLinks(u UserInfo) string {
	w := begin(nil)
	w.programMembers(u)
	return string(w.end())
}

// ShareURLs returns a user's links in the newer form, by engagement and share medium
// (clients 1.7.1). e and m select one of each; empty means all.
func ShareURLs(s link.Share, code core.ReferralCode, e link.Engagement, m link.ShareMedium) []byte {
	w := begin(nil)
	w.object("shareLinks", func() {
		l := w.links(s, code)
		l.link("cleanShareLink", "", "")
		for _, engagement := range link.Engagements {
			if e != "" && e != engagement {
				continue
			}
			w.object(string(engagement), func() {
				for _, medium := range link.ShareMediums {
					if m == "" || m == medium {
						l.link(string(medium), engagement, medium)
					}
				}
			})
		}
	})
	return w.end()
}

// ShareLinks returns a user's links in the older form (clients 1.7.3).
func ShareLinks(s link.Share, code core.ReferralCode) []byte {
	w := writer{}
	w.flatMembers(s, code)
	return w.b
}
