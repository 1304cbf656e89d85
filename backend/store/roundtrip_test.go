package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/rowtest"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/link"
	"kith/core/origin"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/widget"
	"kith/core/wire"
)

func TestTenant_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		want := tenantdb.Tenant{
			Alias: b.tenant + "-Other_1", DiscountID: awkward[2],
			Policy: link.Policy{Consent: link.ConsentOptIn, ConsentCookie: awkward[4]}, Created: now + 7,
			SecureMode: auth.DefaultSecureMode(), BrowserPayment: auth.PaymentSigned, APIKeyTokens: true, ExportDates: job.DatesMillis, RememberDeleted: 365 * core.Day, SquatchParameter: link.SquatchAuto, LinkMaxAge: core.Minute, CodeNames: true,
		}
		for _, added := range []bool{true, false} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				got, err := tenantdb.Insert(ctx, tx, want)
				require.Equal(t, added, got)
				return err
			})
		}
		got, err := tenantdb.Find(t.Context(), b.db.Reads, want.Alias)
		require.NoError(t, err)
		require.Equal(t, want, got)
		want.DiscountID, want.ShareOrigin, want.BrowserPayment = awkward[3], awkward[0], auth.PaymentAny
		want.SquatchParameter = link.SquatchOff
		want.TimeZone = "Europe/Berlin"
		want.LinkMaxAge, want.CodeNames = 7, false
		want.InitChecksum, want.UndatedTokens, want.APIKeyTokens = true, true, false
		want.ExportDates, want.RememberDeleted = job.DatesISO, 5
		want.Policy = link.Policy{Consent: link.ConsentOptOut, ConsentCookie: awkward[1]}
		for i, e := range auth.Endpoints() {
			want.SecureMode[e] = auth.Mode(i % 3)
		}
		for range 2 {
			b.write(t, func(ctx context.Context, tx *store.Tx) error { return tenantdb.Update(ctx, tx, want) })
			got, err = tenantdb.Find(t.Context(), b.db.Reads, want.Alias)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		for _, alias := range []core.TenantAlias{"", "unknown", core.TenantAlias(strings.ToUpper(string(want.Alias)))} {
			_, err = tenantdb.Find(t.Context(), b.db.Reads, alias)
			require.Equal(t, core.UnknownTenant(), err, "%q", alias)
		}
	})
}

func TestSite_FirstTenantKeepsTheHostInAnyCase(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		host := string(b.tenant) + ".example:3000"
		other := newTenant(t, b.db)
		for _, site := range []struct {
			host   string
			tenant core.TenantAlias
			added  bool
		}{{host, b.tenant, true}, {host, b.tenant, false}, {strings.ToUpper(host), other, false}} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				added, err := tenantdb.InsertSite(ctx, tx, site.host, site.tenant)
				require.Equal(t, site.added, added)
				return err
			})
		}
		got, ok, err := programdb.TargetOnHost(t.Context(), b.db.Reads, strings.ToUpper(host), "")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, b.tenant, got.Tenant)
		_, ok, err = programdb.TargetOnHost(t.Context(), b.db.Reads, "unknown.example", "")
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func TestProgram_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		want := aProgram("second")
		want.Name, want.LandingURL, want.AllowedHosts = awkward[1], "https://x.example/ü?a=1&b='#f", awkward
		want.Referrer, want.Referred = reward.Offer{}, reward.Offer{
			Kind: reward.Integration, Amount: 1<<53 + 1, Unit: awkward[1], Currency: "EUR", Name: awkward[2], Description: awkward[3],
			Settings: `{"a":1}`, ValidFor: 1, GivenAfter: 2,
		}
		want.Limits = referral.Limits{Total: 1 << 40, InPeriod: 3, Period: core.Day, Discount: 5000}
		want.Fraud = referral.FraudPolicy{
			Handling: referral.HandlePending, DailyRewards: 7,
			BySignal: map[referral.Signal]referral.Handling{referral.SignalIP: referral.HandleDeny, referral.SignalName: referral.HandleNone},
		}
		want.Created, want.Modified = now+1, now+1
		for _, added := range []bool{true, false} {
			require.NoError(t, b.db.Write(t.Context(), now+1, func(tx *store.Tx) error {
				got, err := programdb.Insert(t.Context(), tx, b.tenant, want)
				require.Equal(t, added, got)
				return err
			}))
		}
		got, err := programdb.ByKey(t.Context(), b.db.Reads, b.tenant, "second")
		require.NoError(t, err)
		require.Equal(t, want, got)
		first, err := programdb.First(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.Equal(t, core.ClassicProgram, first.Key)
		all, err := programdb.List(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.Equal(t, []referral.Program{first, want}, all)
		keys, err := programdb.Keys(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.Equal(t, []core.ProgramKey{core.ClassicProgram, "second"}, keys)

		missing := core.NotFound("there is no such program")
		_, err = programdb.ByKey(t.Context(), b.db.Reads, "unknown", "second")
		require.Equal(t, missing, err)
		_, err = programdb.First(t.Context(), b.db.Reads, "unknown")
		require.Equal(t, missing, err)
		keys, err = programdb.Keys(t.Context(), b.db.Reads, "unknown")
		require.NoError(t, err)
		require.Empty(t, keys)
	})
}

