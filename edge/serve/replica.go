package serve

import (
	"slices"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/origin"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
	"kith/edge/abi"
)

// database is the name under which the manifest grants the replica.
const database = "default"

// row runs a statement that returns at most one row. It returns false if there is no
// row or an error: the request is then forwarded.
func (r *request) row(statement string, params ...abi.Value) ([]abi.Value, bool) {
	rows, err := r.execute(statement, params...)
	if err != nil || len(rows.Values) == 0 {
		return nil, false
	}
	return rows.Values[0], true
}

func (r *request) execute(statement string, params ...abi.Value) (rows abi.Rows, err error) {
	if !r.opened {
		if r.db, err = abi.OpenDB(database); err != nil {
			denied, _ := err.(*abi.DBError)
			r.without = denied != nil && denied.Code == abi.DBAccessDenied
			return rows, err
		}
		r.opened = true
	}
	rows, err = r.db.Execute(statement, params...)
	if err != nil && isSchemaError(err) {
		r.unusable = noSchemaError(err)
	}
	return rows, err
}

// isSchemaError reports whether a statement failed because the database does not have
// the schema of this component. Only the text of the error shows it.
func isSchemaError(err error) bool {
	text := err.Error()
	return strings.Contains(text, "no such table") || strings.Contains(text, "no such column")
}

func noSchemaError(why error) error {
	return &core.Error{
		Code: core.CodeUnavailable, Err: why,
		Message: "the database does not have the schema of this edge; check its path, and start a backend of this version on it",
	}
}

// target is a code with its program and tenant, for a redirect. The code is empty if
// its owner is blocked: it is not a code for visitors then.
type target struct {
	link.Target
	code core.ReferralCode
}

const targetColumns = `SELECT t.alias, t.consent, t.consent_cookie, p.key, p.landing_url, p.allowed_hosts, p.cookie_life, ` + auth.MasterKeyOf + `,
	p.utm_source, CASE p.utm_campaign WHEN '' THEN p.name ELSE p.utm_campaign END, t.squatch_parameter = 'on',
	t.link_max_age, CASE WHEN u.blocked_at IS NULL THEN c.code ELSE '' END `

const targetByTenant = targetColumns + `FROM tenant t
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
	WHERE t.alias = ?1`

const targetByHost = targetColumns + `FROM site s
	JOIN tenant t ON t.alias = s.tenant
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
	WHERE s.host = ?1`

// findTarget returns a target from the cache, or runs one of the two statements
// above. It does not cache a code in another spelling or that of a blocked user,
// because their rows contain personal data.
func (r *request) findTarget(statement, by string, code core.ReferralCode) (target, bool) {
	slot := openSlot(statement, by, string(code))
	if kept, ok := slot.find(r.now); ok {
		if t, ok := wire.Target(kept); ok {
			return target{t, code}, true
		}
	}
	v, ok := r.row(statement, abi.Text(by), abi.Text(string(code)))
	if !ok {
		if r.without {
			r.wanted = slot
		}
		return target{}, false
	}
	found, columns := core.ReferralCode(v[wire.TargetTexts+1].String()), texts(v[:wire.TargetTexts])
	if found == code {
		r.keep(slot, wire.Kept{Tenant: core.TenantAlias(columns[0]), MaxAge: core.Time(v[wire.TargetTexts].Int64()), Texts: columns})
	}
	t, ok := wire.Target(columns)
	return target{t, found}, ok
}

// texts returns values as texts, for the cache.
func texts(values []abi.Value) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.String()
		if v.Kind() == abi.KindInteger {
			all[i] = strconv.FormatInt(v.Int64(), 10)
		}
	}
	return all
}

