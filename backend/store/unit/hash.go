package unit

import (
	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/state"
)

// loadUntracked loads which of the users that are wanted must not be tracked again.
func (u *Unit) loadUntracked() []query {
	return loadHashed(u, &u.Untracked, func(who referral.Identity) referral.Identity { return who },
		`SELECT identity FROM do_not_track WHERE tenant = ?1 AND identity IN (SELECT value FROM json_each(?2))`)
}

// loadErased loads which of the accounts that are wanted were deleted after they had earned.
func (u *Unit) loadErased() []query {
	return loadHashed(u, &u.Erased, func(id core.AccountID) referral.Identity { return referral.Identity{Account: id} },
		`SELECT identity FROM erased_account WHERE tenant = ?1 AND earned = 1 AND forget_at > ?3 AND identity IN (SELECT value FROM json_each(?2))`, int64(u.Now))
}

// loadHashed loads for which of the keys that are wanted a statement returns the keyed hash.
// Its parameters are the tenant, a list of hashes, and more.
func loadHashed[K comparable](u *Unit, into *state.Table[K, bool], of func(K) referral.Identity, statement string, more ...any) []query {
	keys := absent(into)
	if len(keys) == 0 {
		return nil
	}
	byHash := make(map[string]K, len(keys))
	var asked []string
	for _, key := range keys {
		hash := u.identify(of(key))
		byHash[hash] = key
		asked = append(asked, hash)
	}
	return []query{{statement, append([]any{string(u.Tenant), store.TextList(asked)}, more...),
		reading(scanOne[string], func(hash string) { into.Load(byHash[hash], true) })}}
}