func TestAccount_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		for i, text := range awkward {
			want := referral.Account{
				ID: core.AccountID(text), Currency: "EUR", Status: referral.Cancelled, Interval: "SEMI_ANNUAL", IntervalValue: -1 << 62,
				Value: "123456789012345678901234567890.1", PaymentProviderID: core.PaymentProviderID(text), Created: now + core.Time(i),
				Standing: referral.Standing{Referral: referral.None, FirstPaid: 1, Identified: true},
			}
			changed := want
			changed.Currency, changed.Status, changed.Interval, changed.IntervalValue, changed.Value = "USD", referral.Paid, "", 0, ""
			changed.PaymentProviderID, changed.Standing.FirstPaid, changed.Standing.Identified = "", 0, false
			for _, want := range []referral.Account{want, changed, want} {
				b.write(t, func(ctx context.Context, tx *store.Tx) error { return rowtest.PutAccount(ctx, tx, b.tenant, want) })
				got, ok, err := userdb.Account(t.Context(), b.db.Reads, b.tenant, want.ID)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, want, got)
			}
			owner, err := userdb.AccountOfProvider(t.Context(), b.db.Reads, b.tenant, want.PaymentProviderID)
			require.NoError(t, err)
			require.Equal(t, want.ID, owner)
			owner, err = userdb.AccountOfProvider(t.Context(), b.db.Reads, other, want.PaymentProviderID)
			require.NoError(t, err)
			require.Empty(t, owner, "belongs to another tenant")
			_, ok, err := userdb.Account(t.Context(), b.db.Reads, other, want.ID)
			require.NoError(t, err)
			require.False(t, ok, "belongs to another tenant")
		}
	})
}

func TestUser_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		for _, text := range append([]string{""}, awkward...) {
			want := referral.User{
				Account: core.AccountID("account of " + text), ID: core.UserID("user " + text), FirstName: text, LastName: text, Email: text,
				ImageURL: text, Locale: text, CountryCode: text, CustomFields: `{"k":1.10,"n":null}`, Segments: []string{"one", text}, Created: now,
				CookieID: text, FirstSeenIP: text, LastSeenIP: text, USTaxForm: now + 3,
			}
			changed := referral.NewUser(want.Account, want.ID, want.Created)
			changed.CookieID = want.CookieID
			changed.Segments = []string{}
			for _, want := range []referral.User{want, changed, want} {
				b.write(t, func(ctx context.Context, tx *store.Tx) error {
					if err := rowtest.PutAccount(ctx, tx, b.tenant, referral.NewAccount(want.Account, now)); err != nil {
						return err
					}
					return rowtest.PutUser(ctx, tx, b.tenant, want)
				})
				got, ok, err := userdb.User(t.Context(), b.db.Reads, b.tenant, want.Account, want.ID)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, want, got)
			}
			known, err := userdb.UserExists(t.Context(), b.db.Reads, b.tenant, want.Account, want.ID)
			require.NoError(t, err)
			require.True(t, known)
			_, ok, err := userdb.User(t.Context(), b.db.Reads, other, want.Account, want.ID)
			require.NoError(t, err)
			require.False(t, ok, "belongs to another tenant")
			known, err = userdb.UserExists(t.Context(), b.db.Reads, other, want.Account, want.ID)
			require.NoError(t, err)
			require.False(t, known, "belongs to another tenant")
		}
	})
}

