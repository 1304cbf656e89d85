package text

import "strings"

// Catalog has the texts of the widget and of invitations in one language. A {name} in a
// text is replaced by a value; the same text has the same names in each language.
//
// {reward}, {give} and {get} are inserted as the object of a verb ("you get …"), so in a
// language with cases the texts of rewards are in the accusative.
type Catalog struct {
	numbers numbers
	// plural is the rule for whole numbers of the Unicode CLDR, and forms are the forms
	// that it uses besides Other.
	plural func(n int64) Form
	forms  []Form

	// What a reward is.
	Off         string // of a discount; {percent}
	OfOrder     string // of a share of one order; {percent}
	OfEachOrder string // of a share of each order; {percent}
	EachOrder   string // of an amount for each order; {reward}
	UpTo        string // of a reward in tiers; {reward}
	CodeOff     string // of a coupon code for a discount; {percent}
	CodeWorth   string // of a coupon code for money; {amount}
	CodeFor     string // of a coupon code for something else; {amount}
	Gift        string // of a gift; {amount}
	SomeReward  string // of a reward whose value is not known
	Days        Plural // of free days; {n}
	Weeks       Plural
	Months      Plural
	Years       Plural
	Points      Plural

	// The terms of a reward: whole sentences.
	TierOne   string // {from}, {reward}
	TierRange string // {from}, {to}, {reward}
	TierFrom  string // {from}, {reward}
	Least     string // {amount}
	Most      string // {amount}
	MinOrder  string // {amount}
	Orders    Plural // only the first {n} orders count
	ForMonths Plural // {n}
	InTotal   Plural // at most {n} rewards
	Waiting   Plural // the waiting period, in {n} days
	ValidFor  Plural // in {n} days

	// The beginning of the widget.
	TitleBoth, TitleGive, TitleGet, TitleShare string // {give}, {get}
	GiftFromReward                             string // {name}, {reward}
	GiftFrom                                   string // {name}
	WelcomeReward                              string // {reward}
	Welcome                                    string
	TextConversion, TextSignIn                 string
	TextBoth, TextShare                        string

	// The parts of the widget.
	Link, Copy, Copied, CopyCode, Share, Email, Close  string // {code} in CopyCode
	Friends, LatestOf, NoFriends, AFriend              string // {n} and {count} in LatestOf
	Joined, Complete, Ended, Returned                  string
	Have                                               string // {rewards}
	And                                                string // {first}, {last}
	Debt                                               string // {amount}
	Codes, CodeUntil                                   string // {date} in CodeUntil
	Pending, PendingUntil, PendingReview, PendingCodes string // {date} in PendingUntil

	// The invitation that a user sends to a friend; the share link follows it.
	SubjectReward, InvitationReward string // {shop}, {reward}
	Subject, Invitation             string // {shop}
}

// catalogs are the catalogs of Languages, in their order.
var catalogs = [len(Languages)]*Catalog{&english, &german, &french, &spanish, &portuguese, &arabic}

// For returns the catalog of the first of the wanted languages that has one, else of
// the first of Languages, and that language. locale is the wanted tag, which may have a
// region.
func For(wanted []Tag) (c *Catalog, language, locale Tag) {
	i, locale := choose(wanted)
	return catalogs[i], Languages[i], locale
}

// Form is a plural form of the Unicode CLDR.
type Form uint8

// The plural forms. Each language has Other.
const (
	Other Form = iota
	Zero
	One
	Two
	Few
	Many
)

// Plural is a text for a number {n} in the plural forms of its language. Forms that the
// language does not have are empty.
type Plural struct{ Zero, One, Two, Few, Many, Other string }

func (p Plural) in(f Form) string {
	switch f {
	case Zero:
		return p.Zero
	case One:
		return p.One
	case Two:
		return p.Two
	case Few:
		return p.Few
	case Many:
		return p.Many
	}
	return p.Other
}

// Count returns a text for a number.
func (c *Catalog) Count(p Plural, n int64) string {
	return Fill(p.in(c.plural(n)), "n", c.numbers.format(n, 0))
}

// oneIfOne is the plural rule of English, German and Spanish. (Spanish has a form for
// millions too, which no text here needs.)
func oneIfOne(n int64) Form {
	if n == 1 {
		return One
	}
	return Other
}

// oneIfZeroOrOne is the plural rule of French and Portuguese.
func oneIfZeroOrOne(n int64) Form {
	if n == 0 || n == 1 {
		return One
	}
	return Other
}

// Fill returns a text with each {name} replaced by its value. pairs are names and
// values.
func Fill(text string, pairs ...string) string {
	named := make([]string, len(pairs))
	for i := range pairs {
		if named[i] = pairs[i]; i%2 == 0 {
			named[i] = "{" + pairs[i] + "}"
		}
	}
	return strings.NewReplacer(named...).Replace(text)
}

// Placeholders returns the names in braces in a text, in order, with repetitions.
func Placeholders(text string) (names []string) {
	for {
		_, rest, ok := strings.Cut(text, "{")
		if !ok {
			return names
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		names, text = append(names, name), after
	}
}

// Listed returns texts as one: "a", "a and b", "a, b and c".
func (c *Catalog) Listed(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return Fill(c.And, "first", strings.Join(texts[:last], ", "), "last", texts[last])
}
