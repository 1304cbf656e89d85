package programs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kith/backend/app/widgets"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
	"kith/core/widget"
	"kith/core/wire"
)

// trial is the data of the page on which a person tries an event.
type trial struct {
	*frame.Form
	head
	Tried    bool
	Counts   bool
	Converts bool
	Steps    []conversion.Step
}

var trialLabels = map[string]string{
	"event": "The event", "revenue": "The amount", "currency": "The currency", "fields": "The other fields", "days": "The days since the referral", "orders": "The earlier orders",
	"conversions": "The earlier conversions", "rewards": "The earlier rewards", "accountId": "The account",
}

// tryPage shows what an event would cause. The event is in the URL; nothing is stored.
func tryPage(v *frame.Visit, h head) error {
	d := trial{Form: v.NewForm(), head: h}
	if !v.R.URL.Query().Has("event") {
		d.Form = frame.FormOf(map[string][]string{"event": {h.Program.Conversion.Event}, "revenue": {"80.00"}, "currency": {currencyOf(h.Program)}, "days": {"1"}})
		return v.Page(http.StatusOK, "try", "Try an event: "+h.Program.Name, d)
	}
	t, err := trialOf(d.Form, v.Engine.Now())
	var decision conversion.Decision
	if err == nil {
		decision, d.Steps, err = v.Engine.Orders.Try(v.Ctx(), v.Caller.Tenant, h.Program.Key, t)
	}
	if err != nil {
		if !d.Refuse(err, trialLabels) {
			return err
		}
	} else {
		d.Tried, d.Counts, d.Converts = true, decision.Counts(), decision.Number == 1
	}
	return v.Page(d.Status(), "try", "Try an event: "+h.Program.Name, d)
}

// currencyOf returns the currency of a program's rewards.
func currencyOf(p referral.Program) string {
	for _, side := range sideKeys {
		if c := p.Offer(side).Currency; c != "" {
			return c
		}
	}
	return referral.DefaultCurrency
}

// trialOf reads the event of the form as the API reads it.
func trialOf(f *frame.Form, now core.Time) (t wire.Trial, err error) {
	value := func(name string) string { return strings.TrimSpace(f.Value(name)) }
	if value("event") == "" {
		return t, core.Invalid("event", "must not be empty; give a key such as purchase")
	}
	fields := object{}
	for i, line := range strings.Split(value("fields"), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, is, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return t, core.Invalid("fields", fmt.Sprintf("must have a name, = and a value in each line, as in plan = pro; line %d has not", i+1))
		}
		fields[strings.TrimSpace(name)] = scalar(strings.TrimSpace(is))
	}
	if revenue := reward.WithPoint(value("revenue")); revenue != "" {
		if _, ok := conversion.ParseDecimal(revenue); !ok {
			return t, core.Invalid("revenue", "must be a number such as 80.00, without a currency or separators of thousands")
		}
		fields["revenue"] = number(revenue)
	}
	if currency := value("currency"); currency != "" {
		fields["currency"] = strings.ToUpper(currency)
	}
	body := object{"event": object{"key": value("event"), "fields": fields}}
	if account := value("accountId"); account != "" {
		body["accountId"] = account
	} else if err := assumed(body, f, now); err != nil {
		return t, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return t, err
	}
	t, err = wire.ParseTrial(text)
	return t, trialError(err)
}

// assumed adds what happened before the event.
func assumed(body object, f *frame.Form, now core.Time) error {
	for _, name := range []string{"days", "orders", "conversions", "rewards"} {
		s := strings.TrimSpace(f.Value(name))
		if s == "" {
			continue
		}
		n, err := strconv.ParseUint(s, 10, 20)
		if err != nil || name == "days" && n > 36500 {
			return core.Invalid(name, "must be a whole number such as 3")
		}
		if name == "days" {
			body["dateAttributed"] = int64(now) - int64(n)*int64(core.Day)
		} else {
			body[name] = n
		}
	}
	if f.Value("earlierEvent") != "" {
		body["earlierEvent"] = true
	}
	return nil
}

// trialError returns an error about a part of the event as one about its field.
func trialError(err error) error {
	known, ok := inForm(err).(*core.Error)
	if !ok {
		return err
	}
	switch {
	case strings.HasPrefix(known.Field, "event.fields"):
		known.Field = "fields"
	case strings.HasPrefix(known.Field, "event"):
		known.Field = "event"
	}
	return known
}

// scalar returns a value as JSON: a number, true or false as such, and else a text.
func scalar(s string) any {
	if _, ok := conversion.ParseDecimal(s); ok {
		return number(s)
	}
	if s == "true" || s == "false" {
		return s == "true"
	}
	return s
}

// history is the data of the page of versions.
type history struct {
	head
	Versions []version
}

type version struct {
	wire.ProgramVersion
	Changes []frame.Change
	// First is true for the oldest version that is known.
	First bool
}

// Groups returns what the version did.
func (v version) Groups() []group { return groupsOf(v.Program.Describe()) }