func TestFirstUser_IsTheOneIdentifiedFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for i, id := range []core.UserID{"b", "a", "c"} {
				require.NoError(t, putUser(ctx, tx, b.tenant, "account", id))
				u := referral.NewUser("account", id, now+core.Time(i/2))
				u.Email = string(id) + "@example.com"
				require.NoError(t, rowtest.PutUser(ctx, tx, b.tenant, u))
			}
			return nil
		})
		first, known, err := userdb.FirstUser(t.Context(), b.db.Reads, b.tenant, "account")
		require.NoError(t, err)
		require.True(t, known)
		require.Equal(t, core.UserID("a"), first.ID, "of two created at the same time, the lower id is first")
		require.Equal(t, "a@example.com", first.Email)
		first, known, err = userdb.FirstUser(t.Context(), b.db.Reads, b.tenant, "unknown")
		require.NoError(t, err)
		require.False(t, known)
		require.Empty(t, first)
	})
}

func TestCode_IsFoundInAnyCaseAndKeptAsWritten(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		code := referral.UserCode{Program: core.ClassicProgram, Code: "Anna-Ten_10"}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			u := referral.NewUser("a", "u", now)
			u.FirstName, u.LastName, u.Email = "Anna", awkward[1], "anna@example.com"
			require.NoError(t, rowtest.PutAccount(ctx, tx, b.tenant, referral.NewAccount("a", now)))
			require.NoError(t, rowtest.PutUser(ctx, tx, b.tenant, u))
			require.NoError(t, putUser(ctx, tx, b.tenant, "b", "u"))
			for _, insert := range []struct {
				code    core.ReferralCode
				account core.AccountID
				added   bool
			}{{code.Code, "a", true}, {code.Code, "a", false}, {"ANNA-TEN_10", "b", false}} {
				added, err := rowtest.InsertCode(ctx, tx, b.tenant, referral.UserCode{Program: code.Program, Code: insert.code}, insert.account, "u")
				require.NoError(t, err)
				require.Equal(t, insert.added, added, insert.code)
			}
			return nil
		})
		for _, written := range []core.ReferralCode{"Anna-Ten_10", "ANNA-TEN_10", "anna-ten_10"} {
			got, ok, err := userdb.Code(t.Context(), b.db.Reads, b.tenant, written)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, referral.Code{
				Code: code.Code, Program: code.Program, FirstName: "Anna", LastName: awkward[1], Created: now,
				Owner: referral.Identity{Account: "a", User: "u", Email: "anna@example.com"},
			}, got)
			_, ok, err = userdb.Code(t.Context(), b.db.Reads, other, written)
			require.NoError(t, err)
			require.False(t, ok, "belongs to another tenant")
		}
		for _, written := range []core.ReferralCode{"", "Anna%", "Anna-Ten_1", "Anna-Ten_10 "} {
			_, ok, err := userdb.Code(t.Context(), b.db.Reads, b.tenant, written)
			require.NoError(t, err)
			require.False(t, ok, "%q", written)
		}
	})
}

func TestUser_ShowsTheNewestCodeOfEachProgram(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, putUser(ctx, tx, b.tenant, "a", "u"))
			_, err := programdb.Insert(ctx, tx, b.tenant, aProgram("second"))
			require.NoError(t, err)
			for _, c := range []referral.UserCode{{Program: "second", Code: "S1"}, {Program: "classic", Code: "Z"}, {Program: "classic", Code: "A"}} {
				_, err := rowtest.InsertCode(ctx, tx, b.tenant, c, "a", "u")
				require.NoError(t, err)
			}
			return nil
		})
		u, _, err := userdb.User(t.Context(), b.db.Reads, b.tenant, "a", "u")
		require.NoError(t, err)
		require.Equal(t, []referral.UserCode{{Program: "classic", Code: "A"}, {Program: "second", Code: "S1"}}, u.Codes)
	})
}