const codeStatement = `SELECT coalesce((` + auth.Keys + `), ''), u.blocked_at IS NOT NULL, t.discount_id, c.code, c.program, c.created_at,
		iif(t.code_names, u.first_name, ''), iif(t.code_names, u.last_name, ''), t.link_max_age,
		coalesce(o.kind, ''), coalesce(o.percent, 0), coalesce(o.amount, 0), coalesce(o.unit, ''), coalesce(o.currency, ''),
		coalesce(o.settings, ''), coalesce(o.valid_for, 0), coalesce(o.of_revenue, 0)
	FROM tenant t
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
	LEFT JOIN program_reward o ON o.tenant = c.tenant AND o.program = c.program AND o.key = 'referred'
	WHERE t.alias = ?1`

// foundCode is the data of a code lookup, and the data to authorize it.
type foundCode struct {
	wire.CodeInfo
	// keys are the tenant's API keys.
	keys auth.APIKeys
	// blocked is true if the code's owner is blocked: only calls with the API key
	// find it.
	blocked bool
	// maxAge is the tenant's limit of the time for which the code may be kept.
	maxAge core.Time
}

// findCode looks up a code.
func (r *request) findCode(tenant core.TenantAlias, code core.ReferralCode) (foundCode, bool) {
	v, ok := r.row(codeStatement, abi.Text(string(tenant)), abi.Text(string(code)))
	if !ok {
		return foundCode{}, false
	}
	return foundCode{keys: auth.ParseKeys(v[0].String()), blocked: v[1].Int64() != 0, maxAge: core.Time(v[8].Int64()), CodeInfo: wire.CodeInfo{
		DiscountID: v[2].String(), Code: core.ReferralCode(v[3].String()), Program: core.ProgramKey(v[4].String()),
		Created: core.Time(v[5].Int64()), FirstName: v[6].String(), LastName: v[7].String(),
		Offer: reward.Offer{
			Kind: reward.Kind(v[9].String()), Percent: reward.BasisPoints(v[10].Int64()),
			Amount: v[11].Int64(), Unit: v[12].String(), Currency: v[13].String(),
			Settings: v[14].String(), ValidFor: core.Time(v[15].Int64()), OfRevenue: reward.BasisPoints(v[16].Int64()),
		},
	}}, true
}

// lookUp looks up a code for a caller with an API key, or for any caller if key is "". It uses what
// was kept for that key: so a revoked one may be used until the end of that. It does not find a
// code that the caller may not read. A code in another spelling is not kept, and none of an owner
// with a name. Nothing is kept for pages, whose answers need the tenant's sites.
func (r *request) lookUp(tenant core.TenantAlias, code core.ReferralCode, key string) (wire.CodeInfo, bool) {
	var s slot
	if r.origin() == "" {
		s = openSlot(codeStatement, string(tenant), string(code), key)
	}
	if kept, ok := s.find(r.now); ok {
		if found, ok := wire.CodeOf(kept, code); ok {
			return found, true
		}
	}
	found, ok := r.findCode(tenant, code)
	if !ok {
		if r.without {
			r.wanted = s
		}
		return wire.CodeInfo{}, false
	}
	if key == "" {
		ok = !found.blocked
	} else {
		var match auth.APIKey
		match, ok = found.keys.Match(key, r.now)
		ok = ok && slices.Contains(auth.CodeReaders(), match.Role)
		found.maxAge = match.AtMost(found.maxAge, r.now)
	}
	if !ok {
		return wire.CodeInfo{}, false
	}
	if found.Code == code && found.FirstName == "" && found.LastName == "" {
		r.keep(s, wire.Kept{Tenant: tenant, MaxAge: found.maxAge, Texts: wire.CodeTexts(found.CodeInfo)})
	}
	return found.CodeInfo, true
}

