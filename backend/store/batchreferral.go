package store

import (
	"cmp"
	"context"
	"slices"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// What a batch knows of referrals: those of the accounts that it is about, and the
// latest of whoever may refer one of them.

type batchReferral struct {
	referral.Referral
	put bool
}

// latestFirst is the order in which a referrer's referrals are listed.
func latestFirst(a, b *batchReferral) int {
	return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(b.ID, a.ID))
}

// loadReferrals reads them, and who may refer.
func (b *batch) loadReferrals(ctx context.Context) error {
	if err := b.loadReferred(ctx); err != nil || len(b.about.Claimed) == 0 {
		return err
	}
	referrers := b.referrers()
	if err := b.loadOwners(ctx, referrers); err != nil || len(referrers) == 0 {
		return err
	}
	latest, err := Reads{q: b.conn}.latestMade(ctx, b.tenant, referrers, b.about.LatestSince, b.about.LatestMost)
	for _, r := range latest {
		who := identityOf(r.Referrer)
		b.made[who] = append(b.made[who], b.know(r))
	}
	for _, who := range referrers {
		slices.SortFunc(b.made[who], latestFirst)
	}
	return err
}

func (b *batch) loadReferred(ctx context.Context) error {
	var asked []core.AccountID
	for _, u := range b.about.Users {
		if a := b.accounts[u.Account]; a.known && a.Standing.Referral != referral.None && b.referred[u.Account] == nil {
			asked = append(asked, u.Account)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	found, err := Reads{q: b.conn}.ReferralsOf(ctx, b.tenant, asked)
	for account, r := range found {
		b.referred[account] = b.know(*r)
	}
	return err
}

// know returns what the batch knows of a referral that was read.
func (b *batch) know(r referral.Referral) *batchReferral {
	if b.referrals[r.ID] == nil {
		b.referrals[r.ID] = &batchReferral{Referral: r}
	}
	return b.referrals[r.ID]
}

// referrers are those whose codes the calls claim, and those who ask for codes of
// their own, which another call may claim.
func (b *batch) referrers() (all []referral.Identity) {
	add := func(who referral.Identity) {
		if who = identityOf(who); b.made[who] == nil {
			b.made[who] = []*batchReferral{}
			all = append(all, who)
		}
	}
	for _, code := range b.about.Claimed {
		if c := b.codes[codeKey(code)]; c != nil {
			add(c.Owner)
		}
	}
	for _, who := range b.about.Owners {
		add(who)
	}
	return all
}

// loadOwners reads those users whom no call is about.
func (b *batch) loadOwners(ctx context.Context, owners []referral.Identity) error {
	asked := slices.DeleteFunc(slices.Clone(owners), func(who referral.Identity) bool { return b.users[who] != nil })
	if len(asked) == 0 {
		return nil
	}
	found, err := Reads{q: b.conn}.UsersByID(ctx, b.tenant, asked)
	for _, u := range found {
		b.users[referral.Identity{Account: u.Account, User: u.ID}] = &batchUser{User: u, known: true, stored: true}
	}
	return err
}

// identityOf is who somebody is, without the address.
func identityOf(who referral.Identity) referral.Identity {
	who.Email = ""
	return who
}

// latestMade returns the latest referrals of each user of a list that began after
// a time, at most so many of each; see RecentReferrals.
func (r Reads) latestMade(ctx context.Context, tenant core.TenantAlias, users []referral.Identity, after core.Time, most int) ([]referral.Referral, error) {
	f := referral.Filter{Started: core.Span{From: after + 1}, Limit: most}
	return r.madeBy(ctx, tenant, users, f)
}

// referralOf is ReferralOf.
func (b *batch) referralOf(account core.AccountID) (*referral.Referral, error) {
	if b.accounts[account] == nil {
		return nil, b.miss()
	}
	r := b.referred[account]
	if r == nil {
		return nil, nil
	}
	return b.tell(r), nil
}

// recentReferrals is RecentReferrals.
func (b *batch) recentReferrals(who referral.Identity, after core.Time, limit int) (page []referral.Referral, err error) {
	made, ok := b.made[identityOf(who)]
	if !ok || after < b.about.LatestSince || limit > b.about.LatestMost {
		return nil, b.miss()
	}
	for _, r := range made {
		if r.Started > after && len(page) < limit {
			page = append(page, *b.tell(r))
		}
	}
	return page, nil
}

// tell is a referral as it would be read: with what is known of its two users by
// now.
func (b *batch) tell(r *batchReferral) *referral.Referral {
	told := r.Referral
	b.show(&told.Referrer, &told.ReferrerProfile)
	b.show(&told.Referred, &told.ReferredProfile)
	return &told
}

func (b *batch) show(who *referral.Identity, profile *referral.Profile) {
	if u := b.users[identityOf(*who)]; u != nil {
		who.Email = u.Email
		*profile = referral.Profile{FirstName: u.FirstName, LastName: u.LastName, ImageURL: u.ImageURL}
	}
}

// putReferral notes a referral.
func (b *batch) putReferral(r referral.Referral) error {
	e := b.referrals[r.ID]
	if e == nil {
		return b.newReferral(r)
	}
	before, n := *e, len(b.putReferrals)
	b.note(func() {
		e.Referral = b.stored(r)
		if !e.put {
			e.put = true
			b.putReferrals = append(b.putReferrals, e)
		}
	}, func() { *e, b.putReferrals = before, b.putReferrals[:n] })
	return nil
}

// newReferral notes one that was not there. Its referrer must be known, so that
// the next one of the same referrer is not told of too few.
func (b *batch) newReferral(r referral.Referral) error {
	who, account := identityOf(r.Referrer), r.Referred.Account
	made, ok := b.made[who]
	if !ok || b.accounts[account] == nil {
		return b.miss()
	}
	e, n := &batchReferral{Referral: b.stored(r), put: true}, len(b.putReferrals)
	before := b.referred[account]
	at, _ := slices.BinarySearchFunc(made, e, latestFirst)
	b.note(func() {
		b.referrals[r.ID], b.referred[account] = e, e
		b.made[who] = slices.Insert(slices.Clone(made), at, e)
		b.putReferrals = append(b.putReferrals, e)
	}, func() {
		delete(b.referrals, r.ID)
		b.referred[account], b.made[who], b.putReferrals = before, made, b.putReferrals[:n]
	})
	return nil
}

// stored is a referral as it would be read again.
func (b *batch) stored(r referral.Referral) referral.Referral {
	m := &r.Moderation
	m.Referrer.Status, m.Referred.Status = sideStatus(m.Referrer), sideStatus(m.Referred)
	m.Moderated = cmp.Or(m.Moderated, r.Started)
	m.Signals = wire.ParseFraudSignals(wire.FraudSignals(m.Signals))
	r.Modified = b.now
	return r
}

// insertReward notes a reward. What else a batch knows of rewards is which ones a
// referral has.
func (b *batch) insertReward(r reward.Reward) {
	n := len(b.newRewards)
	b.note(func() { b.newRewards = append(b.newRewards, r) }, func() { b.newRewards = b.newRewards[:n] })
	if e := b.referrals[r.Referral]; e != nil {
		before := e.Referral
		b.note(func() { e.Attach(r) }, func() { e.Referral = before })
	}
}

// appendLedger notes entries of rewards that the batch has noted.
func (b *batch) appendLedger(after []reward.Reward, entries []reward.Entry) error {
	if len(after) > 0 {
		return b.miss()
	}
	n := len(b.ledger)
	b.note(func() { b.ledger = append(b.ledger, entries...) }, func() { b.ledger = b.ledger[:n] })
	return nil
}

func (b *batch) recordDecision(d wire.Decision) {
	n := len(b.decisions)
	b.note(func() { b.decisions = append(b.decisions, d) }, func() { b.decisions = b.decisions[:n] })
}

func (b *batch) touchBilling(account core.AccountID) {
	n := len(b.touched)
	b.note(func() { b.touched = append(b.touched, account) }, func() { b.touched = b.touched[:n] })
}