func TestReferral_RoundTripWithRewards(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		started := referral.Referral{
			ID: "r", Program: "classic", State: referral.InProgress, Code: "CODE", ShareMedium: "FACEBOOK", ShareLink: awkward[3],
			Started: now, Modified: now,
			Moderation: referral.ModerationState{
				Referrer: referral.Side{Status: referral.SideApproved}, Referred: referral.Side{Status: referral.SidePending}, Moderated: now,
			},
			Referrer: referral.Identity{Account: core.AccountID(awkward[1]), User: core.UserID(awkward[4])},
			Referred: referral.Identity{Account: core.AccountID(awkward[2])},
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, putUser(ctx, tx, b.tenant, started.Referrer.Account, started.Referrer.User))
			u := referral.NewUser(started.Referred.Account, "u", now)
			u.Email, u.FirstName, u.LastName, u.ImageURL = "u@example.com", awkward[1], awkward[3], awkward[2]
			require.NoError(t, rowtest.PutAccount(ctx, tx, b.tenant, referral.NewAccount(u.Account, now)))
			require.NoError(t, rowtest.PutUser(ctx, tx, b.tenant, u))
			return rowtest.PutReferral(ctx, tx, b.tenant, started)
		})
		got, err := referraldb.OfAccount(t.Context(), b.db.Reads, b.tenant, started.Referred.Account)
		require.NoError(t, err)
		require.Equal(t, &started, got)

		give := func(id string, source reward.Source, to referral.Identity, offer reward.Offer) *reward.Reward {
			return &reward.Reward{
				ID: id, Account: to.Account, User: to.User, Program: "classic", Referral: "r", Source: source,
				Offer: offer, Cancellable: true, Created: now, Given: now,
			}
		}
		converted := started
		converted.State, converted.Converted, converted.Ended = referral.Converted, now+1, now+2
		converted.Referred.User, converted.Referred.Email = "u", "u@example.com"
		converted.ReferredProfile = referral.Profile{FirstName: awkward[1], LastName: awkward[3], ImageURL: awkward[2]}
		converted.Moderation = referral.ModerationState{
			Referrer: referral.Side{Status: referral.SideDenied, ByHand: true}, Referred: referral.Side{Status: referral.SideApproved, ByHand: true},
			Signals: []referral.Finding{{Signal: referral.SignalIP, Message: awkward[1], Score: 50}}, Moderated: now + 5, ByHand: now + 6,
		}
		converted.ReferrerReward = give("w1", reward.FriendSignup, converted.Referrer, reward.Offer{Kind: reward.Credit, Amount: 1 << 60, Unit: "CENTS", Currency: "USD"})
		converted.ReferredReward = give("w2", reward.Referred, converted.Referred, reward.Offer{Kind: reward.PercentDiscount, Percent: 1250, Unit: "%"})
		converted.ReferredReward.Cancelled = now + 3
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			changed := converted
			changed.Code, changed.Started, changed.ShareMedium, changed.ShareLink = "OTHER", 1, "never changes", "never changes"
			require.NoError(t, rowtest.PutReferral(ctx, tx, b.tenant, changed))
			require.NoError(t, rowtest.InsertReward(ctx, tx, b.tenant, *converted.ReferrerReward))
			require.NoError(t, rowtest.InsertReward(ctx, tx, b.tenant, *converted.ReferredReward))
			return nil
		})
		require.ErrorContains(t, b.db.Write(t.Context(), now, func(tx *store.Tx) error {
			return rowtest.InsertReward(t.Context(), tx, b.tenant, *converted.ReferredReward)
		}), "UNIQUE")
		got, err = referraldb.OfAccount(t.Context(), b.db.Reads, b.tenant, started.Referred.Account)
		require.NoError(t, err)
		require.Equal(t, &converted, got)
		account, _, err := userdb.Account(t.Context(), b.db.Reads, b.tenant, started.Referred.Account)
		require.NoError(t, err)
		require.Equal(t, referral.Standing{Referral: referral.Converted, Code: "CODE"}, account.Standing)

		rewards, total, err := rewarddb.List(t.Context(), b.db.Reads, b.tenant, reward.Filter{Account: converted.Referrer.Account, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Equal(t, []reward.Reward{*converted.ReferrerReward}, rewards)
		rewards, _, err = rewarddb.List(t.Context(), b.db.Reads, b.tenant, reward.Filter{Account: converted.Referred.Account, User: "u", Kind: reward.PercentDiscount, Limit: 10})
		require.NoError(t, err)
		require.Equal(t, []reward.Reward{*converted.ReferredReward}, rewards)
		for _, none := range []struct {
			tenant core.TenantAlias
			user   core.UserID
			kind   reward.Kind
		}{{"unknown", "", ""}, {b.tenant, "other", ""}, {b.tenant, "", reward.Credit}} {
			rewards, total, err = rewarddb.List(t.Context(), b.db.Reads, none.tenant, reward.Filter{Account: converted.Referred.Account, User: none.user, Kind: none.kind, Limit: 10})
			require.NoError(t, err)
			require.Empty(t, rewards, none)
			require.Zero(t, total, none)
		}
		other, err := referraldb.OfAccount(t.Context(), b.db.Reads, "unknown", started.Referred.Account)
		require.NoError(t, err)
		require.Nil(t, other)

		// Of several rewards a side has the first. Groups have the sums of all.
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, id := range []string{"w3", "w4"} {
				more := give(id, reward.FriendSignup, converted.Referrer, converted.ReferrerReward.Offer)
				more.Order = id
				require.NoError(t, rowtest.InsertReward(ctx, tx, b.tenant, *more))
			}
			return nil
		})
		got, err = referraldb.OfAccount(t.Context(), b.db.Reads, b.tenant, started.Referred.Account)
		require.NoError(t, err)
		require.Equal(t, &converted, got)
		page := []referral.Referral{converted, {ID: "unknown"}}
		require.NoError(t, rewarddb.AttachGroups(t.Context(), b.db.Reads, b.tenant, now, page))
		counts := map[reward.Source]int64{}
		for _, g := range page[0].Groups {
			counts[g.Source] += g.Count
		}
		require.Equal(t, map[reward.Source]int64{reward.FriendSignup: 3, reward.Referred: 1}, counts)
		require.Empty(t, page[1].Groups)
	})
}

