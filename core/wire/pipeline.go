package wire

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/event"
	"kith/core/link"
	"kith/core/pipeline"
	"kith/core/referral"
	"kith/core/reward"
)

// ParseMessages parses the body of a call of a customer-data pipeline: one message, an
// array of messages, or an object with such an array as batch. A message with an error
// has it in its field Err; the other messages are not affected.
//
// Unlike in other calls, unknown keys are allowed, and a value of a wrong form is left
// out if the message has an effect without it: the shop does not write these messages
// for this service, and the pipeline cannot correct them.
func ParseMessages(tenant core.TenantAlias, s pipeline.Settings, body []byte) ([]pipeline.Message, error) {
	if err := checkJSON(body, pipeline.MaxBody); err != nil {
		return nil, err
	}
	sent := gjson.ParseBytes(body)
	if batch := member(sent, "batch"); batch.IsArray() {
		sent = batch
	}
	switch {
	case sent.IsObject():
		return []pipeline.Message{pipelineMessage(tenant, s, 0, sent)}, nil
	case !sent.IsArray():
		return nil, core.Malformed("", "the body must be a message, an array of messages, or an object with such an array as batch")
	}
	var all []pipeline.Message
	sent.ForEach(func(_, v gjson.Result) bool {
		if len(all) < pipeline.MaxMessages+1 {
			all = append(all, pipelineMessage(tenant, s, len(all), v))
		}
		return len(all) <= pipeline.MaxMessages
	})
	switch {
	case len(all) > pipeline.MaxMessages:
		return nil, core.Invalid("batch", "must not have more than "+strconv.Itoa(pipeline.MaxMessages)+" messages; send the others in another call")
	case len(all) == 0:
		return nil, core.Invalid("batch", "must have at least one message")
	}
	return all, nil
}

// FirstMessage returns the first message of a body that is an array, as it was sent, and
// the number of messages; ok is false for other bodies.
func FirstMessage(body []byte) (first []byte, n int, ok bool) {
	if checkJSON(body, pipeline.MaxBody) != nil {
		return nil, 0, false
	}
	sent := gjson.ParseBytes(body)
	if !sent.IsArray() {
		return nil, 0, false
	}
	sent.ForEach(func(_, v gjson.Result) bool {
		if n++; n == 1 {
			first = []byte(v.Raw)
		}
		return true
	})
	return first, n, n > 0
}

// member returns a member of an object. A missing one and null have the type Null.
func member(of gjson.Result, names ...string) gjson.Result {
	for _, name := range names {
		var found gjson.Result
		if of.IsObject() {
			of.ForEach(func(key, value gjson.Result) bool {
				if key.String() == name {
					found = value
				}
				return !found.Exists()
			})
		}
		of = found
	}
	return of
}

// messageReader reads one message. Its errors are collected in m.
type messageReader struct {
	tenant   core.TenantAlias
	settings pipeline.Settings
	sent     gjson.Result
	m        pipeline.Message
}

func pipelineMessage(tenant core.TenantAlias, s pipeline.Settings, index int, sent gjson.Result) pipeline.Message {
	r := messageReader{tenant: tenant, settings: s, sent: sent, m: pipeline.Message{Index: index}}
	r.m.ID, r.m.Type = shown(scalar(member(sent, "messageId"))), pipeline.Type(shown(scalar(member(sent, "type"))))
	r.m.Key = core.KeyFromMessageID(scalar(member(sent, "messageId")))
	switch {
	case !sent.IsObject():
		r.refuse(core.Malformed("", "must be an object"))
	case r.m.Type == pipeline.Identify:
		r.identify()
	case r.m.Type == pipeline.Track:
		r.track()
	case r.m.Type == pipeline.Group:
		r.group()
	case r.m.Type == "":
		r.refuse(core.Invalid("type", "is required; give identify, track or group"))
	default:
		r.ignore("type", "only identify, track and group have an effect", "filter other types at the pipeline to save calls")
	}
	return r.m
}