func historyPage(v *frame.Visit, h head) error {
	all, err := v.Engine.Admin.Programs.Versions(v.Ctx(), v.Caller, h.Program.Key)
	if err != nil {
		return err
	}
	d := history{head: h}
	for i, one := range all {
		shown := version{ProgramVersion: one, First: i == len(all)-1}
		if !shown.First {
			shown.Changes = changesOf(lastingValues(all[i+1].Program), lastingValues(one.Program))
		}
		d.Versions = append(d.Versions, shown)
	}
	return v.Page(http.StatusOK, "history", "History: "+h.Program.Name, d)
}

// lastingValues is valuesOf without the money-back window where it means nothing: former
// versions do not have it.
func lastingValues(p referral.Program) url.Values {
	v := valuesOf(p)
	if p.Conversion.ByEvent() {
		v.Del("rewards.moneyBackDuration")
	}
	return v
}

// Changes returns the fields of the form that differ between two programs as wire.Program
// writes them. before is empty for a new program. It is false if one cannot be read.
func Changes(before, after string) ([]frame.Change, bool) {
	was, err := storedValues(before)
	is, errAfter := storedValues(after)
	return changesOf(was, is), err == nil && errAfter == nil
}

// storedValues returns the values of the form for a program as wire.Program writes it; an
// empty text has none.
func storedValues(program string) (url.Values, error) {
	if program == "" {
		return nil, nil
	}
	p, _, err := wire.ReadStoredProgram([]byte(program))
	return lastingValues(p), err
}

// changesOf returns the fields of the form whose values differ.
func changesOf(before, after url.Values) (all []frame.Change) {
	names := url.Values{}
	maps.Copy(names, before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if strings.HasSuffix(name, suffixUnit) && name != "rewards.referrer.unit" && name != "rewards.referred.unit" || name == fieldModified {
			continue
		}
		c := frame.Change{Was: shown(name, before), Is: shown(name, after)}
		if c.Was == c.Is {
			continue
		}
		t, _ := fieldAt(name)
		if c.Label = t.label; strings.Contains(name, ".tiers[") {
			i, _ := strconv.Atoi(strings.TrimLeft(name[strings.Index(name, "[")+1:strings.Index(name, "]")], " ")) // valuesOf wrote it
			c.Label += " (step " + strconv.Itoa(i+1) + ")"
		}
		all = append(all, c)
	}
	return all
}

// shown returns the value of a field as people read it in the form.
func shown(name string, v url.Values) string {
	value, unit := v.Get(name), v.Get(name+suffixUnit)
	for _, o := range choices(name, value) {
		if o.Value == value && value != "" {
			return o.Label
		}
	}
	if value == "" || unit == "" {
		return strings.ReplaceAll(value, "\n", ", ")
	}
	return value + " " + unit
}

// choices returns the options of a field with some.
func choices(name, chosen string) []frame.Option {
	switch {
	case name == fieldWhen:
		return whenOptions(chosen)
	case strings.HasSuffix(name, ".type"):
		return typeOptions(chosen)
	case strings.HasSuffix(name, suffixWhich):
		return whichOptions(chosen)
	case name == "conversion.firstEvent":
		return frame.OptionsOf(chosen, "true", "yes")
	}
	e, _ := newEntry(frame.FormOf(url.Values{name: {chosen}}), name)
	return e.Options
}

// widgetView is the data of the page with the widget.
type widgetView struct {
	head
	Languages, Kinds, Themes []frame.Option
	// Source is the path of the document in the frame.
	Source, Language string
}

// preview reads which widget the query asks for.
func previewOf(v *frame.Visit, key core.ProgramKey) widgets.Preview {
	p := widgets.Preview{Type: widget.Type{Program: key, Key: widget.Referrer}, Language: text.Languages[0]}
	if v.R.FormValue("kind") == "friend" {
		p.Type.Key = widget.Conversion
	}
	if theme := v.R.FormValue("theme"); theme == "light" || theme == "dark" {
		p.Theme = theme
	}
	for _, tag := range text.Languages {
		if string(tag) == v.R.FormValue("language") {
			p.Language = tag
		}
	}
	return p
}

func widgetPage(v *frame.Visit, h head) error {
	p := previewOf(v, h.Program.Key)
	kind := "user"
	if p.Type.Key == widget.Conversion {
		kind = "friend"
	}
	d := widgetView{
		head: h, Language: languageName(string(p.Language)), Kinds: frame.OptionsOf(kind, "user", "For a user who shares", "friend", "For a friend who was referred"),
		Themes: frame.OptionsOf(p.Theme, "", "As the widget is set", "light", "Light", "dark", "Dark"), Source: h.Path + "/widget/frame?language=" + string(p.Language) + "&kind=" + kind + "&theme=" + p.Theme,
	}
	for _, tag := range text.Languages {
		d.Languages = append(d.Languages, frame.Option{Value: string(tag), Label: languageName(string(tag)), Chosen: tag == p.Language})
	}
	frame.ShowFrames(v)
	return v.Page(http.StatusOK, "widget", "Widget: "+h.Program.Name, d)
}