func TestReferralList_FilterAndPage(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for i, id := range []string{"r1", "r2", "r3"} {
				account := core.AccountID("friend " + id)
				require.NoError(t, putUser(ctx, tx, b.tenant, account, "u"))
				require.NoError(t, rowtest.PutReferral(ctx, tx, b.tenant, referral.Referral{
					ID: id, Program: "classic", State: []referral.State{referral.InProgress, referral.Converted, referral.Converted}[i],
					Code: "C", Started: now + core.Time(i), Converted: []core.Time{0, now + 10, now + 20}[i], Ended: []core.Time{0, 0, now + 30}[i],
					Referrer: referral.Identity{Account: "anna", User: core.UserID([]string{"x", "x", "y"}[i])},
					Referred: referral.Identity{Account: account, User: "u"},
					Moderation: referral.ModerationState{
						Referrer: referral.Side{Status: []referral.SideStatus{"", referral.SidePending, referral.SideDenied}[i]},
						Referred: referral.Side{Status: []referral.SideStatus{referral.SidePending, referral.SidePending, ""}[i]},
					},
				}))
			}
			return nil
		})
		for name, row := range map[string]struct {
			filter referral.Filter
			want   []string
			total  int
		}{
			"all, newest first": {referral.Filter{Limit: 10}, []string{"r3", "r2", "r1"}, 3},
			"a page":            {referral.Filter{Limit: 1, Offset: 1}, []string{"r2"}, 3},
			"past the end":      {referral.Filter{Limit: 10, Offset: 3}, nil, 3},
			"limit 0":           {referral.Filter{}, nil, 3},
			"by id":             {referral.Filter{ID: "r1", Limit: 10}, []string{"r1"}, 1},
			"by referrer":       {referral.Filter{ReferrerAccount: "anna", ReferrerUser: "x", Limit: 10}, []string{"r2", "r1"}, 2},
			"by referred":       {referral.Filter{ReferredAccount: "friend r3", ReferredUser: "u", Limit: 10}, []string{"r3"}, 1},
			"by start":          {referral.Filter{Started: core.Span{From: now + 1, Before: now + 2}, Limit: 10}, []string{"r2"}, 1},
			"by start, a range": {referral.Filter{Started: core.Span{From: now, Before: now + 2}, Limit: 10}, []string{"r2", "r1"}, 2},
			"by conversion":     {referral.Filter{Converted: core.Span{Before: now + 20}, Limit: 10}, []string{"r2"}, 1},
			"by end":            {referral.Filter{Ended: core.Span{From: 1}, Limit: 10}, []string{"r3"}, 1},
			"referrer pending":  {referral.Filter{ReferrerModeration: referral.SidePending, Limit: 10}, []string{"r2"}, 1},
			"referred pending":  {referral.Filter{ReferredModeration: referral.SidePending, Limit: 10}, []string{"r2", "r1"}, 2},
			"approved":          {referral.Filter{ReferrerModeration: referral.SideApproved, Limit: 10}, []string{"r1"}, 1},
			"all at once": {referral.Filter{
				ReferrerAccount: "anna", ReferredModeration: referral.SidePending, Started: core.Span{From: now + 1}, Limit: 10,
			}, []string{"r2"}, 1},
			"by no user": {referral.Filter{ReferrerAccount: "' OR 1=1 --", Limit: 10}, nil, 0},
		} {
			page, total, err := referraldb.List(t.Context(), b.db.Reads, b.tenant, row.filter)
			require.NoError(t, err, name)
			var got []string
			for _, r := range page {
				got = append(got, r.ID)
			}
			require.Equal(t, row.want, got, name)
			require.Equal(t, row.total, total, name)
		}
		_, total, err := referraldb.List(t.Context(), b.db.Reads, newTenant(t, b.db), referral.Filter{Limit: 10})
		require.NoError(t, err)
		require.Zero(t, total, "belongs to another tenant")
	})
}