// shown cuts a text for the answer.
func shown(s string) string {
	if len(s) > pipeline.MaxShown {
		return strings.ToValidUTF8(s[:pipeline.MaxShown], "") + pipeline.Cut
	}
	return s
}

// scalar returns a string, or a number as it was sent, as text; "" for other values.
// Ids of shops are often numbers.
func scalar(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.String()
	case gjson.Number:
		return v.Raw
	}
	return ""
}

func (r *messageReader) refuse(err error) {
	if r.m.Err == nil {
		r.m.Err = err
	}
}

func (r *messageReader) ignore(field, message, remedy string) {
	r.m.Ignored = &pipeline.Problem{Field: field, Message: message, Remedy: remedy}
}

// leave notes that a value has no effect.
func (r *messageReader) leave(err error) {
	r.m.Omitted = append(r.m.Omitted, MessageProblem(err))
}

// trait returns a trait of the message's user. RudderStack has the traits in context.
func (r *messageReader) trait(names ...string) gjson.Result {
	if v := member(r.sent, append([]string{"traits"}, names...)...); v.Type != gjson.Null {
		return v
	}
	return member(r.sent, append([]string{"context", "traits"}, names...)...)
}

// at returns the value at a path that begins at the message.
func (r *messageReader) at(path pipeline.Path) gjson.Result {
	names := path.Names()
	if names[0] == "traits" && len(names) > 1 {
		return r.trait(names[1:]...)
	}
	return member(r.sent, names...)
}

// who returns the ids of the message's user; ok is false if the message is refused or
// ignored because it has none.
func (r *messageReader) who() (account core.AccountID, user core.UserID, ok bool) {
	id := scalar(member(r.sent, "userId"))
	if id == "" && scalar(member(r.sent, "anonymousId")) != "" {
		r.ignore("userId", "is missing: an anonymousId alone names no user", "call identify with a userId at the source before or after this message")
		return "", "", false
	}
	user, err := core.ParseUserID("userId", id)
	if err != nil {
		r.refuse(err)
		return "", "", false
	}
	field, text := "userId", id
	for _, path := range r.settings.Account {
		if v := scalar(r.at(path)); v != "" {
			field, text = string(path), v
			break
		}
	}
	if account, err = core.ParseAccountID(field, text); err != nil {
		r.refuse(err)
		return "", "", false
	}
	return account, user, true
}

func (r *messageReader) identify() {
	account, user, ok := r.who()
	if ok {
		r.m.User = r.profile(account, user)
	}
}

// profile returns the update of a user with the traits of the message.
func (r *messageReader) profile(account core.AccountID, user core.UserID) referral.UserUpdate {
	u := referral.UserUpdate{Account: account, ID: user}
	first, last := r.first("firstName", "first_name"), r.first("lastName", "last_name")
	if name := r.first("name"); first.value == "" && last.value == "" && name.value != "" {
		first.field, last.field = name.field, name.field
		first.value, last.value = pipeline.SplitName(name.value)
	}
	r.set(&u.FirstName, first, anyText)
	r.set(&u.LastName, last, anyText)
	r.set(&u.Email, r.first("email"), parseEmail)
	r.set(&u.ImageURL, r.first("avatar"), referral.ParseImageURL)
	locale := r.first("locale")
	if locale.value == "" {
		locale = traitValue{"context.locale", scalar(member(r.sent, "context", "locale"))}
	}
	locale.value = strings.ReplaceAll(locale.value, "-", "_")
	r.set(&u.Locale, locale, ParseLocale)
	// Most sources have the name of the country here, which is no error.
	if country := scalar(r.trait("address", "country")); len(country) == 2 {
		r.set(&u.CountryCode, traitValue{"traits.address.country", strings.ToUpper(country)}, parseCountryCode)
	}
	r.custom(&u)
	for _, path := range r.settings.Code {
		if code := link.MeantCode(r.tenant, scalar(r.trait(path.Names()...))); code != "" {
			u.Claims = []referral.Claim{{Code: code, Source: referral.SourceInit}}
			break
		}
	}
	return u
}

