package state

import (
	"slices"
	"testing"

	"kith/core"
	"kith/core/referral"
)

func TestTable(t *testing.T) {
	var table Table[string, int]
	check := func(what string, key string, want int, known bool) {
		t.Helper()
		if got, ok := table.Get(key); got != want || ok != known {
			t.Errorf("%s: %s is %d, %v; want %d, %v", what, key, got, ok, want, known)
		}
	}
	check("nothing is loaded", "a", 0, false)
	if wanted := table.Wanted(); !slices.Equal(wanted, []string{"a"}) || !table.incomplete() {
		t.Errorf("wanted: %v", wanted)
	}
	table.Load("a", 1)
	table.LoadNone("b")
	if table.incomplete() {
		t.Error("all is loaded")
	}
	check("loaded", "a", 1, true)
	check("not stored", "b", 0, false)
	table.Put("a", 2)
	table.Put("b", 3)
	check("changed by the call", "a", 2, true)
	check("added by the call", "b", 3, true)
	table.drop()
	check("the call was refused", "a", 1, true)
	check("the call was refused", "b", 0, false)
	if len(table.Changed()) > 0 {
		t.Error("nothing was kept")
	}
	table.Put("b", 4)
	table.Put("a", 5)
	table.keep()
	table.Put("a", 6)
	table.keep()
	if changed := table.Changed(); !slices.Equal(changed, []string{"b", "a"}) {
		t.Errorf("changed: %v", changed)
	}
	if row := table.Row("a"); !row.Stored || row.Before != 1 || row.Now != 6 {
		t.Errorf("a: %+v", row)
	}
	if row := table.Row("b"); row.Stored || row.Now != 4 {
		t.Errorf("b: %+v", row)
	}
	table.saved()
	if row := table.Row("b"); !row.Stored || row.Before != 4 || len(table.Changed()) > 0 {
		t.Errorf("b after it was saved: %+v", row)
	}
	table.Renew("b")
	check("to be loaded again", "b", 0, false)
}

func TestList(t *testing.T) {
	var list List[int]
	list.Add(1, 2)
	list.keep()
	list.Add(3)
	list.drop()
	list.Add(4)
	list.keep()
	if items := list.Take(); !slices.Equal(items, []int{1, 2, 4}) || list.Len() != 0 {
		t.Errorf("%v", items)
	}
}

// The state is incomplete while a row that a call read is not loaded.
func TestState_Incomplete(t *testing.T) {
	s := New("t", 1)
	who := referral.Identity{Account: "a", User: "u", Email: "u@example.com"}
	if s.Connected() || !s.Incomplete() || !s.Facts.Wanted() {
		t.Error("the facts are wanted")
	}
	s.Facts.Load(Facts{Connected: true})
	if !s.Connected() || s.Incomplete() {
		t.Error("the facts are loaded")
	}
	if s.IsUntracked(who) || s.Incomplete() {
		t.Error("Untracked is read for a tenant without untracked users")
	}
	if _, ok := s.User(who); ok || !s.Incomplete() {
		t.Error("a user is wanted")
	}
	s.Users.LoadNone(Who(who))
	if s.Incomplete() {
		t.Error("a user's key includes the email address")
	}
}

// The changes of a call are visible to the next one only if they were kept.
func TestState_UsersAndCodes(t *testing.T) {
	s := New("t", 5)
	s.Facts.Load(Facts{})
	who := referral.Identity{Account: "a", User: "u"}
	s.Accounts.LoadNone("a")
	s.Users.LoadNone(who)
	s.Codes.LoadNone("ten")
	for _, kept := range []bool{false, true} {
		s.PutAccount(referral.NewAccount("a", 5))
		s.PutUser(referral.NewUser("a", "u", 5))
		s.AddCode(referral.UserCode{Program: "classic", Code: "TEN"}, who)
		if u, ok := s.User(who); !ok || len(u.Codes) != 1 {
			t.Errorf("the call does not see its own user: %+v", u)
		}
		if c, ok := s.Code("Ten"); !ok || c.Owner != who {
			t.Errorf("the call does not see its own code: %+v", c)
		}
		if kept {
			s.Keep()
			continue
		}
		s.Drop()
		if _, ok := s.Code("ten"); ok {
			t.Error("the code of a dropped call still exists")
		}
	}
	if a, ok := s.Accounts.Get("a"); !ok || a.Users != 1 || a.First != "u" {
		t.Errorf("%+v", a)
	}
	if s.AddLink(referral.UserCode{Program: "classic", Code: "ten"}, referral.Identity{Account: "a", User: "other"}) {
		t.Error("a link with the name of another user's code was added")
	}
	if added := s.NewCodes.Take(); len(added) != 1 || added[0].Code != core.ReferralCode("TEN") {
		t.Errorf("%+v", added)
	}
}
