package rules

import (
	"slices"

	"kith/core/event"
	"kith/core/referral"
	"kith/core/state"
)

// LogEvents stores the events of a call, at most once for its idempotency key
// (spec 4.6), and returns them with ids and times. An unknown user is a
// CodeNotFound error: events do not create users.
func (r *Rules) LogEvents(s *state.State, b event.Call) (event.Call, error) {
	if _, known := s.Users.Get(referral.Identity{Account: b.Account, User: b.User}); !known {
		return b, UnknownUser()
	}
	if b.Key != "" {
		if used, _ := s.EventKeys.Get(b.Key); used {
			return b, event.KeyTaken()
		}
		s.EventKeys.Put(b.Key, true)
	}
	b.Events = slices.Clone(b.Events)
	b.Stamp(s.Now, r.Entropy6())
	s.Intake.Add(b)
	return b, nil
}