// traitValue is a value of a trait, with its place.
type traitValue struct{ field, value string }

// first returns the first of several traits that has a value.
func (r *messageReader) first(names ...string) traitValue {
	for _, name := range names {
		if v := scalar(r.trait(name)); v != "" {
			return traitValue{"traits." + name, v}
		}
	}
	return traitValue{"traits." + names[0], ""}
}

// set sets a value of the user. A value of a wrong form is left out.
func (r *messageReader) set(into **string, v traitValue, parse func(field, s string) (string, error)) {
	if v.value == "" {
		return
	}
	if why := wrongText(v.value); why != "" {
		r.leave(core.Invalid(v.field, why))
		return
	}
	text, err := parse(v.field, v.value)
	if err != nil {
		r.leave(err)
		return
	}
	*into = &text
}

// custom adds the traits that the settings map to custom fields.
func (r *messageReader) custom(u *referral.UserUpdate) {
	for _, c := range r.settings.Custom {
		field, v := "traits."+string(c.From), r.trait(c.From.Names()...)
		switch {
		case v.Type == gjson.Null:
		case v.IsObject() || v.IsArray():
			r.leave(core.Invalid(field, "must not be an object or an array"))
		case v.Type == gjson.String && len(v.String()) > maxCustomFieldText:
			r.leave(core.Invalid(field, "must not be longer than "+strconv.Itoa(maxCustomFieldText)+" bytes"))
		default:
			u.CustomFields = append(u.CustomFields, referral.CustomField{Name: c.Name, Value: v.Raw})
		}
	}
}

func (r *messageReader) track() {
	name := core.Trim(scalar(member(r.sent, "event")))
	key, logged := r.settings.EventKey(name)
	switch {
	case name == "":
		r.refuse(core.Invalid("event", "is required: the name of the event"))
		return
	case !logged:
		r.ignore("event", "the settings ignore this event", "name it in events, or set otherEvents to log")
		return
	case len(key) > event.MaxKey || strings.IndexByte(key, 0) >= 0:
		r.refuse(core.Invalid("event", "must be at most "+strconv.Itoa(event.MaxKey)+" bytes without U+0000; map the name to a shorter key in events"))
		return
	}
	account, user, ok := r.who()
	if !ok {
		return
	}
	r.m.User = r.profile(account, user)
	r.m.Event = event.Event{Key: key, Triggered: r.triggered(), Fields: r.fields()}
}

// triggered returns when the event happened; zero if the message has no such time.
func (r *messageReader) triggered() core.Time {
	for _, name := range []string{"timestamp", "originalTimestamp"} {
		v := member(r.sent, name)
		if v.Type == gjson.Null {
			continue
		}
		if n, ok := wholeNumber(v.Raw); v.Type == gjson.Number && ok && n > 0 {
			if err := core.CheckMillis(name, n); err != nil {
				err.Message += "; the time of receipt is used"
				r.leave(err)
				return 0
			}
			return core.Time(n)
		}
		if at, ok := core.ParseDate(v.String()); v.Type == gjson.String && ok {
			return at
		}
		r.leave(core.Invalid(name, "must be a time such as 2026-03-01T09:00:00.000Z; the time of receipt is used"))
		return 0
	}
	return 0
}

// fields returns the fields of an event: the properties that are within the limits, and
// those that the settings map.
func (r *messageReader) fields() string {
	properties := member(r.sent, "properties")
	mapped := make([]string, len(r.settings.Fields))
	for i, f := range r.settings.Fields {
		mapped[i] = r.field(properties, f)
	}
	w := begin(nil)
	refused := refusedFields(properties)
	properties.ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		if i := slices.IndexFunc(r.settings.Fields, func(f pipeline.Field) bool { return f.Name == name }); i >= 0 && (mapped[i] != "" || isKnownField(name)) {
			return true
		}
		if err, is := refused[name]; is {
			if err != nil {
				r.leave(err)
				// A name that occurs twice is reported once.
				refused[name] = nil
			}
			return true
		}
		w.raw(name, value.Raw)
		return true
	})
	for i, f := range r.settings.Fields {
		if mapped[i] != "" {
			w.raw(f.Name, mapped[i])
		}
	}
	return string(w.end())
}

