package frame

import (
	"strconv"

	"kith/core"
	"kith/core/reward"
)

// Cancellation is the data of the template "cancelReward", which asks whether to cancel a
// reward.
type Cancellation struct {
	*Form
	Reward reward.Reward
	Now    core.Time
	// Owner is the name of the reward's owner.
	Owner string
	// Path is the path of the page to which the visitor returns, and Title its name. The path
	// of the form is below it: rewards/ID.
	Path, Title string
}

// Possible reports whether there is something to cancel.
func (c Cancellation) Possible() bool { return Cancellable(c.Reward, c.Now) }

// Cancellable reports whether a member can cancel a reward.
func Cancellable(w reward.Reward, now core.Time) bool {
	status := w.Status(now)
	return w.Cancellable && (status == reward.StatusPending || status == reward.StatusAvailable)
}

// CancelReward cancels the reward in the path, as the form of the template asks for.
func (v *Visit) CancelReward(f *Form) error {
	left, err := strconv.ParseInt(f.Value("left"), 10, 64)
	if err != nil {
		left = -1 // a conflict: no cancellable reward owes
	}
	return v.Engine.Admin.Referrals.CancelReward(v.Ctx(), v.Caller, v.R.PathValue("reward"), left, f.Value("reason"))
}