func TestDecision_IsCountedWhenItRepeats(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		first := wire.Decision{
			ID: "d1", Account: core.AccountID(awkward[1]), User: core.UserID(awkward[4]), Code: "CODE", Source: referral.SourceCookie,
			Rule: referral.RuleKnownUser, Inputs: `{"paid":false}`,
		}
		again, other := first, first
		again.ID, again.Inputs = "d2", `{"paid":true}`
		other.ID, other.Code, other.Rule, other.Accepted = "d3", "", referral.RuleFirstCode, true
		for i, d := range []wire.Decision{first, other, again} {
			require.NoError(t, b.db.Write(t.Context(), now+core.Time(i), func(tx *store.Tx) error {
				return rowtest.RecordDecision(t.Context(), tx, b.tenant, d)
			}))
		}
		first.Inputs, first.Times, first.First, first.Last = again.Inputs, 2, now, now+2
		other.Times, other.First, other.Last = 1, now+1, now+1
		for _, account := range []core.AccountID{first.Account, ""} {
			page, total, err := referraldb.Decisions(t.Context(), b.db.Reads, b.tenant, account, 10, 0)
			require.NoError(t, err)
			require.Equal(t, []wire.Decision{first, other}, page)
			require.Equal(t, 2, total)
		}
		page, total, err := referraldb.Decisions(t.Context(), b.db.Reads, b.tenant, first.Account, 1, 1)
		require.NoError(t, err)
		require.Equal(t, []wire.Decision{other}, page)
		require.Equal(t, 2, total)
		for _, none := range []struct {
			tenant  core.TenantAlias
			account core.AccountID
		}{{"unknown", ""}, {b.tenant, "unknown"}} {
			_, total, err = referraldb.Decisions(t.Context(), b.db.Reads, none.tenant, none.account, 10, 0)
			require.NoError(t, err)
			require.Zero(t, total)
		}
	})
}

