package jobs

import (
	"context"
	"errors"
	"strconv"

	"kith/backend/app/rewards"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/core"
	"kith/core/event"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/wire"
)

// parser returns the function that parses rows of a type.
func (r *run) parser(t job.Type) (func(wire.Row) (importRow, error), error) {
	switch t {
	case job.ImportUser:
		return r.parseUser, nil
	case job.ImportUserEvent:
		return r.parseEvent, nil
	case job.ImportDelete:
		return r.parseDeletion, nil
	case job.ImportRedeem:
		return r.parseDraw, nil
	}
	return nil, aborted{"this type of job is not supported"}
}

// userRow is a row of MUTATION/USER. It has the effect of an identification with the API
// key.
type userRow struct {
	*run
	update referral.UserUpdate
	since  core.Time
}

func (r *run) parseUser(row wire.Row) (importRow, error) {
	update, since, err := wire.ParseImportedUser(r.tenant, row)
	update.Segments = append(update.Segments, r.params.Segments...)
	for i, code := range update.Codes {
		if code.Program == core.ClassicProgram && r.params.Program != "" {
			update.Codes[i].Program = r.params.Program
		}
	}
	return userRow{r, update, since}, err
}

func (r userRow) identification() rules.Identification {
	return rules.Identification{Update: r.update, Since: r.since, Share: r.share}
}

func (r userRow) want(s *state.State)     { r.rules.WantIdentify(s, r.identification()) }
func (r userRow) wantMore(s *state.State) { r.rules.WantMore(s, r.identification()) }

func (r userRow) decide(s *state.State) ([]string, error) {
	done, err := r.rules.Identify(s, r.identification())
	if err != nil {
		return nil, err
	}
	return userCells(done), nil
}

// userCells returns the cells of a stored user in the result file, which are those of an
// export of users.
func userCells(done rules.Identified) []string {
	u, code := done.User, string(shareCode(done.User.LinkNames()))
	medium := ""
	if ref := done.ReferredBy.Referral; ref != nil && ref.Referred.User == u.ID {
		medium = ref.ShareMedium
	}
	return []string{
		string(u.ID), string(u.Account), u.Email, u.FirstName, u.LastName, u.ImageURL, u.FirstSeenIP, u.LastSeenIP,
		strconv.FormatInt(int64(u.Created), 10), u.Email, medium, u.Locale, code, code, code, code, code,
	}
}

// shareCode returns the code of a user's share link: the code in the classic program, or
// else the last one.
func shareCode(codes []referral.UserCode) (code core.ReferralCode) {
	for _, c := range codes {
		if code = c.Code; c.Program == core.ClassicProgram {
			break
		}
	}
	return code
}

// eventRow is a row of MUTATION/USER_EVENT. It has the effect of a call that logs one
// event.
type eventRow struct {
	*run
	call event.Call
}

func (r *run) parseEvent(row wire.Row) (importRow, error) {
	c, err := wire.ParseImportedEvent(row)
	c.Trusted = true
	return eventRow{r, c}, err
}

func (r eventRow) want(s *state.State) {
	s.Users.Want(referral.Identity{Account: r.call.Account, User: r.call.User})
	if r.call.Key != "" {
		s.EventKeys.Want(r.call.Key)
	}
}

func (r eventRow) wantMore(*state.State) {}

func (r eventRow) decide(s *state.State) ([]string, error) {
	c, err := r.rules.LogEvents(s, r.call)
	if err != nil {
		return nil, err
	}
	e := c.Events[0]
	return []string{
		string(c.Account), string(c.User), e.ID, e.Key, strconv.FormatInt(int64(e.Triggered), 10),
		strconv.FormatInt(int64(c.Received), 10), "", wire.EventFields(e),
	}, nil
}

// deletionRow is a row of MUTATION/DELETE_USER.
type deletionRow struct {
	*run
	deletion users.Deletion
}

// parseDeletion parses a deletion. The params of the job are the defaults of its options;
// without either, an empty account is preserved (clients 1.2.4).
func (r *run) parseDeletion(row wire.Row) (importRow, error) {
	d, err := wire.ParseDeletion(row)
	return deletionRow{r, users.Deletion{Account: d.Account, User: d.User, Options: users.DeleteOptions{
		DoNotTrack:           firstGiven(false, d.DoNotTrack, r.params.DoNotTrack),
		PreserveEmptyAccount: firstGiven(true, d.PreserveEmptyAccount, r.params.PreserveEmptyAccounts),
	}}}, err
}

// firstGiven returns the first of the settings that is not nil, or the default.
func firstGiven(defaultValue bool, settings ...*bool) bool {
	for _, s := range settings {
		if s != nil {
			return *s
		}
	}
	return defaultValue
}

// applyAll deletes the users of many rows.
func (r deletionRow) applyAll(ctx context.Context, tx *store.Tx, rows []importRow, _ func() bool) ([]applied, error) {
	deletions := make([]users.Deletion, len(rows))
	for i, row := range rows {
		deletions[i] = row.(deletionRow).deletion
	}
	refused, err := r.jobs.Erasures.DeleteWithin(ctx, tx, r.tenant, deletions)
	if err != nil {
		return nil, err
	}
	all := make([]applied, len(rows))
	for i, d := range deletions {
		all[i] = applied{result: []string{string(d.Account), string(d.User)}, err: refused[i]}
	}
	return all, nil
}

// drawRow is a row of MUTATION/REDEEMABLE_REWARD_BALANCE.
type drawRow struct {
	*run
	draw reward.Draw
}

func (r *run) parseDraw(row wire.Row) (importRow, error) {
	d, err := wire.ParseDraw(row)
	return drawRow{r, d}, err
}

// maxDraws is how many draws are made together at most, before the time is looked at: their
// users may have many credits.
const maxDraws = 128

// applyAll redeems credit for many rows, until the batch is late. It skips rows that redeem
// nothing.
func (r drawRow) applyAll(ctx context.Context, tx *store.Tx, rows []importRow, late func() bool) ([]applied, error) {
	all := make([]applied, len(rows))
	var draws []reward.Draw
	var at []int
	for i, row := range rows {
		if d := row.(drawRow).draw; d.Amount > 0 {
			draws, at = append(draws, d), append(at, i)
		}
	}
	for len(draws) > 0 {
		drawn, err := r.jobs.Redemptions.DrawFirst(ctx, tx, r.tenant, draws[:min(len(draws), maxDraws)])
		if err != nil {
			return nil, err
		}
		for i, d := range drawn {
			all[at[i]] = redeemed(draws[i], d)
		}
		if draws, at = draws[len(drawn):], at[len(drawn):]; len(draws) > 0 && late() {
			return all[:at[0]], nil
		}
	}
	return all, nil
}

func redeemed(draw reward.Draw, d rewards.DrawResult) applied {
	if e, ok := errors.AsType[*core.Error](d.Refused); ok && e.Field == "amount" { // the name in the API
		d.Refused = core.Invalid("valueToRedeem", e.Message)
	}
	return applied{err: d.Refused, result: []string{
		string(draw.Account), string(draw.User), draw.Unit, strconv.FormatInt(d.Redeemed, 10), strconv.FormatInt(d.Available, 10),
	}}
}
