package api

import (
	"bytes"
	"math"
	"net/http"
	"strings"

	"kith/backend/app/base"
	"kith/backend/app/users"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

func (a *API) userRoutes() routes {
	const known = tenantPath + "/account/{account}/user/{user}"
	identify := a.identify(a.identified, operation.IdentifyUser)
	return routes{
		userPath:                              {"PUT": identify, "POST": identify, "GET": a.userAt(operation.ReadReferrals, auth.LookupUser, a.user), "DELETE": a.keyedUser(operation.EraseUser, a.deleteUser)},
		tenantPath + "/open/user":             {"GET": a.public(a.openUser)},
		tenantPath + "/open/user/cookie_user": {"PUT": a.identify(a.cookieIdentified, operation.IdentifyCookieUser)},
		tenantPath + "/user":                  {"POST": a.keyed(operation.IdentifyUser, a.identifyInAccount), "GET": a.keyed(operation.ReadReferrals, a.userByCode)},
		tenantPath + "/users":                 {"GET": a.keyed(operation.ReadReferrals, with((*call).page, a.users))},
		known:                                 {"GET": a.keyedUser(operation.ReadReferrals, a.user)},
		known + "/pii":                        {"GET": a.keyedUser(operation.ReadReferrals, a.user)},
		known + "/block":                      {"POST": a.keyedUser(operation.BlockUser, a.block)},
		known + "/unblock":                    {"POST": a.keyedUser(operation.UnblockUser, a.unblock)},
		known + "/referrer":                   {"POST": a.keyedUser(operation.AttributeUser, with(bodyFor(wire.ParseByHand), a.attributeByHand))},
		known + "/export":                     {"GET": a.keyedUser(operation.ExportUser, a.exportUser)},
	}
}

// identification stores the user whom a request identifies. It refuses an API key whose role
// does not permit the operation.
type identification func(http.ResponseWriter, *http.Request, *operation.Operation) (base.Caller, rules.Identified, error)

// identify returns the handler of PUT (create or update) and POST (create) of a user.
func (a *API) identify(by identification, op *operation.Operation) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		wanted, err := wantedFields(r)
		if err != nil {
			return err
		}
		_, done, err := by(w, r, op)
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
}

