package api

import (
	"context"
	"net/http"
	"strings"

	"kith/backend/app"
	"kith/core"
	"kith/core/auth"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

func (a *API) userRoutes() routes {
	const known = tenantPath + "/account/{account}/user/{user}"
	return routes{
		userPath:                  {"PUT": a.identify, "POST": a.identify, "GET": a.user, "DELETE": a.deleteUser},
		tenantPath + "/open/user": {"GET": a.openUser},
		cookieUserPath:            {"PUT": a.cookieUser},
		tenantPath + "/user":      {"POST": a.identifyInAccount, "GET": a.userByCode},
		tenantPath + "/users":     {"GET": a.users},
		known:                     {"GET": a.userForKey},
		known + "/pii":            {"GET": a.userForKey},
		known + "/block":          {"POST": a.block},
		known + "/unblock":        {"POST": a.unblock},
	}
}

// identify is PUT (upsert) and POST (create) of a user.
func (a *API) identify(w http.ResponseWriter, r *http.Request) error {
	wanted, err := wantedFields(r)
	if err != nil {
		return err
	}
	_, done, err := a.identified(w, r)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if r.Method == http.MethodPost {
		status = http.StatusCreated
	}
	writeJSON(w, status, wanted.Of(wire.User(done.UserInfo)))
	return nil
}

// identified identifies the user in the path of a request by what its body says
// of them; POST is for a new one.
func (a *API) identified(w http.ResponseWriter, r *http.Request) (caller app.Caller, done rules.Identified, err error) {
	in := rules.Identification{Create: r.Method == http.MethodPost}
	caller, account, user, body, err := a.identifier(w, r)
	if err != nil {
		return caller, done, err
	}
	in.Update, err = wire.ParseUser(caller.Tenant.Alias, account, user, body)
	if err != nil {
		return caller, done, err
	}
	if in.Update, err = caller.Vouched(in.Update, body); err != nil {
		return caller, done, err
	}
	if in.Cookie = cookies(r); in.BringsCodes() {
		if err := a.guesses().mayTry(w, r, caller); err != nil {
			return caller, done, err
		}
	}
	done, err = a.identifyAs(r, caller, in)
	if err == nil {
		a.guesses().unknownCodes(w, r, caller, done)
	}
	return caller, done, err
}

// identifier authenticates a request that identifies the user in its path, by
// its credentials or by the checksum of its body.
func (a *API) identifier(w http.ResponseWriter, r *http.Request) (c app.Caller, account core.AccountID, user core.UserID, body []byte, err error) {
	if c, err = a.caller(w, r); err != nil {
		return c, "", "", nil, err
	}
	if account, user, err = userIDs(r); err != nil {
		return c, "", "", nil, err
	}
	// What is wrong with a body is told only to who may send one.
	body, bodyErr := readJSON(w, r)
	endpoint := auth.CreateUser
	if r.Method == http.MethodPut {
		endpoint = auth.UpsertUser
		if c, err = a.Engine.WithChecksum(c, account, user, body); err != nil {
			return c, "", "", nil, err
		}
	}
	if err := c.May(endpoint, account, user); err != nil {
		return c, "", "", nil, err
	}
	return c, account, user, body, bodyErr
}

// identifyAs runs an identification with what the request itself tells.
func (a *API) identifyAs(r *http.Request, caller app.Caller, in rules.Identification) (rules.Identified, error) {
	in.Cookie, in.IP, in.Share = cookies(r), userIP(caller, r), caller.Share(a.origin(r))
	return a.Engine.Identify(r.Context(), caller.Tenant.Alias, in)
}

// identifyInAccount is POST /user: an upsert in an account that is there.
func (a *API) identifyInAccount(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	wanted, err := wantedFields(r)
	if err != nil {
		return err
	}
	body, err := readJSON(w, r)
	if err != nil {
		return err
	}
	account, user, err := wire.ParseUserIDs(body)
	if err != nil {
		return err
	}
	update, err := wire.ParseUser(caller.Tenant.Alias, account, user, body)
	if err != nil {
		return err
	}
	done, err := a.identifyAs(r, caller, rules.Identification{Update: update, KnownAccount: true})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wanted.Of(wire.User(done.UserInfo)))
	return nil
}

// user is GET of a user.
func (a *API) user(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userOf(w, r, auth.LookupUser)
	if err != nil {
		return err
	}
	found, err := a.Engine.User(r.Context(), caller.Tenant.Alias, account, user)
	return a.answerUser(w, r, caller, found, err)
}

// userForKey is GET /account/{account}/user/{user}, and with /pii: all that is
// stored about a user's person.
func (a *API) userForKey(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userByKey(w, r)
	if err != nil {
		return err
	}
	found, err := a.Engine.User(r.Context(), caller.Tenant.Alias, account, user)
	return a.answerUser(w, r, caller, found, err)
}

