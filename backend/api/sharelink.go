package api

import (
	"net/http"
	"net/url"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/wire"
)

func (a *API) shareLinkRoutes() routes {
	const known = tenantPath + "/account/{account}/user/{user}"
	return routes{
		userPath + "/shareurls":                      {"GET": a.userAt(operation.ReadReferrals, auth.GetShareLinks, a.shareURLs)},
		known + "/shareurls":                         {"GET": a.keyedUser(operation.ReadReferrals, a.shareURLs)},
		known + "/sharelinks":                        {"GET": a.keyedUser(operation.ReadReferrals, a.shareLinks)},
		"/a/{tenant}/message/redirect/{shareMedium}": {"GET": a.message},
	}
}

// shareURLs handles GET of a user's share links at /shareurls, for the user or a holder of
// the API key.
func (a *API) shareURLs(c *call) ([]byte, error) {
	engagement, err := engagementOf(c.Request)
	if err != nil {
		return nil, err
	}
	text := c.URL.Query().Get("shareMedium")
	medium, ok := link.ParseShareMedium(strings.ToUpper(text))
	if !ok && text != "" {
		return nil, unknownMedium()
	}
	code, err := a.shareCode(c)
	if err != nil {
		return nil, err
	}
	return wire.ShareURLs(c.caller.Share(a.origin(c.Request)), code, engagement, medium), nil
}

// shareLinks handles GET /account/{account}/user/{user}/sharelinks, the older form.
func (a *API) shareLinks(c *call) ([]byte, error) {
	code, err := a.shareCode(c)
	if err != nil {
		return nil, err
	}
	return wire.ShareLinks(c.caller.Share(a.origin(c.Request)), code), nil
}

// message handles GET /a/{tenant}/message/redirect/{shareMedium}. It redirects to the
// service or app with which the user shares the link, such as WhatsApp.
func (a *API) message(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.anonymous(w, r, nil)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	account, err := core.ParseAccountID("accountId", q.Get("accountId"))
	if err != nil {
		return err
	}
	user, err := core.ParseUserID("userId", q.Get("userId"))
	if err != nil {
		return err
	}
	engagement, err := engagementOf(r)
	if err != nil {
		return err
	}
	medium, ok := link.ParseShareMedium(strings.ToUpper(r.PathValue("shareMedium")))
	if !ok {
		return unknownMedium()
	}
	program, err := programIn(q)
	if err != nil {
		return err
	}
	sharing, err := a.Engine.Users.Invitation(r.Context(), caller.Tenant.Alias, account, user, program, q.Get(link.LocaleParameter), r.Header.Get("Accept-Language"))
	if err != nil {
		return err
	}
	shared := caller.Share(a.origin(r)).URL(sharing.Code) + link.Mediums(engagement, medium)
	if page := q.Get(link.LandingPageParameter); page != "" {
		between := "?"
		if strings.Contains(shared, "?") {
			between = "&"
		}
		shared += between + link.LandingPageParameter + "=" + url.QueryEscape(page)
	}
	location, _ := link.Message(medium, sharing.Invitation.Subject, sharing.Invitation.Message, shared)
	redirect(w, link.Answer{Status: http.StatusFound, Location: location})
	return nil
}

// shareCode returns the code that a user shares in the program that the query names, or
// in the user's first program.
func (a *API) shareCode(c *call) (core.ReferralCode, error) {
	key, err := programIn(c.URL.Query())
	if err != nil {
		return "", err
	}
	code, err := a.Engine.Users.ShareCode(c.Context(), c.tenant, c.account, c.user, key)
	return code.Code, err
}

// engagementOf reads the query parameter engagementMedium; "" if it is missing.
func engagementOf(r *http.Request) (link.Engagement, error) {
	text := r.URL.Query().Get("engagementMedium")
	e, ok := link.ParseEngagement(strings.ToUpper(text))
	if !ok && text != "" {
		err := core.Invalid("engagementMedium", "must be one of EMAIL, MOBILE, EMBED, POPUP, HOSTED, UNKNOWN")
		err.RS = "RS037"
		return "", err
	}
	return e, nil
}

func unknownMedium() *core.Error {
	return core.Invalid("shareMedium", "must be one of FACEBOOK, TWITTER, EMAIL, DIRECT, LINKEDIN, SMS, FBMESSENGER, WHATSAPP, LINEMESSENGER, PINTEREST, UNKNOWN")
}
