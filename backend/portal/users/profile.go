package users

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"kith/backend/app/admin"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/timeline"
)

// profile is the data of the page of a user.
type profile struct {
	admin.Profile
	Name string
	// Path is the path of the page.
	Path string
	// Shares are the share links by program.
	Shares []share
	// Unlinked are the names of the programs in which the user has no link yet.
	Unlinked []string
	// What the caller may do.
	MayChange, MayCancel, MayExport, MayErase, MayAudit bool
}

// share is a user's share link in a program.
type share struct {
	Key     core.ProgramKey
	Program string
	Code    core.ReferralCode
	URL     string
}

// who returns the user in the path of the page.
func who(v *frame.Visit) referral.Identity {
	return referral.Identity{Account: core.AccountID(v.R.PathValue("account")), User: core.UserID(v.R.PathValue("user"))}
}

// pathOf returns the path of the page of the user in the path.
func pathOf(v *frame.Visit) string {
	return frame.PersonPath(v.Caller.Tenant, core.AccountID(v.R.PathValue("account")), core.UserID(v.R.PathValue("user")))
}

func profilePage(v *frame.Visit) error {
	p, err := v.Engine.Admin.Users.Profile(v.Ctx(), v.Caller, who(v))
	if err != nil {
		return gone(err)
	}
	data := profile{
		Profile: p, Name: userName(p.UserInfo), Path: pathOf(v), Shares: shares(p),
		MayChange: v.May(operation.BlockUser), MayCancel: v.May(operation.CancelReward), MayExport: v.May(operation.StartExport), MayErase: v.May(operation.EraseUser), MayAudit: v.May(operation.ReadAudit),
	}
	for _, program := range p.Programs {
		if !slices.ContainsFunc(data.Shares, func(s share) bool { return s.Key == program.Key }) {
			data.Unlinked = append(data.Unlinked, program.Name)
		}
	}
	return v.Page(http.StatusOK, "profile", data.Name, data)
}

// Cancellable reports whether the caller can cancel a reward.
func (p profile) Cancellable(w reward.Reward) bool { return p.MayCancel && frame.Cancellable(w, p.Now) }

// gone returns the error of a page whose user does not exist.
func gone(err error) error {
	if e, ok := err.(*core.Error); ok && e.Code == core.CodeNotFound {
		return core.NotFound("There is no user with these ids. The user may have been erased, or the link is incomplete.")
	}
	return err
}

// shares returns the share links of a user in the order of the programs.
func shares(p admin.Profile) (all []share) {
	names := map[core.ProgramKey]string{}
	for _, program := range p.Programs {
		names[program.Key] = program.Name
	}
	for _, c := range p.User.LinkNames() {
		all = append(all, share{Key: c.Program, Program: cmp.Or(names[c.Program], string(c.Program)), Code: c.Code, URL: p.UserInfo.Share.URL(c.Code)})
	}
	return all
}

// mediums returns a share link for each medium.
func mediums(url string) (all []struct{ Name, URL string }) {
	for _, m := range link.ShareMediums {
		if m != link.Unknown {
			all = append(all, struct{ Name, URL string }{mediumNames[m], url + link.Mediums("", m)})
		}
	}
	return all
}

var mediumNames = map[link.ShareMedium]string{
	"FACEBOOK": "Facebook", "TWITTER": "Twitter", "EMAIL": "Mail", "DIRECT": "Direct", "LINKEDIN": "LinkedIn", "SMS": "SMS",
	"FBMESSENGER": "Facebook Messenger", "WHATSAPP": "WhatsApp", "LINEMESSENGER": "LINE", "PINTEREST": "Pinterest",
}

// field is a field of a JSON object as text.
type field struct{ Key, Value string }

// fieldsOf returns the fields of a JSON object by name: strings as they are, and other
// values as JSON.
func fieldsOf(object string) (all []field) {
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &raw) != nil {
		return nil // it is empty
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		text := ""
		if json.Unmarshal(raw[name], &text) != nil {
			text = string(raw[name])
		}
		all = append(all, field{name, text})
	}
	return all
}

// earned says by what a user earned a reward.
func earned(s reward.Source) string {
	switch s {
	case reward.FriendSignup:
		return "For a friend who was referred"
	case reward.Referred:
		return "For being referred"
	case reward.Manual:
		return "Given by hand or by the API"
	case reward.Automated, reward.Activation, reward.Acquisition, reward.Retention, reward.Reactivation:
		return "Given by the program (" + strings.ToLower(string(s)) + ")"
	}
	return string(s)
}

// rewardReason says why a reward has its status and its value, or "" if the status says it all.
func rewardReason(r reward.Reward, now core.Time) string {
	switch r.Status(now) {
	case reward.StatusPending:
		if r.Blocked != 0 {
			return "It is held until the user is unblocked." + timeline.TakenBack(r).String()
		}
		if r.Held {
			return "It waits until a member moderates the referral." + timeline.TakenBack(r).String()
		}
		return "It is given later." + timeline.TakenBack(r).String()
	case reward.StatusCancelled:
		switch {
		case r.Denied:
			return "The referral was denied."
		case r.Cancelled == 0 && r.Sums.Reversed == 0:
			return "The order earns nothing any more: another event of it, or an earlier one, arrived late."
		case r.Cancelled == 0:
			return "A refund of the order took it back."
		case r.Blocked != 0:
			return "The user was blocked."
		}
		return "It was cancelled."
	case reward.StatusAvailable:
		if r.Debt() > 0 {
			return "A refund took back more than was left: the user owes the rest."
		}
		if r.Left() < r.Net() {
			return "A part of it was used." + timeline.TakenBack(r).String()
		}
	}
	return strings.TrimSpace(timeline.TakenBack(r).String())
}

// stateText returns the state of a referral as words.
func stateText(s referral.State) string {
	switch s {
	case referral.InProgress:
		return "In progress"
	case referral.Converted:
		return "Converted"
	}
	return string(s)
}