// userByCode is GET /user?referralCode=.
func (a *API) userByCode(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r)
	if err != nil {
		return err
	}
	code, err := codeInQuery(r)
	if err != nil {
		return err
	}
	found, err := a.Engine.UserByCode(r.Context(), caller.Tenant.Alias, code)
	return a.answerUser(w, r, caller, found, err)
}

func (a *API) answerUser(w http.ResponseWriter, r *http.Request, caller app.Caller, found wire.UserInfo, err error) error {
	if err != nil {
		return err
	}
	wanted, err := wantedFields(r)
	if err != nil {
		return err
	}
	found.Share = caller.Share(a.origin(r))
	writeJSON(w, http.StatusOK, wanted.Of(wire.User(found)))
	return nil
}

// openUser is GET /open/user?referralCode=, for anybody.
func (a *API) openUser(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.anybody(w, r)
	if err != nil {
		return err
	}
	code, err := codeInQuery(r)
	if err != nil {
		return err
	}
	found, code, err := a.Engine.OpenUser(r.Context(), caller.Tenant.Alias, code)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.OpenUser(found.User, code, caller.Key || isSelf(caller, found.User)))
	return nil
}

// isSelf reports whether a user makes a call about themselves.
func isSelf(c app.Caller, u referral.User) bool {
	return c.User != nil && c.User.Account == u.Account && c.User.User == u.ID
}

// codeInQuery reads the parameter referralCode. A text that cannot be a code is
// one that nobody has.
func codeInQuery(r *http.Request) (core.ReferralCode, error) {
	text := r.URL.Query().Get("referralCode")
	code, err := core.ParseReferralCode("referralCode", text)
	if err != nil && text != "" {
		return "", wire.UnknownCode()
	}
	return code, err
}

// users is GET /users.
func (a *API) users(w http.ResponseWriter, r *http.Request) error {
	caller, q, p, err := a.lister(w, r)
	if err != nil {
		return err
	}
	words, err := referral.SearchWords("query", q.Get("query"))
	if err != nil {
		return err
	}
	wanted, err := wantedFields(r)
	if err != nil {
		return err
	}
	found, total, err := a.Engine.Users(r.Context(), caller.Tenant.Alias, referral.UserFilter{
		Words: words, Limit: p.Limit, Offset: p.Offset,
	})
	if err != nil {
		return err
	}
	for i := range found {
		found[i].Share = caller.Share(a.origin(r))
	}
	writeJSON(w, http.StatusOK, wire.Users(found, total, wanted))
	return nil
}

// deleteUser is DELETE of a user.
func (a *API) deleteUser(w http.ResponseWriter, r *http.Request) error {
	caller, account, user, err := a.userByKey(w, r)
	if err != nil {
		return err
	}
	var o app.DeleteOptions
	if o.DoNotTrack, err = flag(r, "doNotTrack", false); err != nil {
		return err
	}
	if o.PreserveEmptyAccount, err = flag(r, "preserveEmptyAccount", true); err != nil {
		return err
	}
	if err := a.Engine.DeleteUser(r.Context(), caller.Tenant.Alias, account, user, o); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// flag reads a query parameter that is true or false.
func flag(r *http.Request, name string, unset bool) (bool, error) {
	switch r.URL.Query().Get(name) {
	case "":
		return unset, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, core.Invalid(name, "must be true or false")
}

// block is POST of /block; clients send it without a body.
func (a *API) block(w http.ResponseWriter, r *http.Request) error {
	return a.setBlocked(w, r, a.Engine.BlockUser)
}

// unblock is POST of /unblock.
func (a *API) unblock(w http.ResponseWriter, r *http.Request) error {
	return a.setBlocked(w, r, a.Engine.UnblockUser)
}

func (a *API) setBlocked(w http.ResponseWriter, r *http.Request,
	set func(context.Context, core.TenantAlias, core.AccountID, core.UserID) error) error {
	caller, account, user, err := a.userByKey(w, r)
	if err != nil {
		return err
	}
	if err := set(r.Context(), caller.Tenant.Alias, account, user); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte(`{}`))
	return nil
}

// wantedFields reads which keys of the answer are asked for.
func wantedFields(r *http.Request) (wire.Fields, error) {
	q := r.URL.Query()
	return wire.ParseFields(q["fields"], q["extraFields"])
}

// userIP is the address of the user's browser, or "" when the caller is a server.
func userIP(c app.Caller, r *http.Request) string {
	if c.Key {
		return ""
	}
	return seenIP(r)
}

// cookies is the request's Cookie header; HTTP/2 clients split it into several.
func cookies(r *http.Request) string { return strings.Join(r.Header.Values("Cookie"), "; ") }
