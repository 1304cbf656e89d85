package app_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
)

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestMakeKey_HasThePrefixOfItsModeAndNeverRepeats(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	live, test := b.APIKeys.MakeKey("acme"), b.APIKeys.MakeKey("test_acme")
	require.Regexp(t, regexp.MustCompile(`^LIVE_[2-9A-HJ-NP-Z]{40}$`), live)
	require.Regexp(t, regexp.MustCompile(`^TEST_[2-9A-HJ-NP-Z]{40}$`), test)
	require.NotEqual(t, live[5:], test[5:])
	require.NotEqual(t, live, b.APIKeys.MakeKey("acme"))
}

func TestCreateTenant_KeepsTheKeySealedAndHashed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	test := base.TestPrefix + b.tenant
	require.NoError(t, b.Tenants.Create(t.Context(), aTenant(test, b.APIKeys.MakeKey(test))))
	stored, err := tenantdb.Find(t.Context(), b.DB.Reads, b.tenant)
	require.NoError(t, err)
	require.Len(t, stored.Keys, 1)
	first := stored.Keys[0]
	require.Equal(t, auth.APIKey{Name: "default", Role: auth.RoleAll, Hash: auth.KeyHash(b.key), Sealed: first.Sealed, Created: first.Created}, first)
	require.NotContains(t, first.Sealed, b.key)
	require.Equal(t, wire.DefaultDiscountID, stored.DiscountID)
	key, err := b.Keys.Open(auth.KeyPlace(b.tenant), first.Sealed)
	require.NoError(t, err)
	require.Equal(t, b.key, key)
	_, err = b.Keys.Open(auth.KeyPlace(test), first.Sealed)
	require.Error(t, err, "a sealed key does not open for another tenant")

	conflict := &core.Error{Code: core.CodeConflict, Field: "alias", Message: "there is a tenant " + string(b.tenant) + " already; give another one"}
	other := b.tenant + "-other"
	require.Equal(t, conflict, b.Tenants.Create(t.Context(), aTenant(other, b.APIKeys.MakeKey(other)), aTenant(b.tenant, b.APIKeys.MakeKey(b.tenant))))
	_, err = tenantdb.Find(t.Context(), b.DB.Reads, other)
	require.Equal(t, core.UnknownTenant(), err, "only one of two tenants was created")
	again, err := tenantdb.Find(t.Context(), b.DB.Reads, b.tenant)
	require.NoError(t, err)
	require.Equal(t, stored, again)
}

func TestCreateTenant_RefusesInvalidSettings(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, alias := range []core.TenantAlias{"", "a b", "a/b", "ü", core.TenantAlias(strings.Repeat("a", 65))} {
		err := b.Tenants.Create(t.Context(), aTenant(alias, "key"))
		require.Equal(t, core.Invalid("alias", "must be 1 to 64 of A-Z a-z 0-9 - _"), err, "%q", alias)
	}
	for _, landing := range []string{"", "/welcome", "shop.example", "ftp://shop.example/", "https://u:p@shop.example/", "https:///x"} {
		tenant := aTenant("fine", "key")
		tenant.Program.LandingURL = landing
		err := b.Tenants.Create(t.Context(), tenant)
		require.Equal(t, core.Invalid("landing-url", "must be an absolute http or https URL"), err, "%q", landing)
	}
	_, err := tenantdb.Find(t.Context(), b.DB.Reads, "fine")
	require.Equal(t, core.UnknownTenant(), err)
}

