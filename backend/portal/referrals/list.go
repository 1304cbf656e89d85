package referrals

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/reward"
)

// list is the data of the list of referrals.
type list struct {
	*frame.Form
	Referrals                     []referral.Referral
	States, Moderations, Programs []frame.Option
	// Filtered is true if the filter selects.
	Filtered bool
	// Pending is true if the page has referrals that the caller may decide about, and
	// MayExport if the caller may download the list.
	Pending, MayExport bool
	frame.Links
}

// Fields returns the fields of the filter.
func (list) Fields() []string {
	return []string{"state", "moderation", "person", "code", "program", "from", "to", "zone"}
}

var labels = map[string]string{
	"state": "The state", "moderation": "The moderation", "person": "The person", "code": "The code", "program": "The program", "from": "The first day", "to": "The last day",
}

// searchOf reads the filter of the list from the form.
func searchOf(f *frame.Form) (s referral.Search, err error) {
	text := func(field string) string { return strings.TrimSpace(f.Value(field)) }
	s = referral.Search{
		Situation: referral.Situation(strings.ToLower(text("state"))), Moderation: referral.SideStatus(strings.ToUpper(text("moderation"))), Code: core.ReferralCode(text("code")),
		Program: core.ProgramKey(text("program")), Person: text("person"),
	}
	if s.Started, err = frame.Days(f.Value("from"), f.Value("to"), frame.Zone(f.Value("zone"))); err != nil {
		return s, err
	}
	if s.Before, err = referral.ParsePosition("before", f.Value("before")); err != nil {
		return s, err
	}
	return s, s.Check()
}

func listPage(v *frame.Visit) error {
	f := v.NewForm()
	s, err := searchOf(f)
	data := list{
		Form: f, Filtered: s != referral.Search{Before: s.Before}, MayExport: v.May(operation.ExportReferrals),
		States: frame.OptionsOf(string(s.Situation), "", "any", string(referral.SituationOpen), "in progress",
			string(referral.SituationConverted), "converted", string(referral.SituationEnded), "ended"),
		Moderations: frame.OptionsOf(string(s.Moderation), "", "any", string(referral.SidePending), "pending",
			string(referral.SideApproved), "approved", string(referral.SideDenied), "denied"),
		Programs: []frame.Option{{Label: "any"}},
	}
	programs, failed := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
	if failed != nil {
		return failed
	}
	for _, p := range programs {
		data.Programs = append(data.Programs, frame.Option{Value: string(p.Key), Label: cmp.Or(p.Name, string(p.Key))})
	}
	frame.Choose(data.Programs, string(s.Program))
	var next referral.Position
	if err == nil {
		data.Referrals, next, err = v.Engine.Referrals.Search(v.Ctx(), v.Caller.Tenant, s)
	}
	if err != nil {
		data.Filtered = true
		if !f.Refuse(err, labels) {
			return err
		}
	}
	data.Pending = v.May(operation.Moderate) && slices.ContainsFunc(data.Referrals, pending)
	data.Links = frame.LinksOf(v, "before", next, s.Before == referral.Position{})
	return v.Page(f.Status(), "list", "Referrals", data)
}

// pending reports whether a moderator must decide about a referral.
func pending(r referral.Referral) bool { return r.Moderation.Status() == "PENDING" }

// Pending is pending, for the page.
func (list) PendingOne(r referral.Referral) bool { return pending(r) }

// who returns the name of a user for people.
func who(i referral.Identity, p referral.Profile) string {
	return cmp.Or(i.Name(p), string(i.Account))
}

// tag is a word about a referral, with its color.
type tag struct{ Text, Tone string }

// tagsOf returns the state of a referral and its moderation as tags.
func tagsOf(r referral.Referral) (tags []tag) {
	if r.State == referral.Converted {
		tags = append(tags, tag{"Converted", "good"})
	} else {
		tags = append(tags, tag{"In progress", ""})
	}
	if r.Ended != 0 {
		tags = append(tags, tag{"Ended", ""})
	}
	m := r.Moderation
	for _, s := range []struct {
		status referral.SideStatus
		tag    tag
	}{{referral.SidePending, tag{"Pending", "waiting"}}, {referral.SideDenied, tag{"Denied", "bad"}}} {
		switch {
		case m.Referrer.Status == s.status && m.Referred.Status == s.status:
			tags = append(tags, s.tag)
		case m.Referrer.Status == s.status:
			tags = append(tags, tag{"Referrer " + strings.ToLower(s.tag.Text), s.tag.Tone})
		case m.Referred.Status == s.status:
			tags = append(tags, tag{"Friend " + strings.ToLower(s.tag.Text), s.tag.Tone})
		}
	}
	return tags
}

