package rules

import (
	"strings"

	"kith/core/event"
	"kith/core/link"
	"kith/core/pipeline"
	"kith/core/referral"
	"kith/core/state"
	"kith/core/wire"
)

// WantMessage requests the rows that a message of a pipeline needs first. The rows of
// WantMessageMore are to be requested when these are loaded.
func (r *Rules) WantMessage(s *state.State, m pipeline.Message) {
	if m.Err != nil || m.Ignored != nil {
		return
	}
	if m.Key != "" {
		s.EventKeys.Want(m.Key)
	}
	if m.Type == pipeline.Group {
		s.Facts.Want()
		s.Accounts.Want(m.Account.ID)
		return
	}
	r.WantIdentify(s, Identification{Update: m.User})
}

// WantMessageMore requests the further rows that a message of a pipeline needs.
func (r *Rules) WantMessageMore(s *state.State, m pipeline.Message) {
	if m.Err == nil && m.Ignored == nil && m.Type != pipeline.Group {
		r.WantMore(s, Identification{Update: m.User})
	}
}

// Message decides a message of a pipeline. A message whose id was processed within
// event.KeyLife is a duplicate, of each type: a pipeline that repeats an old identify
// must not revert a newer one. createUsers is true if a track of an unknown user creates
// the user. share builds the share links of new users.
func (r *Rules) Message(s *state.State, m pipeline.Message, createUsers bool, share link.Share) (pipeline.State, error) {
	switch {
	case m.Err != nil:
		return pipeline.Failed, m.Err
	case m.Ignored != nil:
		return pipeline.Ignored, nil
	case m.Key != "":
		if used, _ := s.EventKeys.Get(m.Key); used {
			return pipeline.Duplicate, nil
		}
	}
	var err error
	switch m.Type {
	case pipeline.Identify:
		if _, err = r.Identify(s, Identification{Update: m.User, Server: true, Share: share}); err == nil {
			r.keepKey(s, event.Call{Account: m.User.Account, User: m.User.ID, Key: m.Key})
		}
	case pipeline.Group:
		if _, err = r.SyncAccount(s, m.Account); err == nil {
			r.keepKey(s, event.Call{Account: m.Account.ID, Key: m.Key})
		}
	default:
		err = r.track(s, m, createUsers, share)
	}
	if err != nil {
		return pipeline.Failed, err
	}
	return pipeline.Processed, nil
}

// keepKey remembers the key of a message without events: the intake has all keys.
func (r *Rules) keepKey(s *state.State, c event.Call) {
	if c.Key == "" {
		return
	}
	s.EventKeys.Put(c.Key, true)
	c.Stamp(s.Now, r.Entropy6())
	s.Intake.Add(c)
}

func (r *Rules) track(s *state.State, m pipeline.Message, createUsers bool, share link.Share) error {
	who := referral.Identity{Account: m.User.Account, User: m.User.ID}
	if _, known := s.Users.Get(who); !known && createUsers {
		if _, err := r.Identify(s, Identification{Update: m.User, Server: true, Share: share}); err != nil {
			return err
		}
	}
	_, err := r.LogEvents(s, event.Call{Account: who.Account, User: who.User, Key: m.Key, Trusted: true, Events: []event.Event{ofOrder(s, m)}})
	return err
}

// ofOrder returns the event of a message. One that places an order, or takes it back, and
// does not say which one, has the id of the message: repeated, it counts once for as long as
// the order is kept, and not only for event.KeyLife.
func ofOrder(s *state.State, m pipeline.Message) event.Event {
	e, sent := m.Event, wire.OrderEvent(m.Event, nil)
	if m.ID == "" || strings.HasSuffix(m.ID, pipeline.Cut) {
		return e
	}
	for _, p := range s.Programs() {
		switch {
		case !p.Conversion.ByEvent():
		case e.Key == p.Conversion.Event && sent.OrderID == "":
			e.Fields = wire.WithField(m.Event.Fields, "order_id", m.ID)
		case e.Key == p.Conversion.Reversal && sent.OrderID != "" && sent.RefundID == "":
			e.Fields = wire.WithField(m.Event.Fields, "refund_id", m.ID)
		}
	}
	return e
}