// A server parses every statement again, so only the statement for pages has the
// sites.
const (
	senderStatement     = senderColumns + senderSource
	pageSenderStatement = senderColumns + `, (` + origin.Sites + `)` + senderSource

	senderColumns = `SELECT coalesce((` + auth.Keys + `), ''), t.api_key_tokens, t.undated_tokens,
		coalesce((SELECT mode FROM secure_mode WHERE tenant = t.alias AND endpoint = ?4), '')`
	senderSource = ` FROM tenant t
	JOIN user u ON u.tenant = t.alias AND u.account_id = ?2 AND u.id = ?3
	WHERE t.alias = ?1`
)

// sender is the data of a tenant by which a call about an existing user is
// authorized.
type sender struct {
	// keys are the tenant's API keys.
	keys auth.APIKeys
	// apiKeyTokens is true if tokens that are signed with an API key are accepted.
	apiKeyTokens bool
	// undated is true if tokens without exp are accepted.
	undated bool
	// mode is the mode of the endpoint.
	mode auth.Mode
	// sites are the tenant's sites, if the sender is a page.
	sites string
}

// findSender returns the data by which a call to an endpoint about a user is
// authorized; false if the replica does not have the user. page is true if the sender
// is a page.
func (r *request) findSender(e auth.Endpoint, tenant core.TenantAlias, account core.AccountID, user core.UserID, page bool) (sender, bool) {
	statement := senderStatement
	if page {
		statement = pageSenderStatement
	}
	v, ok := r.row(statement, abi.Text(string(tenant)), abi.Text(string(account)), abi.Text(string(user)), abi.Text(e.String()))
	if !ok {
		return sender{}, false
	}
	s := sender{keys: auth.ParseKeys(v[0].String()), apiKeyTokens: v[1].Int64() != 0, undated: v[2].Int64() != 0, mode: modeOf(e, v[3].String())}
	if page {
		s.sites = v[4].String()
	}
	return s, true
}

// Column 8 is true for a user who is blocked, has no code in one of the programs, or
// has a reward for being referred: then the backend handles the call. Codes contain
// no blanks.
const userStatement = `SELECT coalesce((` + auth.Keys + `), ''), t.api_key_tokens, t.undated_tokens,
		coalesce((SELECT mode FROM secure_mode WHERE tenant = t.alias AND endpoint = 'upsert-user'), ''),
		CASE ?4 WHEN 0 THEN '' ELSE (` + origin.Sites + `) END,
		t.browser_payment, t.share_origin,
		u.blocked_at IS NOT NULL
			OR EXISTS (SELECT 1 FROM program p WHERE p.tenant = t.alias AND NOT EXISTS (SELECT 1 FROM code c
				WHERE c.tenant = u.tenant AND c.account_id = u.account_id AND c.user_id = u.id AND c.program = p.key AND NOT c.link_only))
			OR EXISTS (SELECT 1 FROM reward w WHERE w.tenant = r.tenant AND w.referral_id = r.id),
		u.first_name, u.last_name, u.email, u.image_url, u.locale, u.country_code, u.referable, u.custom_fields, u.segments,
		u.cookie_id, u.first_seen_ip, u.last_seen_ip, coalesce(u.us_tax_form_at, 0), u.created_at,
		(SELECT json_group_array(program || ' ' || code || ' ' || link_only || ' ' || coalesce(linked_at, 0))
			FROM (SELECT * FROM code WHERE tenant = t.alias AND account_id = ?2 AND user_id = ?3 ORDER BY program, rowid)),
		a.status, coalesce(a.payment_provider_id, ''), coalesce(a.first_paid_at, 0), a.identified,
		coalesce(r.state, 'none'), coalesce(r.code, ''), coalesce(r.referred_user_id, ''), coalesce(r.ended_at, 0)
	FROM tenant t
	JOIN user u ON u.tenant = t.alias AND u.account_id = ?2 AND u.id = ?3
	JOIN account a ON a.tenant = t.alias AND a.id = ?2
	LEFT JOIN referral r ON r.tenant = t.alias AND r.referred_account_id = ?2
	WHERE t.alias = ?1`