// export writes the referrals that the filter selects as a file.
func export(v *frame.Visit) error {
	s, err := searchOf(v.NewForm())
	if err != nil {
		return err
	}
	zone := frame.Zone(v.R.PostForm.Get("zone"))
	return v.Download(v.FileName("referrals", "csv"), "text/csv; charset=utf-8", func(w *bufio.Writer) error {
		_, _ = w.WriteString(exportfile.Mark)
		out := csv.NewWriter(w)
		_ = out.Write(columnsIn(zone))
		_, err := v.Engine.Admin.Referrals.Export(v.Ctx(), v.Caller, s, func(r referral.Referral) error {
			row := rowOf(r, zone)
			for i := range row {
				row[i] = exportfile.HarmlessToPeople(row[i])
			}
			return out.Write(row)
		})
		if err != nil {
			return err // before the first part was sent, the page of the error is shown
		}
		out.Flush()
		return errors.Join(err, out.Error())
	})
}

// columnsIn returns the columns of the file, with the times for people in a zone, and those in
// UTC at the end.
func columnsIn(zone *time.Location) []string {
	in := " (" + zone.String() + ")"
	return []string{
		"id", "programId", "state", "code", "shareMedium", "shareLink", "dateStarted" + in, "dateConverted" + in, "dateEnded" + in,
		"referrerAccountId", "referrerUserId", "referrerEmail", "referrerName", "referredAccountId", "referredUserId", "referredEmail", "referredName",
		"referrerModeration", "referredModeration", "fraudSignals",
		"referrerReward", "referrerRewardUnit", "referrerRewardStatus", "referredReward", "referredRewardUnit", "referredRewardStatus",
		"dateStarted", "dateConverted", "dateEnded",
	}
}

// gets is what a side of a referral gets in one unit and currency.
type gets struct {
	Unit, Currency string
	// Amount is what the side got or will get; see reward.Group.Got.
	Amount int64
	// Status says what became of the rewards, such as "Available", or "2 available, 1 used".
	Status string
}

// getsOf returns what a side of a referral gets.
func getsOf(r referral.Referral, side reward.Source) (all []gets) {
	type sum struct {
		gets
		count  int64
		words  []string
		counts map[string]int64
	}
	var sums []*sum
	for _, g := range r.Groups {
		if (g.Source == reward.FriendSignup) != (side == reward.FriendSignup) {
			continue
		}
		i := slices.IndexFunc(sums, func(s *sum) bool { return s.Unit == g.Unit && s.Currency == g.Currency })
		if i < 0 {
			i = len(sums)
			sums = append(sums, &sum{gets: gets{Unit: g.Unit, Currency: g.Currency}, counts: map[string]int64{}})
		}
		s, word := sums[i], frame.StatusWord(g.Status, g.OnHold, g.ByHand)
		if s.counts[word] == 0 {
			s.words = append(s.words, word)
		}
		s.Amount, s.count, s.counts[word] = s.Amount+g.Got(), s.count+g.Count, s.counts[word]+g.Count
	}
	for _, s := range sums {
		s.Status = s.words[0]
		if s.count > 1 {
			for i, word := range s.words {
				s.words[i] = strconv.FormatInt(s.counts[word], 10) + " " + strings.ToLower(word)
			}
			s.Status = strings.Join(s.words, ", ")
		}
		all = append(all, s.gets)
	}
	return all
}

// rowOf returns a referral as a row of columnsIn.
func rowOf(r referral.Referral, zone *time.Location) []string {
	var signals []string
	for _, s := range r.Moderation.Signals {
		signals = append(signals, string(s.Signal))
	}
	full := func(p referral.Profile) string { return strings.TrimSpace(p.FirstName + " " + p.LastName) }
	row := []string{
		r.ID, string(r.Program), string(r.State), string(r.Code), r.ShareMedium, r.ShareLink, date(r.Started, zone, exportfile.LocalTime), date(r.Converted, zone, exportfile.LocalTime), date(r.Ended, zone, exportfile.LocalTime),
		string(r.Referrer.Account), string(r.Referrer.User), r.Referrer.Email, full(r.ReferrerProfile),
		string(r.Referred.Account), string(r.Referred.User), r.Referred.Email, full(r.ReferredProfile),
		string(r.Moderation.Referrer.Status), string(r.Moderation.Referred.Status), strings.Join(signals, " "),
	}
	for _, side := range []reward.Source{reward.FriendSignup, reward.Referred} {
		var amounts, units, statuses []string
		for _, g := range getsOf(r, side) {
			unit := g.Unit
			if unit == reward.UnitCents && g.Currency != "" {
				unit = g.Currency
			}
			amounts = append(amounts, reward.Pretty(g.Amount, g.Unit, g.Currency, reward.NumberUnformatted))
			units, statuses = append(units, unit), append(statuses, strings.ToLower(g.Status))
		}
		row = append(row, strings.Join(amounts, "; "), strings.Join(units, "; "), strings.Join(statuses, "; "))
	}
	for _, at := range []core.Time{r.Started, r.Converted, r.Ended} {
		row = append(row, date(at, time.UTC, exportfile.ISOTime))
	}
	return row
}

// date returns a time in a zone, or "".
func date(at core.Time, zone *time.Location, layout string) string {
	if at == 0 {
		return ""
	}
	return time.UnixMilli(int64(at)).In(zone).Format(layout)
}
