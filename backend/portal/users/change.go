package users

import (
	"bufio"
	"cmp"
	"slices"
	"strings"

	"kith/backend/app/admin"
	"kith/backend/app/base"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// change is the data of a page with a form about a user.
type change struct {
	*frame.Form
	wire.UserInfo
	Name, Path string
	// Once makes that a form which is sent twice is applied once.
	Once string
	// Kinds are the kinds of rewards, Events the events that convert a referral, and Reversals
	// those that take its rewards back.
	Kinds             []frame.Option
	Events, Reversals []string
	// byPayment is true if a program converts by the first payment: its refund names no order.
	byPayment bool
	// Replaceable is true if a member may replace the referrer.
	Replaceable bool
	// Typed is what the visitor must type before an erasure.
	Typed string
	// MayExport and MayErase are what the caller may do.
	MayExport, MayErase bool
}

// show shows a page with a form about a user. The caller must be permitted an operation
// with which the form can do something.
func show(v *frame.Visit, f *frame.Form, page, title string, needs *operation.Operation) error {
	data, err := read(v, f, needs)
	if err != nil {
		return err
	}
	return v.Page(f.Status(), page, title+" – "+data.Name, data)
}

// read reads the data of a page with a form about a user.
func read(v *frame.Visit, f *frame.Form, needs *operation.Operation) (data change, err error) {
	if err := needs.Require(v.Caller); err != nil {
		return data, err
	}
	u, err := v.Engine.Users.ByID(v.Ctx(), v.Caller.Tenant, who(v).Account, who(v).User)
	if err != nil {
		return data, gone(err)
	}
	programs, err := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return data, err
	}
	data = change{
		Form: f, UserInfo: u, Name: userName(u), Path: pathOf(v), Once: v.Once(f), Typed: string(u.User.ID),
		MayExport: v.May(operation.StartExport), MayErase: v.May(operation.EraseUser),
	}
	if ref := u.ReferredBy.Referral; ref != nil {
		data.Replaceable = ref.Replaceable(u.Account.Standing)
	}
	data.Kinds = frame.Choose([]frame.Option{
		{Value: string(reward.Credit), Label: "Money or points", Hint: "Credit that the user can redeem in parts."},
		{Value: string(reward.PercentDiscount), Label: "A discount", Hint: "A percentage off the price of the user's subscription."},
	}, cmp.Or(f.Value("type"), string(reward.Credit)))
	for _, program := range programs {
		if c := program.Conversion; c.ByEvent() {
			data.Events, data.Reversals = withName(data.Events, c.Event), withName(data.Reversals, c.Reversal)
		} else {
			data.byPayment = true
		}
	}
	return data, nil
}

// withName returns names with another one, once.
func withName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// after shows the profile after a change, or the form with what is wrong with it.
func after(v *frame.Visit, err error, done string, labels map[string]string, again func(*frame.Visit, *frame.Form) error) error {
	if err == nil {
		return v.Done(pathOf(v), done)
	}
	return v.NewForm().Again(v, gone(err), labels, again)
}

func showReward(v *frame.Visit, f *frame.Form) error {
	return show(v, f, "reward", "Add a reward", operation.GrantReward)
}

func addReward(v *frame.Visit) error {
	f := v.NewForm()
	_, err := v.Engine.Admin.Users.AddReward(v.Ctx(), v.Caller, who(v), admin.NewReward{
		ID: f.Value("once"), Kind: reward.Kind(f.Value("type")), Amount: f.Value("amount"), Unit: f.Value("unit"), Currency: f.Value("currency"),
		Name: f.Value("name"), Reason: f.Value("reason"),
	})
	return after(v, v.Twice(err), "reward-added", map[string]string{
		"type": "The kind", "amount": "The amount", "unit": "The unit", "currency": "The currency", "name": "The name", "reason": "The reason",
	}, showReward)
}

func showCancellation(v *frame.Visit, f *frame.Form) error {
	data, err := read(v, f, operation.CancelReward)
	if err != nil {
		return err
	}
	w, err := rewardOf(v)
	if err != nil {
		return err
	}
	return v.Page(f.Status(), "cancel", "Cancel a reward", frame.Cancellation{
		Form: f, Reward: w, Now: v.Engine.Now(), Owner: data.Name, Path: data.Path, Title: data.Name,
	})
}

// rewardOf returns the reward in the path, if it is that of the user in the path.
func rewardOf(v *frame.Visit) (reward.Reward, error) {
	w, err := v.Engine.Rewards.ByID(v.Ctx(), v.Caller.Tenant, v.R.PathValue("reward"))
	if base.IsNotFound(err) || err == nil && (referral.Identity{Account: w.Account, User: w.User}) != who(v) {
		err = core.NotFound("The user has no such reward. Open the user again.")
	}
	return w, err
}

func cancel(v *frame.Visit) error {
	if err := operation.CancelReward.Require(v.Caller); err != nil {
		return err
	}
	if _, err := rewardOf(v); err != nil {
		return err
	}
	return after(v, v.CancelReward(v.NewForm()), "reward-cancelled", map[string]string{"reason": "The reason"}, showCancellation)
}

func showEvent(v *frame.Visit, f *frame.Form) error {
	return show(v, f, "event", "Add an event", operation.AddEvent)
}