// WithField returns the fields of an event, a JSON object, with another one.
func WithField(fields, name, value string) string {
	w := writer{b: []byte(strings.TrimSuffix(fields, "}")), comma: fields != "{}"}
	w.text(name, value)
	return string(w.end())
}

// refusedFields returns the properties that an event may not have, with the reason.
func refusedFields(properties gjson.Result) map[string]error {
	if !properties.IsObject() {
		return nil
	}
	refused, seen := map[string]error{}, map[string]bool{}
	_ = parseChecked([]byte(properties.Raw), func(v *fastjson.Value) error {
		o, err := v.Object()
		if err != nil {
			return err
		}
		o.Visit(func(key []byte, v *fastjson.Value) {
			name := string(key)
			at := "properties." + shown(name)
			if seen[name] {
				refused[name] = core.Malformed(at, "occurs twice")
			} else if err := checkField(at, v, false); err != nil {
				refused[name] = err
			}
			seen[name] = true
		})
		return nil
	})
	return refused
}

// isKnownField reports whether a field of an event has a form of its own; see field.
func isKnownField(name string) bool {
	return slices.Contains([]string{"order_id", "revenue", "currency", "coupon", "referral_code"}, name)
}

// field returns a mapped field as JSON, or "" if the message has none. A number keeps
// its digits. A revenue or currency that cannot be read is kept as it was sent: without it,
// the event would have another meaning.
func (r *messageReader) field(properties gjson.Result, f pipeline.Field) string {
	var wrong error
	for _, path := range f.From {
		v := member(properties, path.Names()...)
		text := strings.TrimSpace(scalar(v))
		at := "properties." + string(path)
		if v.Type == gjson.Null || v.Type == gjson.String && text == "" {
			continue
		}
		json, err := fieldOf(f.Name, at, v, text)
		if err == nil {
			return json
		}
		if f.Name == "revenue" || f.Name == "currency" {
			r.leave(core.Invalid(at, MessageProblem(err).Message+"; it is stored as sent, and no share is earned or taken back by it"))
			if checkRaw(at, v.Raw) != nil {
				return ""
			}
			return v.Raw
		}
		// A coupon may be a referral code, and need not be one.
		if wrong == nil && !(f.Name == "referral_code" && path == "coupon") {
			wrong = err
		}
	}
	if wrong != nil {
		r.leave(wrong)
	}
	return ""
}

// fieldOf returns a value in the form of the field name; text is the value as text.
func fieldOf(name, at string, v gjson.Result, text string) (string, error) {
	switch {
	case !isKnownField(name):
		return v.Raw, checkRaw(at, v.Raw)
	case name == "revenue":
		if n := gjson.Parse(text); text == "" || n.Type != gjson.Number || !gjson.Valid(text) || len(text) > maxDecimal {
			return "", core.Invalid(at, "must be a number of at most "+strconv.Itoa(maxDecimal)+" characters, such as 80.50, without a currency sign")
		}
		return text, nil
	case name == "currency":
		code, err := reward.ParseCurrency(at, strings.ToUpper(text))
		return `"` + code + `"`, err
	case name == "referral_code":
		code, err := core.ParseReferralCode(at, core.Trim(text))
		return `"` + string(code) + `"`, err
	case text == "" || len(text) > event.MaxText:
		return "", core.Invalid(at, "must be a text or a number of at most "+strconv.Itoa(event.MaxText)+" bytes")
	}
	return string(appendString(nil, text)), nil
}

// checkRaw returns an error about a field of an event that is too long or nested too deep.
func checkRaw(at, raw string) error {
	return parseChecked([]byte(raw), func(v *fastjson.Value) error { return checkField(at, v, false) })
}