func TestOrigin_ListBelongsToOneTenant(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		other := newTenant(t, b.db)
		sites, err := tenantdb.Sites(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		before := sites
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, o := range []origin.Origin{"https://b.example", "https://a.example"} {
				added, err := tenantdb.InsertOrigin(ctx, tx, b.tenant, o)
				require.True(t, added)
				require.NoError(t, err)
				added, err = tenantdb.InsertOrigin(ctx, tx, b.tenant, o)
				require.False(t, added)
				require.NoError(t, err)
			}
			removed, err := tenantdb.DeleteOrigin(ctx, tx, other, "https://a.example")
			require.False(t, removed)
			return err
		})
		got, err := tenantdb.Origins(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.Equal(t, []origin.Origin{"https://a.example", "https://b.example"}, got)
		sites, err = tenantdb.Sites(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.True(t, origin.Allowed("https://a.example", sites))
		got, err = tenantdb.Origins(t.Context(), b.db.Reads, other)
		require.NoError(t, err)
		require.Empty(t, got)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for _, o := range []origin.Origin{"https://b.example", "https://a.example"} {
				removed, err := tenantdb.DeleteOrigin(ctx, tx, b.tenant, o)
				require.True(t, removed)
				require.NoError(t, err)
			}
			return nil
		})
		sites, err = tenantdb.Sites(t.Context(), b.db.Reads, b.tenant)
		require.NoError(t, err)
		require.Equal(t, before, sites)
	})
}

// The landing page of a program may call the service without being listed.
func TestSites_HaveTheLandingPages(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		tenant := newTenant(t, b.db)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			p := referral.DefaultProgram("https://landing.example/start?a=b#c")
			p.Key, p.MoneyBack = "other", 0
			_, err := programdb.Insert(ctx, tx, tenant, p)
			return err
		})
		sites, err := tenantdb.Sites(t.Context(), b.db.Reads, tenant)
		require.NoError(t, err)
		require.True(t, origin.Allowed("https://landing.example", sites))
		sites, err = tenantdb.Sites(t.Context(), b.db.Reads, "unknown")
		require.NoError(t, err)
		require.Empty(t, sites)
	})
}

func TestWidget_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		tenant := newTenant(t, b.db)
		inProgram := widget.Stored{
			Type: widget.Type{Program: core.ClassicProgram, Key: "k"}, Template: awkward[1], Options: `{"a":"<\u2028"}`,
			Branding: `{}`, Values: `{"b":[1.50,null]}`, Modified: now,
		}
		ofTenant := widget.Stored{Type: widget.Type{Key: "k"}, Modified: now}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, programdb.PutWidget(ctx, tx, tenant, widget.Stored{Type: inProgram.Type, Template: "before"}))
			require.NoError(t, programdb.PutWidget(ctx, tx, tenant, inProgram))
			return programdb.PutWidget(ctx, tx, tenant, ofTenant)
		})
		for _, want := range []widget.Stored{inProgram, ofTenant} {
			got, ok, err := programdb.Widget(t.Context(), b.db.Reads, tenant, want.Type)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, want, got)
		}
		page, total, err := programdb.Widgets(t.Context(), b.db.Reads, tenant, 10, 1)
		require.NoError(t, err)
		require.Equal(t, 2, total)
		listed := inProgram
		listed.Template = ""
		require.Equal(t, []widget.Stored{listed}, page)
		_, ok, err := programdb.Widget(t.Context(), b.db.Reads, b.tenant, inProgram.Type)
		require.NoError(t, err)
		require.False(t, ok, "a widget belongs to one tenant")

		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, programdb.DeleteWidgets(ctx, tx, tenant, core.ClassicProgram))
			_, total, err := programdb.Widgets(ctx, tx.Reads, tenant, 10, 0)
			require.Equal(t, 1, total)
			require.NoError(t, err)
			require.NoError(t, programdb.DeleteWidget(ctx, tx, tenant, ofTenant.Type))
			_, total, err = programdb.Widgets(ctx, tx.Reads, tenant, 10, 0)
			require.Zero(t, total)
			return err
		})
	})
}
