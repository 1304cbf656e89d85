package api

import (
	"kith/core/auth"
	"kith/core/event"
	"kith/core/wire"
)

func (a *API) eventRoutes() routes {
	return routes{userPath + "/events": {"POST": a.userAt(auth.TrackEvents, a.events)}}
}

// events handles POST of events of a user.
func (a *API) events(c *call) ([]byte, error) {
	in, err := decode(c, func(body []byte) (event.Call, error) { return wire.ParseEvents(c.account, c.user, body) })
	if err != nil {
		return nil, err
	}
	return encode(wire.Events)(a.Engine.Events.Log(c.Context(), c.caller, in))
}
