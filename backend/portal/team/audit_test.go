package team

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/frame"
	"kith/core/operation"
	"kith/core/people"
)

// A change is shown by its values in words. Values that stayed are left out.
func TestChanges(t *testing.T) {
	of := changes(func(_, after string) ([]frame.Change, bool) {
		return []frame.Change{{Label: "Name", Is: "new"}}, after == "{}"
	})
	for name, c := range map[string]struct {
		entry people.Entry
		want  []frame.Change
	}{
		"program":                   {people.Entry{Action: operation.ChangeProgram.Action, Before: "{}", After: "{}"}, []frame.Change{{Label: "Name", Is: "new"}}},
		"program that is too large": {people.Entry{Action: operation.ChangeProgram.Action, After: `{"omittedBytes":20000}`}, []frame.Change{{Label: "Omitted bytes", Is: "20000"}}},
		"values": {
			people.Entry{Action: operation.ChangeTenant.Action, Before: `{"secondStep":false,"a":{"b":1},"same":"x","none":null}`, After: `{"secondStep":true,"a":{"b":2},"same":"x","eventTypes":["one","two"],"dateExpires":1700000000000}`},
			[]frame.Change{
				{Label: "A, b", Was: "1", Is: "2"}, {Label: "Date expires", Is: "14 Nov 2023, 22:13 UTC"}, {Label: "Event types", Is: "one, two"}, {Label: "Second step", Was: "no", Is: "yes"},
			},
		},
		"nothing": {people.Entry{Action: operation.SignIn.Action}, nil},
	} {
		require.Equal(t, c.want, of(c.entry), name)
	}
}