// widgetFrame writes the widget itself, as users get it.
func widgetFrame(v *frame.Visit, h head) error {
	html, err := v.Engine.Widgets.Preview(v.Ctx(), v.Caller.Tenant, previewOf(v, h.Program.Key))
	if err != nil {
		return err
	}
	return frame.WriteFrame(v, html)
}

// codes is the data of the page of fuel tanks.
type codes struct {
	*frame.Form
	head
	Tanks []tank
	Most  int
}

type tank struct {
	reward.Tank
	Side  referral.SideKey
	Title string
	// Low is true if the codes will soon be used up.
	Low bool
}

func codesPage(v *frame.Visit) error { return showCodes(v, frame.FormOf(nil)) }

func showCodes(v *frame.Visit, f *frame.Form) error {
	h, err := program(v, "codes")
	if err != nil {
		return err
	}
	d := codes{Form: f, head: h, Most: reward.MaxTankCodes}
	for _, side := range sideKeys {
		if h.Program.Offer(side).Kind != reward.FuelTank {
			continue
		}
		level, err := v.Engine.FuelTanks.Level(v.Ctx(), v.Caller.Tenant, h.Program.Key, side)
		if err != nil {
			return err
		}
		d.Tanks = append(d.Tanks, tank{level, side, map[referral.SideKey]string{referral.ReferrerSide: "Codes for referrers", referral.ReferredSide: "Codes for friends"}[side], level.Low()})
	}
	return v.Page(f.Status(), "codes", "Coupon codes: "+h.Program.Name, d)
}

// fill adds codes, from the text area and from a file, to a fuel tank.
func fill(v *frame.Visit, h head) error {
	side, err := referral.ParseSideKey("side", v.R.PathValue("side"))
	if err != nil {
		return unknown()
	}
	field := string(side) + ".codes"
	entered, file, err := codesIn(v, field)
	f := frame.FormOf(map[string][]string{field: {entered}})
	var all []string
	if err == nil {
		all, err = parseCodes(field, entered+"\n"+file)
	}
	if err == nil {
		_, err = v.Engine.Admin.Programs.Fill(v.Ctx(), v.Caller, h.Program.Key, side, all)
	}
	if err == nil {
		return v.Done(h.Path+"/codes", "codes-added")
	}
	for _, one := range frame.Split(err) {
		if known, ok := one.(*core.Error); ok && known.Field == "codes" {
			known.Field = field
		}
	}
	return f.Again(v, err, map[string]string{field: "The codes:"}, showCodes)
}

// maxCodesText is the most bytes of a text with codes.
const maxCodesText = 512 << 10

// codesIn reads the form of a fuel tank: the text area, and the content of the file.
func codesIn(v *frame.Visit, field string) (entered, file string, err error) {
	for {
		part, err := v.NextPart()
		var refused *core.Error
		if errors.As(err, &refused) && refused.Field == "file" {
			return entered, file, nil // after the last part
		}
		if err != nil {
			return entered, file, err
		}
		content, err := io.ReadAll(io.LimitReader(part, maxCodesText+1))
		if err != nil {
			return entered, file, &core.Error{Code: core.CodeMalformed, Message: "The codes did not arrive completely. Send them again.", Err: err}
		}
		if len(content) > maxCodesText {
			return entered, file, core.Invalid(field, "are larger than 512 kB; upload them in several parts")
		}
		switch {
		case part.FileName() != "":
			file = strings.TrimPrefix(string(content), "\ufeff")
		case part.FormName() == field:
			entered = string(content)
		}
	}
}

// maxProblems is the most lines whose errors are shown at once.
const maxProblems = 10

// parseCodes returns the codes in a text: one in each line, the first cell of a line with
// several. The errors name the lines.
func parseCodes(field, entered string) (all []string, err error) {
	problems := core.Error{Code: core.CodeInvalid, Field: field}
	wrong := 0
	for i, line := range strings.Split(entered, "\n") {
		code, _, _ := strings.Cut(strings.TrimSpace(line), ",")
		code = strings.Trim(strings.TrimSpace(code), `"`)
		if code == "" {
			continue
		}
		if _, err := reward.ParseTankCode(field, code); err != nil {
			if wrong++; wrong <= maxProblems {
				problems.Message += fmt.Sprintf("line %d must be 1 to 200 bytes without blanks: %q. ", i+1, code[:min(len(code), 40)])
			}
			continue
		}
		all = append(all, code)
	}
	switch {
	case wrong > maxProblems:
		problems.Message += fmt.Sprintf("%d more lines are wrong. No code was added", wrong-maxProblems)
		return nil, &problems
	case wrong > 0:
		problems.Message += "No code was added"
		return nil, &problems
	case len(all) == 0:
		return nil, core.Invalid(field, "enter at least one, or choose a file")
	case len(all) > reward.MaxTankCodes:
		return nil, core.Invalid(field, fmt.Sprintf("%d are more than %d; upload them in several parts", len(all), reward.MaxTankCodes))
	}
	return all, nil
}