func (r *messageReader) group() {
	id, err := core.ParseAccountID("groupId", scalar(member(r.sent, "groupId")))
	if err != nil {
		r.refuse(err)
		return
	}
	switch {
	case len(r.settings.Account) == 0:
		r.ignore("groupId", "the settings take the account's id from the userId, so groups are no accounts", "set accountId to context.groupId")
		return
	case r.settings.StatusTrait == "":
		r.ignore("traits", "the settings map no trait to the status of an account", "set accountStatus")
		return
	}
	at := "traits." + string(r.settings.StatusTrait)
	value := scalar(member(r.sent, append([]string{"traits"}, r.settings.StatusTrait.Names()...)...))
	status, known := r.settings.Status(value)
	if !known {
		r.ignore(at, "has no value that the settings map to a status", "add the value to accountStatus.values")
		return
	}
	r.m.Account = referral.AccountUpdate{ID: id, Status: &status}
}

// MessageProblem returns an error of a message as a problem: what is after the first
// semicolon of its text is the remedy.
func MessageProblem(err error) pipeline.Problem {
	var e *core.Error
	if !errors.As(err, &e) {
		e, _, _ = Shown(err)
	}
	p := pipeline.Problem{Field: e.Field}
	var cut bool
	if p.Message, p.Remedy, cut = strings.Cut(e.Message, "; "); cut {
		return p
	}
	switch e.Code {
	case core.CodeForbidden, core.CodeNotSupported:
		p.Remedy = "filter such messages at the pipeline"
	case core.CodeConflict:
		p.Remedy = "nothing needs to be done"
	default:
		p.Remedy = "correct it at the source, and send the message again"
	}
	return p
}

// PipelineReport returns the answer to a call of a pipeline: how many messages there
// were, and each that was ignored or refused, or of which a value was left out.
func PipelineReport(all []pipeline.Result) []byte {
	var counts [pipeline.Failed + 1]int64
	for _, one := range all {
		counts[one.State]++
	}
	w := begin(nil)
	w.number("received", int64(len(all)))
	w.number("processed", counts[pipeline.Processed])
	w.number("duplicates", counts[pipeline.Duplicate])
	w.problems("ignored", all, func(one pipeline.Result, add func(pipeline.Problem, error)) {
		if one.State == pipeline.Ignored {
			add(*one.Ignored, nil)
		}
	})
	w.problems("omitted", all, func(one pipeline.Result, add func(pipeline.Problem, error)) {
		for _, p := range one.Omitted {
			if one.State == pipeline.Processed {
				add(p, nil)
			}
		}
	})
	w.problems("failed", all, func(one pipeline.Result, add func(pipeline.Problem, error)) {
		if one.State == pipeline.Failed {
			add(MessageProblem(one.Err), one.Err)
		}
	})
	return w.end()
}

// problems writes the problems that each message adds.
func (w *writer) problems(name string, all []pipeline.Result, each func(pipeline.Result, func(pipeline.Problem, error))) {
	w.key(name)
	w.b = append(w.b, '[')
	w.comma = false
	for _, one := range all {
		each(one, func(p pipeline.Problem, err error) {
			if w.comma {
				w.b = append(w.b, ',')
			}
			w.open()
			w.number("index", int64(one.Index))
			w.textOrNull("messageId", one.ID)
			w.textOrNull("type", string(one.Type))
			w.textOrNull("field", p.Field)
			w.text("message", p.Message)
			w.text("remedy", p.Remedy)
			if err != nil {
				_, _, word := Shown(err)
				w.text("apiErrorCode", word)
			}
			w.close()
		})
	}
	w.b = append(w.b, ']')
	w.comma = true
}

// pipelineKeys are the keys of the settings of a pipeline.
var pipelineKeys = []string{"createUsers", "accountId", "events", "otherEvents", "fields", "customFields", "referralCode", "accountStatus"}

