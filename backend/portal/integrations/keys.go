package integrations

import (
	"cmp"
	"strconv"
	"strings"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/auth"
	"kith/core/operation"
)

// keyList is the data of the page of the API keys.
type keyList struct {
	*frame.Form
	Keys  []shownKey
	Roles []frame.Option
	// May is true if the caller may create and revoke keys.
	May bool
	// Secret is a secret that was just made, for the key New. Rotated is true if it
	// replaces another one, which is valid until Until.
	Secret, New string
	Rotated     bool
	Until       core.Time
	// Zone is the zone of the day on which a new key expires.
	Zone string
}

// shownKey is a key with the secret that it replaced, if that is still valid.
type shownKey struct {
	auth.APIKey
	Old     *auth.APIKey
	Expired bool
}

// newKeyForm is the form that creates a key.
var newKeyForm = map[string]string{"name": "The name", "role": "The role", "dateExpires": "The last day", "password": "Your password"}

func keysPage(v *frame.Visit, f *frame.Form) error { return showKeys(v, keyList{Form: f}) }

// readKeys returns the keys with the secrets that they replaced.
func readKeys(v *frame.Visit) (shown []shownKey, err error) {
	all, err := v.Engine.APIKeys.List(v.Ctx(), v.Caller.Tenant)
	for _, k := range all {
		if k.Replaced == 0 {
			shown = append(shown, shownKey{APIKey: k, Expired: !k.Valid(v.Engine.Now())})
		}
	}
	for _, old := range all {
		for i := range shown {
			if old.Replaced != 0 && shown[i].Name == old.Name {
				shown[i].Old = &old
			}
		}
	}
	return shown, err
}

func showKeys(v *frame.Visit, data keyList) (err error) {
	if data.Keys, err = readKeys(v); err != nil {
		return err
	}
	data.May = v.May(operation.CreateKey)
	for _, role := range auth.Roles() {
		data.Roles = append(data.Roles, frame.Option{Value: string(role), Label: string(role), Hint: keyRoleText(role)})
	}
	frame.Choose(data.Roles, cmp.Or(data.Value("role"), string(auth.RoleEvents)))
	return v.Page(data.Status(), "keys", "API keys", data)
}

// createKey creates a key and shows its secret, once.
func createKey(v *frame.Visit) error {
	f := v.NewForm()
	var k auth.APIKey
	var secret string
	role, err := auth.ParseRole("role", f.Value("role"))
	if err == nil {
		var expires core.Time
		if expires, err = lastDay(f); err == nil {
			err = frame.Confirmed(v, f, "password", func() (err error) {
				k, secret, err = v.Engine.Admin.APIKeys.Create(v.Ctx(), v.Caller, strings.TrimSpace(f.Value("name")), role, expires)
				return err
			})
		}
	}
	if err != nil {
		return f.Again(v, err, newKeyForm, keysPage)
	}
	return showKeys(v, keyList{Form: &frame.Form{}, Secret: secret, New: k.Name})
}

// lastDay returns the last moment of the last day on which a key is valid, which people read as
// that day; zero if the form has none.
func lastDay(f *frame.Form) (core.Time, error) {
	span, err := frame.Days("", f.Value("dateExpires"), frame.Zone(f.Value("zone")))
	if err != nil {
		return 0, core.Invalid("dateExpires", "is not a day; give one like 2026-01-31, or leave it empty")
	}
	return max(0, span.Before-1), nil
}

// keyForm is the data of the page of a key.
type keyForm struct {
	*frame.Form
	Key      shownKey
	May      bool
	Overlaps []frame.Option
}

func showKey(v *frame.Visit, f *frame.Form) error {
	all, err := readKeys(v)
	if err != nil {
		return err
	}
	for _, k := range all {
		if k.Name == v.R.PathValue("name") {
			data := keyForm{Form: f, Key: k, May: v.May(operation.RotateKey), Overlaps: overlaps(f.Value("overlap"))}
			return v.Page(f.Status(), "key", k.Name, data)
		}
	}
	return core.NotFound("There is no API key with this name. It may have been revoked.")
}

// overlaps returns how long a replaced secret may stay valid, as options.
func overlaps(chosen string) []frame.Option {
	return frame.OptionsOf(cmp.Or(chosen, "24"), "0", "Not at all: refuse it at once", "1", "1 hour", "24", "1 day", "168", "7 days", "720", "30 days")
}

// overlap returns how long a replaced secret stays valid, by the field overlap.
func overlap(f *frame.Form) (core.Time, error) {
	hours, err := strconv.ParseInt(f.Value("overlap"), 10, 64)
	if err != nil || hours < 0 || core.Time(hours) > auth.MaxOverlap/core.Hour {
		return 0, core.Invalid("overlap", "must be 0 to 720 hours (30 days)")
	}
	return core.Time(hours) * core.Hour, nil
}

var overlapForm = map[string]string{"overlap": "The time for which the old secret stays valid", "password": "Your password"}

// rotateKey gives a key another secret and shows it, once.
func rotateKey(v *frame.Visit) error {
	f := v.NewForm()
	var k auth.APIKey
	var secret string
	old, err := overlap(f)
	if err == nil {
		err = frame.Confirmed(v, f, "password", func() (err error) {
			k, secret, err = v.Engine.Admin.APIKeys.Rotate(v.Ctx(), v.Caller, v.R.PathValue("name"), old)
			return err
		})
	}
	if err != nil {
		return f.Again(v, err, overlapForm, showKey)
	}
	data := keyList{Form: &frame.Form{}, Secret: secret, New: k.Name, Rotated: true}
	if old != 0 {
		data.Until = v.Engine.Now() + old
	}
	return showKeys(v, data)
}

func revokeKey(v *frame.Visit) error {
	f := v.NewForm()
	err := v.Engine.Admin.APIKeys.Revoke(v.Ctx(), v.Caller, v.R.PathValue("name"), false)
	if err == nil {
		return v.Done(path(v, "/keys"), "key-revoked")
	}
	return f.Again(v, err, nil, showKey)
}
