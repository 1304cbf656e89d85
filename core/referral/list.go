package referral

import (
	"strconv"
	"strings"

	"kith/core"
)

// Situation selects referrals by how far they have come. A referral may have ended in
// either state.
type Situation string

const (
	// SituationOpen selects referrals that have not converted.
	SituationOpen Situation = Situation(InProgress)
	// SituationConverted selects referrals that have converted.
	SituationConverted Situation = Situation(Converted)
	// SituationEnded selects referrals whose account was cancelled.
	SituationEnded Situation = "ended"
)

// Situations lists every situation.
func Situations() []Situation {
	return []Situation{SituationOpen, SituationConverted, SituationEnded}
}

// ParseSituation returns s as a situation, or an error about field.
func ParseSituation(field, s string) (Situation, error) {
	return core.ParseOneOf(field, s, Situations()...)
}

// Limits of lists of referrals.
const (
	// MaxSearchPage is the most referrals of a page.
	MaxSearchPage = 50
	// MaxSearchExport is the most referrals of an exported list.
	MaxSearchExport = 50_000
	// MaxSearchPeople is the most users whose referrals are looked up. A search that matches
	// more looks at the users of each referral.
	MaxSearchPeople = 50
	// minPerson is the fewest bytes of each word of Search.Person: shorter ones match many
	// users.
	minPerson  = 3
	maxPersons = 254
)

// Search selects referrals, the latest first. An empty field matches all.
type Search struct {
	Situation Situation
	// Moderation is SidePending or SideDenied for referrals of which at least one side is,
	// or SideApproved for those of which both are.
	Moderation SideStatus
	Started    core.Span
	Code       core.ReferralCode
	Program    core.ProgramKey
	// Person is the beginning of the email address, of a name or of the id of one of the
	// two, in several words if all must match.
	Person string
	// Before is the last referral of the page before.
	Before Position
}

// Position is the place of a referral in a list. The zero value is before the first.
type Position struct {
	Started core.Time
	ID      string
}

// Position returns the place of the referral.
func (r Referral) Position() Position { return Position{r.Started, r.ID} }

// String returns the position as text for ParsePosition; "" for the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return strconv.FormatInt(int64(p.Started), 10) + "-" + p.ID
}

// ParsePosition parses the result of Position.String, or returns an error about field.
func ParsePosition(field, s string) (p Position, err error) {
	if s == "" {
		return p, nil
	}
	started, id, ok := strings.Cut(s, "-")
	at, err := strconv.ParseInt(started, 10, 62)
	if err != nil || !ok || at < 0 || id == "" || len(id) > 100 {
		return p, core.Invalid(field, "is not a page of this list; begin at the first page")
	}
	return Position{core.Time(at), id}, nil
}

// Check returns an error about the field of a search that can select nothing, or too much.
func (s Search) Check() error {
	if s.Situation != "" {
		if _, err := ParseSituation("state", string(s.Situation)); err != nil {
			return err
		}
	}
	switch {
	case s.Started.Before != 0 && s.Started.From >= s.Started.Before:
		return core.Invalid("to", "must not be before the first day; exchange the two days")
	case len(s.Person) > maxPersons:
		return core.Invalid("person", "must be at most 254 bytes; shorten it")
	}
	if s.Moderation != "" {
		if _, err := ParseSideStatus("moderation", string(s.Moderation)); err != nil {
			return err
		}
	}
	if s.Code != "" {
		if _, err := core.ParseReferralCode("code", string(s.Code)); err != nil {
			return err
		}
	}
	if s.Program != "" {
		if _, err := core.ParseProgramKey("program", string(s.Program)); err != nil {
			return err
		}
	}
	_, err := s.PersonWords()
	return err
}

// PersonWords returns the words of Person, or an error about the field person.
func (s Search) PersonWords() ([]string, error) {
	words, err := SearchWords("person", s.Person)
	for _, word := range words {
		if err == nil && len(word) < minPerson {
			err = core.Invalid("person", "must have at least 3 characters in each word; type more of the address, the name or the id")
		}
	}
	return words, err
}
