package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"kith/backend/app/base"
	"kith/backend/app/events"
	"kith/backend/app/programs"
	"kith/backend/app/referrals"
	"kith/backend/app/rewards"
	"kith/backend/app/users"
	"kith/backend/store/peopledb"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/wire"
)

// Users are the users of a tenant: its customers, not its members.
type Users struct {
	Base      *base.Base
	Codes     *referrals.Codes
	Erasures  *users.Erasures
	Events    *events.Events
	Programs  *programs.Programs
	Referrals *referrals.Referrals
	Rewards   *rewards.Rewards
	Users     *users.Users
}

// ProfileRows is the most rows of each list of a Profile.
const ProfileRows = 100

// Profile is everything that a member sees about a user. Lists have the latest rows, and
// the total where there may be more.
type Profile struct {
	// UserInfo is the user, with the account and the referral by which it was referred.
	wire.UserInfo
	// Programs are all programs of the tenant.
	Programs []referral.Program
	// Codes are all codes and names of share links of the user.
	Codes       []referral.OwnedCode
	Balances    []reward.Balance
	Rewards     []reward.Reward
	RewardTotal int
	Events      []event.Logged
	// Made are the referrals that the user made.
	Made []referral.Referral
	// Decisions are the attribution decisions about the account.
	Decisions     []wire.Decision
	DecisionTotal int
	// Changes are what members changed about the user; none unless the caller may read the
	// audit log.
	Changes []people.Entry
	// Now is the time of the statuses.
	Now core.Time
}

