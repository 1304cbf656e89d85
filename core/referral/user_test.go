//go:build !tinygo

package referral

import (
	"reflect"
	"slices"
	"testing"

	"kith/core"
)

func TestUser_SameComparesEveryField(t *testing.T) {
	var user User
	if !user.Same(user) {
		t.Error("a user differs from itself")
	}
	for i := range reflect.TypeFor[User]().NumField() {
		var other User
		switch f := reflect.ValueOf(&other).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int64:
			f.SetInt(1)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		default:
			t.Fatalf("no value for %s", f.Type())
		}
		if user.Same(other) || other.Same(user) {
			t.Errorf("%s is not compared", reflect.TypeFor[User]().Field(i).Name)
		}
	}
}

func TestUserUpdate_Settled(t *testing.T) {
	user := User{Codes: []UserCode{{core.ClassicProgram, "MINE"}}}
	unreferred := Account{Status: Trial, PaymentProviderID: "p", Standing: Standing{Referral: None, Identified: true}}
	referred := unreferred
	referred.Standing.Referral, referred.Standing.Code = InProgress, "ANN"
	paid := unreferred
	paid.Status, paid.Standing.FirstPaid = Paid, 1
	waiting := referred
	waiting.Standing.FirstPaid = 1
	cancelled := referred
	cancelled.Status = Cancelled
	named, nameless := &Referral{Referred: Identity{User: "u"}}, &Referral{}
	ended := &Referral{Referred: Identity{User: "u"}, Ended: 1}
	fresh := unreferred
	fresh.Standing.Identified = false
	for name, c := range map[string]struct {
		update  UserUpdate
		account Account
		ref     *Referral
		want    bool
	}{
		"empty update":                 {UserUpdate{}, unreferred, nil, true},
		"same status":                  {UserUpdate{Status: of(Trial)}, unreferred, nil, true},
		"same provider":                {UserUpdate{PaymentProviderID: of(core.PaymentProviderID("p"))}, unreferred, nil, true},
		"own code":                     {UserUpdate{Codes: user.Codes}, unreferred, nil, true},
		"paid as before":               {UserUpdate{Status: of(Paid)}, paid, nil, true},
		"referred":                     {UserUpdate{}, referred, named, true},
		"cancelled and ended":          {UserUpdate{}, cancelled, ended, true},
		"other status":                 {UserUpdate{Status: of(Free)}, unreferred, nil, false},
		"other provider":               {UserUpdate{PaymentProviderID: of(core.PaymentProviderID("q"))}, unreferred, nil, false},
		"another code":                 {UserUpdate{Codes: []UserCode{{core.ClassicProgram, "OTHER"}}}, unreferred, nil, false},
		"code of another program":      {UserUpdate{Codes: []UserCode{{"spring", "MINE"}}}, unreferred, nil, false},
		"a claim":                      {UserUpdate{Claims: []Claim{{Code: "ANN"}}}, referred, named, false},
		"an invalid claim":             {UserUpdate{Claims: []Claim{{Fault: RuleCookieForm}}}, referred, named, false},
		"paid, first reported now":     {UserUpdate{Status: of(Paid)}, Account{Status: Paid, Standing: unreferred.Standing}, nil, false},
		"first user of the account":    {UserUpdate{}, fresh, nil, false},
		"conversion that is due":       {UserUpdate{}, waiting, named, false},
		"referral without a user":      {UserUpdate{}, referred, nameless, false},
		"cancelled, end not yet":       {UserUpdate{}, cancelled, named, false},
		"referral that was not loaded": {UserUpdate{}, referred, nil, false},
	} {
		if got := c.update.Settled(user, c.account, c.ref); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPrimary(t *testing.T) {
	owned := func(program core.ProgramKey, code core.ReferralCode, linkOnly bool, linked core.Time) OwnedCode {
		return OwnedCode{UserCode: UserCode{Program: program, Code: code}, LinkOnly: linkOnly, Linked: linked}
	}
	codes, links := Primary([]OwnedCode{
		owned("a", "OLD", false, 0), owned("a", "NEW", false, 3), owned("a", "name", true, 2),
		owned("b", "ONE", false, 0), owned("b", "first", true, 1), owned("b", "second", true, 1),
		owned("c", "TWO", false, 0),
	})
	if want := []UserCode{{"a", "NEW"}, {"b", "ONE"}, {"c", "TWO"}}; !slices.Equal(codes, want) {
		t.Errorf("codes are %v", codes)
	}
	if want := []UserCode{{"a", "NEW"}, {"b", "second"}}; !slices.Equal(links, want) {
		t.Errorf("links are %v", links)
	}
	u := User{Codes: codes, Links: []UserCode{{"b", "second"}}}
	if want := []UserCode{{"a", "NEW"}, {"b", "second"}, {"c", "TWO"}}; !slices.Equal(u.LinkNames(), want) || u.Codes[1].Code != "ONE" {
		t.Errorf("names are %v of %v", u.LinkNames(), u.Codes)
	}
}
