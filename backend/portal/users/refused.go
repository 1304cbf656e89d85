package users

import (
	"encoding/json"
	"net/http"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/event"
)

// refusedData is the data of the page of refused events.
type refusedData struct {
	Refused []event.Refused
	Total   int
	frame.Links
}

func refusedPage(v *frame.Visit) (err error) {
	before := 0
	if text := v.R.URL.Query().Get("after"); text != "" {
		if before, err = strconv.Atoi(text); err != nil || before < 0 || before > event.MostRefused {
			return core.Invalid("after", "is not a page of this list; begin at the first page")
		}
	}
	var data refusedData
	data.Refused, data.Total, err = v.Engine.Events.Refused(v.Ctx(), v.Caller.Tenant, base.Page{Limit: pageSize, Offset: before})
	if err != nil {
		return err
	}
	next := before + len(data.Refused)
	if next >= data.Total {
		next = 0
	}
	data.Links = frame.LinksOf(v, "after", next, before == 0)
	return v.Page(http.StatusOK, "refused", "Refused events", data)
}

// refusedEvent is an event of a refused call.
type refusedEvent struct {
	Key    string          `json:"key"`
	Object json.RawMessage `json:"fields"`
}

// Fields returns the fields of an event by name.
func (e refusedEvent) Fields() []field { return fieldsOf(string(e.Object)) }

// refusedEvents returns the events of a refused call that were kept.
func refusedEvents(r event.Refused) (all []refusedEvent) {
	if json.Unmarshal([]byte(r.Events), &all) != nil {
		return nil // Kith itself writes no such list
	}
	return all
}
