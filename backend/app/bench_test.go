package app_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"kith/backend/app/rewards"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

// baseline is a transaction that stores one row, which is the lower bound for the cost of
// a use case. Results of different machines can be compared only relative to it.
func baseline(b *testing.B, in bundle) {
	for n := 0; b.Loop(); n++ {
		err := in.DB.Write(b.Context(), start, func(tx *store.Tx) error {
			_, err := tenantdb.InsertSite(b.Context(), tx, string(in.tenant)+strconv.Itoa(n)+".example", in.tenant)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// ends are the two kinds of databases.
var ends = []struct {
	name string
	open func(testing.TB) *store.Primary
}{{"file", openFile}, {"server", openServer}}

func everyBench(b *testing.B, bench func(*testing.B, bundle)) {
	for _, end := range ends {
		b.Run(end.name+"/baseline", func(b *testing.B) { baseline(b, bundleOn(b, end.open(b))) })
		b.Run(end.name, func(b *testing.B) { bench(b, bundleOn(b, end.open(b))) })
	}
}

// BenchmarkIdentify identifies new users who are attributed and convert, and known users
// who were referred or not.
func BenchmarkIdentify(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		identify := func(b *testing.B, call rules.Identification) {
			if _, err := in.Identification.Identify(b.Context(), in.tenant, call); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("converts", func(b *testing.B) { identifyPayers(b, in) })
		b.Run("again, referred", func(b *testing.B) {
			identify(b, identification("referred", claim(referral.SourceInit, "ANNA10"), paid))
			for b.Loop() {
				identify(b, identification("referred", email("friend@example.com")))
			}
		})
		b.Run("again, not referred", func(b *testing.B) {
			for b.Loop() {
				identify(b, identification("anna"))
			}
		})
	})
}

// identifyPayers identifies new users who are attributed and convert.
func identifyPayers(b *testing.B, in bundle) {
	run := in.Now() // makes the accounts of each run different
	in.pass(1)
	for n := 0; b.Loop(); n++ {
		account := strconv.FormatInt(int64(run), 10) + "-" + strconv.Itoa(n)
		call := identification(account, claim(referral.SourceInit, "ANNA10"), paid)
		if _, err := in.Identification.Identify(b.Context(), in.tenant, call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSyncAccount(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		b.Run("attributes", func(b *testing.B) {
			run := in.Now()
			in.pass(1)
			for n := 0; b.Loop(); n++ {
				u := update(strconv.FormatInt(int64(run), 10)+"-"+strconv.Itoa(n), referral.Trial, "ANNA10")
				if _, err := in.Accounts.Sync(b.Context(), in.tenant, u); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("again", func(b *testing.B) {
			for b.Loop() {
				if _, err := in.Accounts.Sync(b.Context(), in.tenant, update("again", referral.Paid, "")); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// bareUpdate is a transaction that changes one row, which is the lower bound for the cost
// of a redemption.
func bareUpdate(b *testing.B, in bundle) {
	queue := in.subscribe(b, hook)
	for n := 0; b.Loop(); n++ {
		err := in.DB.Write(b.Context(), start, func(tx *store.Tx) error {
			_, err := webhookdb.RotateSecret(b.Context(), tx, queue, strconv.Itoa(n), start)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := in.Webhooks.Unsubscribe(b.Context(), in.tenant, hook); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRedeem redeems credit of one reward, and of a user with 100 rewards. The ledger
// has many entries at the end of the run.
func BenchmarkRedeem(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		b.Run("bare update", func(b *testing.B) { bareUpdate(b, in) })
		r := in.reward(b, points("anna", reward.MaxValue))
		redeem := func(b *testing.B, d reward.Draw) {
			d.Unit, d.Amount = "POINT", 1
			for b.Loop() {
				if _, err := in.Redemptions.Draw(b.Context(), in.tenant, d); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run("one reward", func(b *testing.B) { redeem(b, reward.Draw{Reward: r.ID}) })
		for range 99 {
			in.reward(b, points("anna", reward.MaxValue))
		}
		b.Run("a user of 100 rewards", func(b *testing.B) { redeem(b, reward.Draw{Account: "anna", User: "u"}) })
	})
}

func BenchmarkRedeemWithin(b *testing.B) { everyBench(b, redeemWithin) }

// redeemWithin redeems credit of 500 users in one transaction, as an import does.
func redeemWithin(b *testing.B, in bundle) {
	const users = 500
	draws := make([]reward.Draw, users)
	for i := range draws {
		account := "shop" + strconv.Itoa(i)
		in.identify(b, account)
		in.reward(b, points(account, reward.MaxValue))
		draws[i] = reward.Draw{Account: core.AccountID(account), Unit: "POINT", Amount: 1}
	}
	for b.Loop() {
		drawn, err := store.WriteValue(b.Context(), in.DB.Write, in.Now(), func(tx *store.Tx) ([]rewards.DrawResult, error) {
			return in.Redemptions.DrawWithin(b.Context(), tx, in.tenant, draws)
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range drawn {
			if d.Refused != nil {
				b.Fatal(d.Refused)
			}
		}
	}
	b.ReportMetric(float64(users*b.N)/b.Elapsed().Seconds(), "draws/s")
}

// BenchmarkBalances reads the balances and the discount of an account with 100 rewards.
func BenchmarkBalances(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		b.Run("bare update", func(b *testing.B) { bareUpdate(b, in) })
		for i := range 100 {
			g := points("anna", 1000)
			if i%4 == 0 {
				g = percent("anna", 10)
			}
			in.reward(b, g)
		}
		b.Run("balances", func(b *testing.B) {
			for b.Loop() {
				if _, err := in.Rewards.Balances(b.Context(), in.tenant, "anna", "", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("discount", func(b *testing.B) {
			for b.Loop() {
				if _, err := in.Discounts.Of(b.Context(), in.tenant, "anna", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// orderShapes are ways in which 2,000 events are distributed over the orders of referrers.
var orderShapes = []struct {
	name string
	// referrers is the number of referrers, and friends that of each one's friends.
	referrers, friends int
	// shuffled is true if the events arrive in another order than that of their times.
	shuffled bool
	// key returns the key of the nth event, and order the number of its order.
	key   func(n int) string
	order func(n int) int
}{
	{"other events", 1, 1, false, func(int) string { return "browse" }, itself},
	{"orders of 500 referrers", 500, 1, false, purchases, itself},
	{"orders of one referrer", 1, 500, false, purchases, itself},
	{"late orders of one referrer", 1, 500, true, purchases, itself},
	{"orders of one friend", 1, 1, false, purchases, itself},
	{"late orders of one friend", 1, 1, true, purchases, itself},
	{"orders and then refunds of one referrer", 1, 500, false, func(n int) string { return []string{"purchase", "refund"}[n*2/orderEvents] }, func(n int) int { return n % (orderEvents / 2) }},
}

func purchases(int) string { return "purchase" }
func itself(n int) int     { return n }

const orderEvents = 2000

// BenchmarkOrders processes events that place orders or take them back, and for comparison
// events that no program names. The tiers and limits of the program make each order depend
// on those before it.
func BenchmarkOrders(b *testing.B) {
	for _, end := range ends {
		for _, shape := range orderShapes {
			b.Run(end.name+"/"+shape.name, func(b *testing.B) {
				db, took := end.open(b), time.Duration(0)
				for range b.N {
					in := bundleOn(b, db)
					in.shop(b, func(p *referral.Program) {
						p.ReferrerTerms.Tiers = []conversion.Tier{{From: 5, OfRevenue: 1500}}
						p.Limits = referral.Limits{InPeriod: 100, Period: core.Day}
					})
					for i := range shape.referrers {
						code := core.ReferralCode("CODE" + strconv.Itoa(i))
						in.owner(b, "referrer"+strconv.Itoa(i), code)
						for j := range shape.friends {
							in.identify(b, "friend"+strconv.Itoa(i*shape.friends+j), claim(referral.SourceInit, code))
						}
					}
					at := make([]int, orderEvents)
					for n := range at {
						at[n] = n
					}
					if shape.shuffled {
						rand.New(rand.NewPCG(1, 2)).Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
					}
					for _, n := range at {
						order := shape.order(n)
						if err := in.log(b, "friend"+strconv.Itoa(order%(shape.referrers*shape.friends)), "",
							orderJSON(shape.key(n), "order-"+strconv.Itoa(order), "80.00", start+core.Time(n)*core.Second)); err != nil {
							b.Fatal(err)
						}
					}
					begin := time.Now()
					in.process(b)
					took += time.Since(begin)
				}
				b.ReportMetric(float64(orderEvents*b.N)/took.Seconds(), "events/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