// ParsePipelineSettings parses the settings of a pipeline. A key that is left out has its
// default.
func ParsePipelineSettings(body []byte) (pipeline.Settings, error) {
	s := pipeline.Default()
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		if v.Type() == fastjson.TypeNull && slices.Contains(pipelineKeys, key) {
			return true
		}
		switch key {
		case "createUsers":
			return take(r.boolean, &s.CreateUsers, key, v)
		case "accountId":
			return r.paths(&s.Account, key, v)
		case "referralCode":
			return r.paths(&s.Code, key, v)
		case "events":
			s.Events = nil
			return r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
				var to *string
				if r.text(&to, name, v); to != nil {
					s.Events = append(s.Events, pipeline.Name{Event: name, Key: *to})
				}
				return true
			})
		case "otherEvents":
			others := "log"
			if take(r.text, &others, key, v); others != "log" && others != "ignore" {
				return r.fail(core.Invalid(key, "must be log or ignore"))
			}
			s.IgnoreOthers = others == "ignore"
			return true
		case "fields":
			s.Fields = nil
			return r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
				f := pipeline.Field{Name: name}
				r.paths(&f.From, name, v)
				s.Fields = append(s.Fields, f)
				return true
			})
		case "customFields":
			s.Custom = nil
			return r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
				if name == "" || len(name) > maxCustomFieldName {
					return r.fail(core.Invalid(r.path(name), "must have a name of 1 to 64 bytes"))
				}
				c := pipeline.Custom{Name: name}
				setParsed(r, name, v, &c.From, pipeline.ParsePath)
				if c.From != "" {
					s.Custom = append(s.Custom, c)
				}
				return true
			})
		case "accountStatus":
			return r.nested(key, v, func(r *reader, key string, v *fastjson.Value) bool { return takeAccountStatus(&s, r, key, v) })
		}
		return false
	})
	if err == nil {
		err = s.Check()
	}
	return s, err
}

func takeAccountStatus(s *pipeline.Settings, r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "trait":
		return setParsed(r, key, v, &s.StatusTrait, pipeline.ParsePath)
	case "values":
		return r.nested(key, v, func(r *reader, name string, v *fastjson.Value) bool {
			var status referral.Status
			if setParsed(r, name, v, &status, referral.ParseStatus); status != "" {
				s.Statuses = append(s.Statuses, pipeline.StatusOf{Value: name, Status: status})
			}
			return true
		})
	}
	return false
}

// paths reads an array of paths.
func (r *reader) paths(into *[]pipeline.Path, key string, v *fastjson.Value) bool {
	*into = nil
	return parsedItems(r, key, v, pipeline.MaxPaths, into, pipeline.ParsePath)
}

// PipelineSettings returns the settings of a pipeline as JSON, in the form that
// ParsePipelineSettings parses.
func PipelineSettings(s pipeline.Settings) []byte {
	w := begin(nil)
	w.boolean("createUsers", s.CreateUsers)
	w.paths("accountId", s.Account)
	w.object("events", func() {
		for _, n := range s.Events {
			w.text(n.Event, n.Key)
		}
	})
	others := "log"
	if s.IgnoreOthers {
		others = "ignore"
	}
	w.text("otherEvents", others)
	w.object("fields", func() {
		for _, f := range s.Fields {
			w.paths(f.Name, f.From)
		}
	})
	w.object("customFields", func() {
		for _, c := range s.Custom {
			w.text(c.Name, string(c.From))
		}
	})
	w.paths("referralCode", s.Code)
	w.objectOrNull("accountStatus", s.StatusTrait != "", func() {
		w.text("trait", string(s.StatusTrait))
		w.object("values", func() {
			for _, of := range s.Statuses {
				w.text(of.Value, string(of.Status))
			}
		})
	})
	return w.end()
}

func (w *writer) paths(name string, paths []pipeline.Path) {
	w.list(name, len(paths), func(b []byte, i int) []byte { return appendString(b, string(paths[i])) })
}

// PipelineSecret returns a new secret of a pipeline as JSON. The one before stays valid
// until then; zero means that there is none.
func PipelineSecret(secret string, until core.Time) []byte {
	w := begin(nil)
	w.text("secret", secret)
	w.date("datePreviousExpires", until)
	return w.end()
}
