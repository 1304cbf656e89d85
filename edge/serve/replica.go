package serve

import (
	"kith/core"
	"kith/core/link"
	"kith/core/reward"
	"kith/core/wire"
	"kith/edge/abi"
)

// database is the name under which the manifest grants the replica.
const database = "default"

// row runs a statement that gives at most one row. A row that is not there and
// a replica that does not answer mean the same: ask the backend.
func row(statement string, params ...abi.Value) ([]abi.Value, bool) {
	rows, err := query(statement, params...)
	if err != nil || len(rows.Values) == 0 {
		return nil, false
	}
	return rows.Values[0], true
}

func query(statement string, params ...abi.Value) (abi.Rows, error) {
	db, err := abi.OpenDB(database)
	if err != nil {
		return abi.Rows{}, err
	}
	defer db.Close()
	return db.Execute(statement, params...)
}

// target is a code, its program and its tenant, for a redirect.
type target struct {
	tenant  core.TenantAlias
	policy  link.Policy
	program link.Program
	code    core.ReferralCode
}

const targetColumns = `SELECT t.alias, t.consent, t.consent_cookie, p.key, p.landing_url, p.allowed_hosts, p.cookie_life, c.code `

const targetByTenant = targetColumns + `FROM tenant t
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	WHERE t.alias = ?1`

const targetByHost = targetColumns + `FROM site s
	JOIN tenant t ON t.alias = s.tenant
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	WHERE s.host = ?1`

// findTarget runs one of the two statements above.
func findTarget(statement, by string, code core.ReferralCode) (target, bool) {
	v, ok := row(statement, abi.Text(by), abi.Text(string(code)))
	if !ok {
		return target{}, false
	}
	return target{
		tenant: core.TenantAlias(v[0].String()),
		policy: link.Policy{Consent: link.Consent(v[1].String()), ConsentCookie: v[2].String()},
		program: link.Program{
			Key: core.ProgramKey(v[3].String()), LandingURL: v[4].String(),
			AllowedHosts: wire.Hosts(v[5].String()), CookieLife: core.Time(v[6].Int64()),
		},
		code: core.ReferralCode(v[7].String()),
	}, true
}

const codeStatement = `SELECT t.key_hash, t.discount_id, c.code, c.program, c.created_at, u.first_name, u.last_name,
		p.referred_kind, p.referred_percent, p.referred_amount, p.referred_currency
	FROM tenant t
	JOIN code c ON c.tenant = t.alias AND c.code = ?2
	JOIN program p ON p.tenant = c.tenant AND p.key = c.program
	JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
	WHERE t.alias = ?1`

// findCode returns what a code promises and the hash of its tenant's API key.
func findCode(tenant core.TenantAlias, code core.ReferralCode) (info wire.CodeInfo, keyHash string, ok bool) {
	v, ok := row(codeStatement, abi.Text(string(tenant)), abi.Text(string(code)))
	if !ok {
		return wire.CodeInfo{}, "", false
	}
	return wire.CodeInfo{
		DiscountID: v[1].String(), Code: core.ReferralCode(v[2].String()), Program: core.ProgramKey(v[3].String()),
		Created: core.Time(v[4].Int64()), FirstName: v[5].String(), LastName: v[6].String(),
		Offer: reward.Offer{
			Kind: reward.Kind(v[7].String()), Percent: reward.BasisPoints(v[8].Int64()),
			Amount: v[9].Int64(), Currency: v[10].String(),
		},
	}, v[0].String(), true
}

const senderStatement = `SELECT t.key_hash, t.key_sealed FROM tenant t
	JOIN user u ON u.tenant = t.alias AND u.account_id = ?2 AND u.id = ?3
	WHERE t.alias = ?1`

// findSender returns a tenant's API key, hashed and sealed, when the replica
// knows the user.
func findSender(tenant core.TenantAlias, account core.AccountID, user core.UserID) (hash, sealed string, ok bool) {
	v, ok := row(senderStatement, abi.Text(string(tenant)), abi.Text(string(account)), abi.Text(string(user)))
	if !ok {
		return "", "", false
	}
	return v[0].String(), v[1].String(), true
}