// identified stores the user in the path of a request with the values in its body. For
// POST the user must be new.
func (a *API) identified(w http.ResponseWriter, r *http.Request, op *operation.Operation) (caller base.Caller, done rules.Identified, err error) {
	in := rules.Identification{Create: r.Method == http.MethodPost}
	caller, account, user, body, err := a.identifier(w, r, op)
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
	a.forgetRefused(w, r, caller)
	if in = a.withCookies(r, caller, in); in.BringsCodes() {
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

// identifier authenticates a request that identifies the user in its path: by its
// credentials or, for PUT, by the checksum of its body.
func (a *API) identifier(w http.ResponseWriter, r *http.Request, op *operation.Operation) (c base.Caller, account core.AccountID, user core.UserID, body []byte, err error) {
	if c, err = a.caller(w, r, op); err != nil {
		return c, "", "", nil, err
	}
	if account, user, err = userIDs(r); err != nil {
		return c, "", "", nil, err
	}
	// An error in the body is returned only to a caller who may send one.
	body, bodyErr := readJSON(w, r)
	endpoint := auth.CreateUser
	if r.Method == http.MethodPut {
		endpoint = auth.UpsertUser
		if c, err = a.Engine.Callers.WithChecksum(c, account, user, body); err != nil {
			return c, "", "", nil, err
		}
	}
	if err := c.May(endpoint, account, user); err != nil {
		return c, "", "", nil, err
	}
	return c, account, user, body, bodyErr
}

// identifyAs runs an identification, which has the cookies of the request, with the address and
// origin of the request.
func (a *API) identifyAs(r *http.Request, caller base.Caller, in rules.Identification) (rules.Identified, error) {
	in.IP, in.Share = userIP(caller, r), caller.Share(a.origin(r))
	return a.Engine.Identification.Identify(r.Context(), caller.Tenant.Alias, in)
}

// withCookies returns an identification with the request's cookies, and with what decides
// whether they count.
func (a *API) withCookies(r *http.Request, caller base.Caller, in rules.Identification) rules.Identification {
	in.Visit, in.Policy, in.Server = a.visit(r), caller.Tenant.Policy, caller.Key
	return in
}

// identifyInAccount handles POST /user: it creates or updates a user of an existing
// account.
func (a *API) identifyInAccount(c *call) ([]byte, error) {
	wanted, err := wantedFields(c.Request)
	if err != nil {
		return nil, err
	}
	update, err := decode(c, func(body []byte) (u referral.UserUpdate, err error) {
		account, user, err := wire.ParseUserIDs(body)
		if err != nil {
			return u, err
		}
		return wire.ParseUser(c.tenant, account, user, body)
	})
	if err != nil {
		return nil, err
	}
	done, err := a.identifyAs(c.Request, c.caller, a.withCookies(c.Request, c.caller, rules.Identification{Update: update, KnownAccount: true}))
	if err != nil {
		return nil, err
	}
	return wanted.Of(wire.User(done.UserInfo)), nil
}

// user handles GET of a user. The user may read /open/account/{account}/user/{user};
// /account/{account}/user/{user} and /pii below it need the API key.
func (a *API) user(c *call) ([]byte, error) {
	return a.userFor(c)(a.Engine.Users.ByID(c.Context(), c.tenant, c.account, c.user))
}

// userByCode handles GET /user?referralCode=.
func (a *API) userByCode(c *call) ([]byte, error) {
	code, err := codeInQuery(c)
	if err != nil {
		return nil, err
	}
	return a.userFor(c)(a.Engine.Users.ByCode(c.Context(), c.tenant, code))
}

// userFor returns a function that encodes the fields of a user that a call asks for.
func (a *API) userFor(c *call) func(wire.UserInfo, error) ([]byte, error) {
	return func(found wire.UserInfo, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		wanted, err := wantedFields(c.Request)
		if err != nil {
			return nil, err
		}
		found.Share = c.caller.Share(a.origin(c.Request))
		return wanted.Of(wire.User(found)), nil
	}
}

// openUser handles GET /open/user?referralCode=.
func (a *API) openUser(c *call) ([]byte, error) {
	code, err := codeInQuery(c)
	if err != nil {
		return nil, err
	}
	found, code, err := a.Engine.Users.PublicByCode(c.Context(), c.tenant, code)
	if err != nil {
		return nil, err
	}
	return wire.OpenUser(found.User, code, c.caller.Key || isSelf(c.caller, found.User)), nil
}

// isSelf reports whether the caller is the user u.
func isSelf(c base.Caller, u referral.User) bool {
	return c.User != nil && c.User.Account == u.Account && c.User.User == u.ID
}

// codeInQuery reads the query parameter referralCode, as a person typed it; see
// link.MeantCode.
func codeInQuery(c *call) (core.ReferralCode, error) {
	code := link.MeantCode(c.tenant, c.URL.Query().Get("referralCode"))
	if code == "" {
		return core.ParseReferralCode("referralCode", "")
	}
	return code, nil
}

// users handles GET /users.
func (a *API) users(c *call, p base.Page) ([]byte, error) {
	words, err := referral.SearchWords("query", c.URL.Query().Get("query"))
	if err != nil {
		return nil, err
	}
	wanted, err := wantedFields(c.Request)
	if err != nil {
		return nil, err
	}
	found, total, err := a.Engine.Users.List(c.Context(), c.tenant, referral.UserFilter{
		Words: words, Limit: p.Limit, Offset: p.Offset,
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Share = c.caller.Share(a.origin(c.Request))
	}
	return wire.Users(found, total, wanted), nil
}

// deleteUser handles DELETE of a user.
func (a *API) deleteUser(c *call) ([]byte, error) {
	var o users.DeleteOptions
	var err error
	if o.DoNotTrack, err = flag(c.Request, "doNotTrack", false); err != nil {
		return nil, err
	}
	if o.PreserveEmptyAccount, err = flag(c.Request, "preserveEmptyAccount", true); err != nil {
		return nil, err
	}
	return nil, a.Engine.Admin.Users.Delete(c.Context(), c.member(), c.who(), o)
}

// flag reads a query parameter that is true or false; unset is the value of a missing one.
func flag(r *http.Request, name string, unset bool) (bool, error) {
	switch strings.ToLower(r.URL.Query().Get(name)) {
	case "":
		return unset, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, core.Invalid(name, "must be true or false")
}

// block handles POST of /block. The body may be empty; older clients send none.
func (a *API) block(c *call) ([]byte, error) {
	body, err := readOptional(c)
	if err != nil {
		return nil, err
	}
	rewards, err := wire.ParseBlock(body)
	if err != nil {
		return nil, err
	}
	return wire.Empty(), a.Engine.Admin.Users.Block(c.Context(), c.member(), c.who(), rewards, "")
}

// unblock handles POST of /unblock. The request has no body.
func (a *API) unblock(c *call) ([]byte, error) {
	return wire.Empty(), a.Engine.Admin.Users.Unblock(c.Context(), c.member(), c.who(), "")
}

// attributeByHand handles POST of /referrer.
func (a *API) attributeByHand(c *call, in wire.ByHand) ([]byte, error) {
	made, err := a.Engine.Admin.Users.Attribute(c.Context(), c.member(), c.who(), string(in.Code), in.Reason)
	if err != nil {
		return nil, err
	}
	return encode(wire.Referral)(a.Engine.Referrals.ByID(c.Context(), c.tenant, made))
}

// exportUser handles GET of /export.
func (a *API) exportUser(c *call) ([]byte, error) {
	out := exported{most: maxExport}
	if c.caller.Operator {
		out.most = math.MaxInt
	}
	err := a.Engine.Users.WritePersonal(c.Context(), c.tenant, c.account, c.user, &out)
	return out.Bytes(), err
}

// maxExport is the most bytes of an export of a user in an answer.
const maxExport = 64 << 20

// exported is an export of a user in memory, of at most so many bytes.
type exported struct {
	bytes.Buffer
	most int
}

// Write adds a part, unless the export becomes too large.
func (e *exported) Write(b []byte) (int, error) {
	if e.Len()+len(b) > e.most {
		return 0, &core.Error{Code: core.CodeTooLarge, Message: "the data of this user is larger than 64 MB; let the operator make this call by kith api"}
	}
	return e.Buffer.Write(b)
}

// wantedFields reads the query parameters that name the keys of the answer.
func wantedFields(r *http.Request) (wire.Fields, error) {
	q := r.URL.Query()
	return wire.ParseFields(q["fields"], q["extraFields"])
}

// userIP returns the address of the user's browser, or "" if the caller is a server.
func userIP(c base.Caller, r *http.Request) string {
	if c.Key {
		return ""
	}
	return seenIP(r)
}

// cookies returns the request's Cookie header. HTTP/2 clients may split it into several.
func cookies(r *http.Request) string { return strings.Join(r.Header.Values("Cookie"), "; ") }