func addEvent(v *frame.Visit) error {
	f := v.NewForm()
	data, err := read(v, f, operation.AddEvent)
	if err != nil {
		return err
	}
	labels := map[string]string{
		"key": "The name of the event", "revenue": "The revenue", "currency": "The currency", "order_id": "The number of the order",
	}
	whole := strings.TrimSpace(f.Value("revenue")) == ""
	if err := data.checkEvent(v, strings.TrimSpace(f.Value("key")), strings.TrimSpace(f.Value("order_id")), whole); err != nil {
		return after(v, err, "", labels, showEvent)
	}
	err = v.Engine.Admin.Users.AddEvent(v.Ctx(), v.Caller, who(v), admin.NewEvent{
		Once: f.Value("once"), Key: f.Value("key"), Revenue: f.Value("revenue"), Currency: f.Value("currency"), Order: f.Value("order_id"),
	})
	return after(v, v.Twice(err), "event-added", labels, showEvent)
}

// checkEvent returns an error about an event that would do nothing, though a person who adds it
// by hand expects that: one whose name differs by case only, and a refund of no order or of an
// unknown one. The shop's server may send a refund before its order.
func (c change) checkEvent(v *frame.Visit, key, order string, whole bool) error {
	for _, name := range slices.Concat(c.Events, c.Reversals) {
		if name != key && strings.EqualFold(name, key) && !slices.Contains(c.Events, key) && !slices.Contains(c.Reversals, key) {
			return core.Invalid("key", "must be written as in the program: "+name)
		}
	}
	if !slices.Contains(c.Reversals, key) || order == "" && whole && c.byPayment {
		return nil
	}
	if order == "" {
		return core.Invalid("order_id", "is required with "+key+": it says which order is taken back")
	}
	known, err := v.Engine.Admin.Users.Ordered(v.Ctx(), v.Caller, c.Account.ID, order, c.Reversals)
	if err == nil && !known {
		err = core.Invalid("order_id", "is that of no order of this account; check it, or add the order first")
	}
	return err
}

func showReferrer(v *frame.Visit, f *frame.Form) error {
	return show(v, f, "referrer", "Attribute by hand", operation.AttributeUser)
}

func attribute(v *frame.Visit) error {
	f := v.NewForm()
	_, err := v.Engine.Admin.Users.Attribute(v.Ctx(), v.Caller, who(v), f.Value("code"), f.Value("reason"))
	return after(v, err, "user-attributed", map[string]string{"code": "The code", "reason": "The reason"}, showReferrer)
}

// blocking is the data of the page that blocks or unblocks a user.
type blocking struct {
	change
	admin.Stake
	// Choices are what may become of the rewards.
	Choices []frame.Option
}

func showBlock(v *frame.Visit, f *frame.Form) error {
	data, err := read(v, f, operation.BlockUser)
	if err != nil {
		return err
	}
	stake, err := v.Engine.Admin.Users.Stake(v.Ctx(), v.Caller, who(v))
	if err != nil {
		return err
	}
	all := frame.Choose([]frame.Option{
		{Value: string(reward.BlockKeep), Label: "Keep them", Hint: "Referrals in progress still earn, and the user can use every reward."},
		{Value: string(reward.BlockHold), Label: "Hold them", Hint: "The user can use none of them, and none that referrals earn meanwhile, until you unblock the user. Then all are given back; one that expires meanwhile is not."},
		{Value: string(reward.BlockCancel), Label: "Cancel them", Hint: "For good, also those that were denied, and what referrals earn during the block. Unblocking gives nothing back."},
	}, cmp.Or(f.Value("rewards"), string(reward.BlockHold)))
	return v.Page(f.Status(), "block", "Block or unblock – "+data.Name, blocking{data, stake, all})
}

func block(v *frame.Visit) error {
	f := v.NewForm()
	rewards, err := reward.ParseBlock("rewards", f.Value("rewards"))
	if err == nil {
		err = v.Engine.Admin.Users.Block(v.Ctx(), v.Caller, who(v), rewards, f.Value("reason"))
	}
	return after(v, err, "user-blocked", map[string]string{"reason": "The reason", "rewards": "The choice"}, showBlock)
}

func unblock(v *frame.Visit) error {
	err := v.Engine.Admin.Users.Unblock(v.Ctx(), v.Caller, who(v), v.NewForm().Value("reason"))
	return after(v, err, "user-unblocked", map[string]string{"reason": "The reason"}, showBlock)
}

func showData(v *frame.Visit, f *frame.Form) error {
	return show(v, f, "data", "Personal data", operation.ExportUser)
}

// export sends all data about a user as a file.
func export(v *frame.Visit) error {
	return gone(v.Download(v.FileName("user", "json"), "application/json; charset=utf-8", func(w *bufio.Writer) error {
		return v.Engine.Admin.Users.Export(v.Ctx(), v.Caller, who(v), w)
	}))
}

func erase(v *frame.Visit) error {
	f := v.NewForm()
	err := v.Engine.Admin.Users.Erase(v.Ctx(), v.Caller, who(v), f.Value("typed"), f.Value("refuse") != "")
	if err == nil {
		return v.Done(v.SectionPath(), "user-erased")
	}
	return after(v, err, "", map[string]string{"typed": "The text"}, showData)
}