// Profile returns a user, or a not-found error. The number of statements does not depend
// on what the user has.
func (us *Users) Profile(ctx context.Context, c people.Caller, who referral.Identity) (p Profile, err error) {
	if err := operation.ReadReferrals.Require(c); err != nil {
		return p, err
	}
	if p.UserInfo, err = us.Users.ByID(ctx, c.Tenant, who.Account, who.User); err != nil {
		return p, err
	}
	p.Now = us.Base.Now()
	for _, read := range []func() error{
		func() error {
			t, err := tenantdb.Find(ctx, us.Base.DB.Reads, c.Tenant)
			p.UserInfo.Share = us.Base.Share(t)
			return err
		},
		func() (err error) { p.Programs, err = us.Programs.List(ctx, c.Tenant); return err },
		func() (err error) {
			p.Codes, err = userdb.OwnedCodes(ctx, us.Base.DB.Reads, c.Tenant, who.Account, who.User)
			return err
		},
		func() (err error) {
			p.Balances, err = us.Rewards.Balances(ctx, c.Tenant, who.Account, who.User, "")
			return err
		},
		func() (err error) {
			p.Rewards, p.RewardTotal, err = us.Rewards.List(ctx, c.Tenant, reward.Filter{Account: who.Account, User: who.User, Limit: ProfileRows})
			return err
		},
		func() (err error) {
			p.Events, err = us.Events.List(ctx, c.Tenant, event.Filter{Account: who.Account, User: who.User, Limit: ProfileRows})
			return err
		},
		func() (err error) {
			p.Made, err = us.Referrals.LatestMade(ctx, c.Tenant, who, ProfileRows)
			return err
		},
		func() (err error) {
			p.Decisions, p.DecisionTotal, err = us.Referrals.Decisions(ctx, c.Tenant, who.Account, base.Page{Limit: ProfileRows})
			return err
		},
		func() (err error) {
			if operation.ReadAudit.Permits(c.Role) {
				p.Changes, err = peopledb.EntriesAbout(ctx, us.Base.DB.Reads, c.Tenant, who.Account, who.User, ProfileRows)
			}
			return err
		},
	} {
		if err := read(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// about returns a change about a user. Its subject has the ids of the user. All that names
// the user leaves the audit log when the user is erased.
func about(who referral.Identity, op *operation.Operation, after any) base.Change {
	return base.Change{Operation: op, Subject: string(who.Account) + " / " + string(who.User), After: after, Account: who.Account, User: who.User}
}

// why is what the audit log keeps of a change that has nothing but a reason.
type why struct {
	Reason string `json:"reason"`
}

// act makes a change about a user for a reason. A member must give one; a call of the API,
// which names no person, may.
func (us *Users) act(ctx context.Context, c people.Caller, who referral.Identity, op *operation.Operation, reason string, do func(context.Context, string, *base.Change) error) error {
	return us.Base.Act(ctx, c, about(who, op, nil), func(ctx context.Context, entry *base.Change) error {
		if reason != "" || c.Person != "" {
			var err error
			if reason, err = people.ParseReason("reason", reason); err != nil {
				return err
			}
			entry.After = why{reason}
		}
		return do(ctx, reason, entry)
	})
}

// Block stops a user from referring others; see users.Users.Block.
func (us *Users) Block(ctx context.Context, c people.Caller, who referral.Identity, rewards reward.Block, reason string) error {
	return us.act(ctx, c, who, operation.BlockUser, reason, func(ctx context.Context, reason string, entry *base.Change) error {
		if rewards != "" {
			entry.After = blockedFor{why{reason}, rewards}
		}
		return conflict(c, us.Users.Block(ctx, c.Tenant, who.Account, who.User, rewards))
	})
}

// blockedFor is what the audit log keeps of a block that changes rewards.
type blockedFor struct {
	why
	Rewards reward.Block `json:"rewards"`
}

// Stake is what a block may touch.
type Stake struct {
	// InProgress is the number of the referrals of the user that have not converted.
	InProgress int
	Balances   []reward.Balance
}

// Stake returns what a block of a user may touch.
func (us *Users) Stake(ctx context.Context, c people.Caller, who referral.Identity) (s Stake, err error) {
	if err := operation.ReadReferrals.Require(c); err != nil {
		return s, err
	}
	_, s.InProgress, err = us.Referrals.List(ctx, c.Tenant, referral.Filter{
		ReferrerAccount: who.Account, ReferrerUser: who.User, Situation: referral.SituationOpen, Limit: 1,
	})
	if err == nil {
		s.Balances, err = us.Rewards.Balances(ctx, c.Tenant, who.Account, who.User, "")
	}
	return s, err
}

// Unblock allows a blocked user to refer others again; see users.Users.Unblock.
func (us *Users) Unblock(ctx context.Context, c people.Caller, who referral.Identity, reason string) error {
	return us.act(ctx, c, who, operation.UnblockUser, reason, func(ctx context.Context, _ string, _ *base.Change) error {
		return conflict(c, us.Users.Unblock(ctx, c.Tenant, who.Account, who.User))
	})
}

// conflict returns the error for a change that was made before: the API says forbidden,
// which a member would take for a missing role.
func conflict(c people.Caller, err error) error {
	if known, ok := errors.AsType[*core.Error](err); ok && c.Person != "" && known.Code == core.CodeForbidden {
		return &core.Error{Code: core.CodeConflict, Message: known.Message}
	}
	return err
}

// Attribute attributes a user to the owner of a code, by the decision of the member; see
// referrals.Codes.AttributeByHand. The reason is kept with the decision, and the audit log
// has the id of the referral, so that neither keeps data of a referrer who is erased.
func (us *Users) Attribute(ctx context.Context, c people.Caller, who referral.Identity, code, reason string) (referralID string, err error) {
	err = us.act(ctx, c, who, operation.AttributeUser, reason, func(ctx context.Context, reason string, entry *base.Change) error {
		if strings.TrimSpace(code) == "" {
			return core.Invalid("code", "is required; give that of the user who referred this one")
		}
		return us.Codes.AttributeByHand(ctx, c.Tenant, link.MeantCode(c.Tenant, code), who, reason, func(made referral.Referral) {
			referralID = made.ID
			entry.After = struct {
				Referral string `json:"referralId"`
			}{made.ID}
		})
	})
	return referralID, err
}

// NewReward is a reward that a member gives, as the member wrote it.
type NewReward struct {
	// ID becomes the id of the reward, so that sending a form twice gives it once.
	ID string
	// Kind is credit or a discount. Amount is a number in Unit, or of Currency if Unit is
	// empty; of a discount it is the percentage.
	Kind                   reward.Kind
	Amount, Unit, Currency string
	// Name is shown to the user; it may be empty.
	Name   string
	Reason string
}

// maxText is the most bytes of the unit and of the name of a reward.
const maxText = 64

// grant returns the reward as a grant to a user, or errors about its fields.
func (n NewReward) grant(who referral.Identity) (g reward.Grant, err error) {
	g = reward.Grant{ID: n.ID, Account: who.Account, User: who.User, Source: reward.Manual}
	if !core.ValidID(n.ID) {
		return g, core.Invalid("id", "is not an id of a reward; open the page again")
	}
	unit := strings.TrimSpace(n.Unit)
	var errs []error
	switch n.Kind {
	case reward.PercentDiscount:
		unit = reward.UnitPercent
	case reward.Credit:
		if unit == "" {
			unit = reward.UnitCents
			if g.Offer.Currency, err = conversion.ParseCurrency("currency", n.Currency); err != nil {
				errs = append(errs, err)
			}
		} else if n.Currency != "" {
			errs = append(errs, core.Invalid("unit", "must be empty for an amount of money; leave it or the currency out"))
		} else if currency, err := conversion.ParseCurrency("unit", unit); err == nil {
			errs = append(errs, core.Invalid("unit", "is a currency: leave it empty, and give "+currency+" as the currency"))
		}
	default:
		errs = append(errs, core.Invalid("type", "must be money or points, or a discount"))
	}
	if len(unit) > maxText || strings.ContainsFunc(unit, control) {
		errs = append(errs, core.Invalid("unit", "must be at most 64 bytes on one line"))
	}
	if len(n.Name) > maxText || strings.ContainsFunc(n.Name, control) {
		errs = append(errs, core.Invalid("name", "must be at most 64 bytes on one line"))
	}
	var value int64
	if strings.TrimSpace(n.Amount) == "" {
		errs = append(errs, core.Invalid("amount", "is required; give a number such as 12.50"))
	} else if unit != reward.UnitCents || g.Offer.Currency != "" {
		if value, err = reward.ParseValue("amount", n.Amount, unit, g.Offer.Currency); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return g, errors.Join(errs...)
	}
	g.Offer.Kind, g.Offer.Unit, g.Offer.Name = n.Kind, unit, strings.TrimSpace(n.Name)
	g.Offer = g.Offer.With(value)
	err = g.Check()
	if known, ok := errors.AsType[*core.Error](err); ok && (known.Field == "discountPercent" || known.Field == "assignedCredit") {
		err = core.Invalid("amount", known.Message)
	}
	return g, err
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// AddReward gives a user a reward. A repeated call is a conflict and gives nothing.
func (us *Users) AddReward(ctx context.Context, c people.Caller, who referral.Identity, n NewReward) (r reward.Reward, err error) {
	change := about(who, operation.GrantReward, nil)
	return base.ActValue(ctx, us.Base, c, change, func(ctx context.Context, entry *base.Change) (reward.Reward, error) {
		reason, wrongReason := people.ParseReason("reason", n.Reason)
		g, wrong := n.grant(who)
		if err := errors.Join(wrong, wrongReason); err != nil {
			return r, err
		}
		return us.give(ctx, c, g, reason, entry)
	})
}

// Grant is AddReward for a call of the API, which needs no reason.
func (us *Users) Grant(ctx context.Context, c people.Caller, g reward.Grant) (r reward.Reward, err error) {
	who := referral.Identity{Account: g.Account, User: g.User}
	return base.ActValue(ctx, us.Base, c, about(who, operation.GrantReward, nil), func(ctx context.Context, entry *base.Change) (reward.Reward, error) {
		return us.give(ctx, c, g, "", entry)
	})
}

// give creates a reward and fills in its entry.
func (us *Users) give(ctx context.Context, c people.Caller, g reward.Grant, reason string, entry *base.Change) (reward.Reward, error) {
	return us.Rewards.CreateAnd(ctx, c.Tenant, g, func(r reward.Reward) {
		entry.After = struct {
			ID     string `json:"rewardId"`
			Amount string `json:"amount"`
			Reason string `json:"reason,omitempty"`
		}{r.ID, reward.Pretty(r.Offer.Value(), r.Offer.Unit, r.Offer.Currency, reward.UnitFormatted), reason}
	})
}

// NewEvent is an event of a user, as a member wrote it.
type NewEvent struct {
	// Once is the idempotency key, so that sending a form twice adds the event once.
	Once string
	// Key is the name of the event, such as purchase. The rest may be empty; Currency counts
	// with a revenue only.
	Key, Revenue, Currency, Order string
}

// call returns the event as a call of the API, or errors about its fields.
func (n NewEvent) call(who referral.Identity) (event.Call, error) {
	fields := map[string]any{}
	var errs []error
	if strings.TrimSpace(n.Key) == "" {
		errs = append(errs, core.Invalid("key", "is required; give a name such as purchase"))
	}
	if revenue := strings.TrimSpace(n.Revenue); revenue != "" {
		currency, err := conversion.ParseCurrency("currency", n.Currency)
		var amount int64
		if err == nil {
			amount, err = reward.ParseAmount("revenue", revenue, currency)
		}
		if err != nil {
			errs = append(errs, err)
		}
		fields["revenue"], fields["currency"] = json.Number(reward.Pretty(amount, reward.UnitCents, currency, reward.NumberUnformatted)), currency
	}
	if order := strings.TrimSpace(n.Order); order != "" {
		fields["order_id"] = order
	}
	if len(errs) > 0 {
		return event.Call{}, errors.Join(errs...)
	}
	body, err := json.Marshal(map[string]any{"idempotencyKey": n.Once, "events": []any{map[string]any{"key": strings.TrimSpace(n.Key), "fields": fields}}})
	if err != nil {
		return event.Call{}, err
	}
	call, err := wire.ParseEvents(who.Account, who.User, body)
	if known, ok := errors.AsType[*core.Error](err); ok {
		// The name in the API is that of the field in a list.
		field := strings.TrimPrefix(strings.TrimPrefix(known.Field, "events[0]."), "fields.")
		return call, core.Invalid(field, known.Message)
	}
	return call, err
}

// revenue returns the revenue with its currency, or "".
func (n NewEvent) revenue() string {
	if strings.TrimSpace(n.Revenue) == "" {
		return ""
	}
	return n.Revenue + " " + strings.ToUpper(n.Currency)
}

// Ordered reports whether an event of the account, of a name that is none of reversals, places
// an order. An account has it, too, if it has too many events to read.
func (us *Users) Ordered(ctx context.Context, c people.Caller, account core.AccountID, order string, reversals []string) (bool, error) {
	if err := operation.ReadReferrals.Require(c); err != nil {
		return false, err
	}
	all, err := us.Events.List(ctx, c.Tenant, event.Filter{Account: account, Limit: state.MaxHistory})
	return len(all) == state.MaxHistory || slices.ContainsFunc(all, func(e event.Logged) bool {
		return !slices.Contains(reversals, e.Key) && cmp.Or(strings.TrimSpace(wire.OrderEvent(e.Event, nil).OrderID), e.ID) == order
	}), err
}

// AddEvent logs an event of a user, as the shop's server does. A repeated call is a
// conflict and adds nothing.
func (us *Users) AddEvent(ctx context.Context, c people.Caller, who referral.Identity, n NewEvent) error {
	return us.Base.Act(ctx, c, about(who, operation.AddEvent, nil), func(ctx context.Context, entry *base.Change) error {
		call, err := n.call(who)
		if err != nil {
			return err
		}
		entry.After = struct {
			Key     string `json:"event"`
			Revenue string `json:"revenue,omitempty"`
			Order   string `json:"order,omitempty"`
		}{call.Events[0].Key, n.revenue(), n.Order}
		tenant, err := tenantdb.Find(ctx, us.Base.DB.Reads, c.Tenant)
		if err != nil {
			return err
		}
		_, err = us.Events.LogWithEntry(ctx, base.Caller{Tenant: tenant, Key: true}, call)
		return err
	})
}

// Export writes all data about a user; see users.Users.WritePersonal.
func (us *Users) Export(ctx context.Context, c people.Caller, who referral.Identity, to io.Writer) error {
	return us.Base.Act(ctx, c, about(who, operation.ExportUser, nil), func(ctx context.Context, _ *base.Change) error {
		return us.Users.WritePersonal(ctx, c.Tenant, who.Account, who.User, to)
	})
}

// Erase is Delete for a member, who types the id of the user once more.
func (us *Users) Erase(ctx context.Context, c people.Caller, who referral.Identity, typed string, doNotTrack bool) error {
	if err := operation.EraseUser.Require(c); err != nil {
		return err
	}
	if strings.TrimSpace(typed) != string(who.User) {
		return core.Invalid("typed", "is not the id of this user; type it exactly as it is shown")
	}
	return us.Delete(ctx, c, who, users.DeleteOptions{DoNotTrack: doNotTrack})
}

// erased is an erasure in the audit log.
type erased struct {
	DoNotTrack bool `json:"doNotTrack"`
}

// Delete removes a user with all personal data; see users.Erasures.DeleteUser. The entry in
// the audit log does not name the user.
func (us *Users) Delete(ctx context.Context, c people.Caller, who referral.Identity, o users.DeleteOptions) error {
	change := base.Change{Operation: operation.EraseUser, After: erased{o.DoNotTrack}}
	return us.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		return us.Erasures.DeleteUser(ctx, c.Tenant, who.Account, who.User, o)
	})
}

// DeleteAccount removes an account with its users; see users.Erasures.DeleteAccount. The
// entry in the audit log does not name it.
func (us *Users) DeleteAccount(ctx context.Context, c people.Caller, id core.AccountID, doNotTrack bool) error {
	change := base.Change{Operation: operation.EraseAccount, After: erased{doNotTrack}}
	return us.Base.Act(ctx, c, change, func(ctx context.Context, _ *base.Change) error {
		return us.Erasures.DeleteAccount(ctx, c.Tenant, id, doNotTrack)
	})
}