// knownUser is the data of a user for an identification. Of the account and the
// referral it has only the fields that rules and the response need.
type knownUser struct {
	sender
	wire.UserInfo
	payment     auth.BrowserPayment
	shareOrigin string
	// needsBackend is true if the call or its response needs data that is not in
	// knownUser.
	needsBackend bool
}

// findUser returns a user; false if the replica does not have the user. page is true
// if the sender is a page.
func (r *request) findUser(tenant core.TenantAlias, account core.AccountID, user core.UserID, page bool) (knownUser, bool) {
	withSites := abi.Int(0)
	if page {
		withSites = abi.Int(1)
	}
	v, ok := r.row(userStatement, abi.Text(string(tenant)), abi.Text(string(account)), abi.Text(string(user)), withSites)
	if !ok {
		return knownUser{}, false
	}
	known := knownUser{
		sender: sender{
			keys: auth.ParseKeys(v[0].String()), apiKeyTokens: v[1].Int64() != 0, undated: v[2].Int64() != 0,
			mode: modeOf(auth.UpsertUser, v[3].String()), sites: v[4].String(),
		},
		payment: auth.BrowserPayment(v[5].String()), shareOrigin: v[6].String(), needsBackend: v[7].Int64() != 0,
	}
	known.User = userOf(v[8:])
	known.User.Account, known.User.ID = account, user
	known.Account, known.ReferredBy.Referral = accountOf(v[23:])
	return known, true
}

func userOf(v []abi.Value) referral.User {
	u := referral.User{
		FirstName: v[0].String(), LastName: v[1].String(), Email: v[2].String(), ImageURL: v[3].String(),
		Locale: v[4].String(), CountryCode: v[5].String(), Referable: v[6].Int64() != 0,
		CustomFields: v[7].String(), Segments: wire.Texts(v[8].String()), CookieID: v[9].String(),
		FirstSeenIP: v[10].String(), LastSeenIP: v[11].String(),
		USTaxForm: core.Time(v[12].Int64()), Created: core.Time(v[13].Int64()),
	}
	var stored []referral.OwnedCode
	for _, owned := range wire.Texts(v[14].String()) {
		// Programs and codes contain no blanks.
		word := strings.Fields(owned)
		linked, _ := strconv.ParseInt(word[3], 10, 64)
		stored = append(stored, referral.OwnedCode{
			UserCode: referral.UserCode{Program: core.ProgramKey(word[0]), Code: core.ReferralCode(word[1])},
			LinkOnly: word[2] == "1", Linked: core.Time(linked),
		})
	}
	u.Codes, u.Links = referral.Primary(stored)
	return u
}

func accountOf(v []abi.Value) (referral.Account, *referral.Referral) {
	a := referral.Account{
		Status: referral.Status(v[0].String()), PaymentProviderID: core.PaymentProviderID(v[1].String()),
		Standing: referral.Standing{
			FirstPaid: core.Time(v[2].Int64()), Identified: v[3].Int64() != 0,
			Referral: referral.State(v[4].String()), Code: core.ReferralCode(v[5].String()),
		},
	}
	if a.Standing.Referral == referral.None {
		return a, nil
	}
	return a, &referral.Referral{
		State: a.Standing.Referral, Code: a.Standing.Code,
		Referred: referral.Identity{User: core.UserID(v[6].String())}, Ended: core.Time(v[7].Int64()),
	}
}

// modeOf parses a stored mode. It returns the default of the endpoint if none is
// stored.
func modeOf(e auth.Endpoint, stored string) auth.Mode {
	if mode, ok := auth.ParseMode(stored); ok {
		return mode
	}
	return auth.DefaultSecureMode()[e]
}

// findSites returns the sites of a tenant; "" if the replica does not have the
// tenant.
func (r *request) findSites(tenant core.TenantAlias) string {
	v, ok := r.row(origin.Sites, abi.Text(string(tenant)))
	if !ok {
		return ""
	}
	return v[0].String()
}