func TestAuthenticate_EveryForm(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	subject := wire.Subject{Account: "anna", User: "u"}
	sign := func(key string, expires core.Time) string { return wire.SignToken(key, subject, expires) }
	token := sign(b.key, start+core.Day)
	wrong := strings.Repeat("x", len(b.key))
	const (
		key  = "key"
		user = "user"
		// anonymous is a caller without credentials; none means wrong credentials.
		anonymous = "anonymous"
		none      = ""
	)
	for name, row := range map[string]struct{ authorization, userToken, want string }{
		"key as password":          {basic("", b.key), "", key},
		"key as user":              {basic(b.key, ""), "", key},
		"key as both":              {basic(b.key, b.key), "", key},
		"an id and the key":        {basic("an id of ours", b.key), "", key},
		"scheme in any case":       {strings.Replace(basic("", b.key), "Basic", "bAsIc", 1), "", key},
		"key before token":         {basic("", b.key), token, key},
		"bearer":                   {"Bearer " + token, "", user},
		"header":                   {"", token, user},
		"header, bearer undefined": {"Bearer undefined", token, user},
		"not yet expired":          {"Bearer " + sign(b.key, start+core.Second), "", user},
		"nothing":                  {"", "", anonymous},
		"empty bearer":             {"Bearer ", "", anonymous},
		"bearer null, no header":   {"Bearer null", "undefined", anonymous},
		"empty basic":              {basic("", ""), "", none},
		"alias alone":              {basic(string(b.tenant), ""), "", none},
		"wrong key as password":    {basic("", wrong), "", none},
		"wrong key as user":        {basic(wrong, ""), "", none},
		"key in another case":      {basic("", strings.ToLower(b.key)), "", none},
		"key and something":        {basic(b.key, "x"), "", none},
		"key as bearer":            {"Bearer " + b.key, "", key},
		"hash of the key":          {basic("", auth.KeyHash(b.key)), "", none},
		"not base64":               {"Basic :" + b.key, "", none},
		"other scheme":             {"Digest " + b.key, "", none},
		"bearer undefined":         {"Bearer undefined", "", anonymous},
		"signed by another key":    {"Bearer " + sign(wrong, start+core.Day), "", none},
		"without exp":              {"Bearer " + sign(b.key, 0), "", none},
		"expired":                  {"Bearer " + sign(b.key, start-core.Second), "", none},
		"cut":                      {"Bearer " + token[:len(token)-2], "", none},
		"wrong key, valid token":   {basic("", wrong), token, none},
		"unsigned":                 {"Bearer " + unsigned(token), "", none},
	} {
		caller, err := b.Callers.Authenticate(t.Context(), b.tenant, row.authorization, row.userToken)
		if row.want == none {
			var known *core.Error
			require.ErrorAs(t, err, &known, name)
			require.Equal(t, core.CodeUnauthenticated, known.Code, name)
			require.Zero(t, caller, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, b.tenant, caller.Tenant.Alias, name)
		require.Equal(t, row.want == key, caller.Key, name)
		require.Equal(t, row.want == user, caller.User != nil, name)
		require.Equal(t, row.want == key, caller.MustHoldKey() == nil, name)
		if caller.User != nil {
			require.Equal(t, subject.Account, caller.User.Account, name)
			require.Equal(t, subject.User, caller.User.User, name)
		}
	}
	// The one token without exp is counted, and no other that is refused.
	require.NoError(t, b.APIKeys.SaveUses(t.Context()))
	stored, err := b.Tenants.ByAlias(t.Context(), b.tenant)
	require.NoError(t, err)
	require.Equal(t, 1, stored.UndatedRefused)
	require.Equal(t, b.Now(), stored.UndatedLast)
	_, err = b.Callers.Authenticate(t.Context(), "nobody", basic("", b.key), "")
	require.Equal(t, core.UnknownTenant(), err)
}

// unsigned returns the token with the algorithm "none" and no signature.
func unsigned(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	claims, _, _ := strings.Cut(rest, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + claims + "."
}

func TestAuthenticate_KeyOfOneTenantNeverWorksForAnother(t *testing.T) {
	t.Parallel()
	db := openFile(t)
	a, b := bundleOn(t, db), bundleOn(t, db)
	token, err := a.Tenants.SignToken(t.Context(), a.tenant, wire.Subject{Account: "anna", User: "u"}, start+core.Day)
	require.NoError(t, err)
	own := []string{basic("", a.key), basic(a.key, ""), basic(a.key, a.key), "Bearer " + token}
	for _, credentials := range own {
		_, err := a.Callers.Authenticate(t.Context(), a.tenant, credentials, "")
		require.NoError(t, err)
	}
	for _, credentials := range append(own, basic(string(b.tenant), a.key), basic(string(a.tenant), a.key)) {
		_, err = b.Callers.Authenticate(t.Context(), b.tenant, credentials, "")
		var known *core.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, core.CodeUnauthenticated, known.Code)
	}
}

func TestSignToken_AuthenticatesItsUserOnly(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	token, err := b.Tenants.SignToken(t.Context(), b.tenant, wire.Subject{Account: "anna", User: "u"}, start+core.Minute)
	require.NoError(t, err)
	caller, err := b.Callers.Authenticate(t.Context(), b.tenant, "Bearer "+token, "")
	require.NoError(t, err)
	require.NoError(t, caller.May(auth.LookupUser, "anna", "u"))
	var known *core.Error
	for _, err := range []error{caller.MustHoldKey(), caller.May(auth.LookupUser, "anna", "v"), caller.May(auth.LookupUser, "bert", "u")} {
		require.ErrorAs(t, err, &known)
		require.Equal(t, core.CodeForbidden, known.Code)
	}
	caller, err = b.Callers.Authenticate(t.Context(), b.tenant, basic("", b.key), "")
	require.NoError(t, err)
	require.NoError(t, caller.MustHoldKey())
	require.NoError(t, caller.May(auth.LookupUser, "anyone", "at all"))
}

// A backend with another master key is a mistake of its operator. The error says so, and
// is internal: no caller sees it.
func TestAuthenticate_WrongMasterKey(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	token, err := b.Tenants.SignToken(t.Context(), b.tenant, wire.Subject{Account: "anna", User: "u"}, start+core.Day)
	require.NoError(t, err)
	b.Keys = keyring(t, "b")
	_, err = b.Callers.Authenticate(t.Context(), b.tenant, "Bearer "+token, "")
	require.EqualError(t, err, "app: open key default of tenant "+string(b.tenant)+": auth: sealed under another master key: all processes on one database need the same")
	var known *core.Error
	require.NotErrorAs(t, err, &known)
	_, err = b.Callers.Authenticate(t.Context(), b.tenant, basic("", b.key), "")
	require.NoError(t, err, "the API key is compared, not opened")
}

// A change keeps the settings that it does not name. An invalid change changes nothing.
func TestChangeTenant(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	before, err := b.Tenants.ByAlias(t.Context(), b.tenant)
	require.NoError(t, err)
	require.Equal(t, auth.DefaultSecureMode(), before.SecureMode)
	require.Equal(t, auth.PaymentSigned, before.BrowserPayment)

	want := before
	want.DiscountID, want.ShareOrigin, want.BrowserPayment = "d", "https://go.example:8443", auth.PaymentAny
	want.InitChecksum, want.UndatedTokens, want.RememberDeleted = true, true, core.Day
	want.Policy = link.Policy{Consent: link.ConsentOptIn, ConsentCookie: "agreed"}
	want.SecureMode[auth.UpsertUser], want.SecureMode[auth.GetWidget] = auth.Open, auth.Disabled
	changed, err := b.Tenants.Change(t.Context(), b.tenant, tenants.TenantChange{
		DiscountID: &want.DiscountID, ShareOrigin: &want.ShareOrigin, BrowserPayment: &want.BrowserPayment,
		InitChecksum: &want.InitChecksum, UndatedTokens: &want.UndatedTokens, Consent: &want.Policy.Consent, ConsentCookie: &want.Policy.ConsentCookie,
		SecureMode: "upsert-user=open,get-widget=disabled", RememberDeleted: &want.RememberDeleted,
	})
	require.NoError(t, err)
	require.Equal(t, want, changed)
	changed, err = b.Tenants.Change(t.Context(), b.tenant, tenants.TenantChange{SecureMode: "get-widget=open"})
	require.NoError(t, err)
	want.SecureMode[auth.GetWidget] = auth.Open
	require.Equal(t, want, changed)

	empty, path, hostless := "", "https://go.example/x", "https://"
	for field, change := range map[string]tenants.TenantChange{
		"discount-id":    {DiscountID: &empty},
		"consent-cookie": {ConsentCookie: &empty},
		"share-origin":   {ShareOrigin: &path},
		"secure-mode":    {SecureMode: "get-widget=shut"},
	} {
		_, err := b.Tenants.Change(t.Context(), b.tenant, change)
		var known *core.Error
		require.ErrorAs(t, err, &known, field)
		require.Equal(t, field, known.Field)
	}
	_, err = b.Tenants.Change(t.Context(), b.tenant, tenants.TenantChange{ShareOrigin: &hostless})
	require.Error(t, err)
	stored, err := b.Tenants.ByAlias(t.Context(), b.tenant)
	require.NoError(t, err)
	require.Equal(t, want, stored)
	_, err = b.Tenants.Change(t.Context(), "nobody", tenants.TenantChange{})
	require.Equal(t, core.UnknownTenant(), err)
}
