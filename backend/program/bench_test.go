package program_test

import (
	"strconv"
	"testing"

	"kith/backend/program"
	"kith/backend/store"
	"kith/core/referral"
)

// yardstick is a transaction that stores one row: the least that a use case can
// cost on a database. Numbers of different machines compare only by it.
func yardstick(b *testing.B, in bundle) {
	for n := 0; b.Loop(); n++ {
		err := in.DB.Write(b.Context(), start, func(tx *store.Tx) error {
			_, err := tx.ClaimSite(b.Context(), string(in.tenant)+strconv.Itoa(n)+".example", in.tenant)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func everyBench(b *testing.B, bench func(*testing.B, bundle)) {
	for _, end := range []struct {
		name string
		open func(testing.TB) *store.Primary
	}{{"file", openFile}, {"server", openServer}} {
		b.Run(end.name+"/yardstick", func(b *testing.B) { yardstick(b, bundleOn(b, end.open(b))) })
		b.Run(end.name, func(b *testing.B) { bench(b, bundleOn(b, end.open(b))) })
	}
}

// A new user is attributed and converts; a page identifies a user again, who
// was referred or was not.
func BenchmarkIdentify(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		identify := func(b *testing.B, call program.Identification) {
			if _, err := in.Identify(b.Context(), in.tenant, call); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("converts", func(b *testing.B) {
			run := in.Now() // tells this run's accounts from those of the last
			in.pass(1)
			for n := 0; b.Loop(); n++ {
				account := strconv.FormatInt(int64(run), 10) + "-" + strconv.Itoa(n)
				identify(b, identification(account, claim(referral.SourceInit, "ANNA10"), paid))
			}
		})
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

func BenchmarkSyncAccount(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		b.Run("attributes", func(b *testing.B) {
			run := in.Now()
			in.pass(1)
			for n := 0; b.Loop(); n++ {
				u := update(strconv.FormatInt(int64(run), 10)+"-"+strconv.Itoa(n), referral.Trial, "ANNA10")
				if _, err := in.SyncAccount(b.Context(), in.tenant, u); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("again", func(b *testing.B) {
			for b.Loop() {
				if _, err := in.SyncAccount(b.Context(), in.tenant, update("again", referral.Paid, "")); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
