package programs

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
)

// What a field is.
const (
	kindText     = "text"
	kindNumber   = "number"   // a whole number
	kindDecimal  = "decimal"  // a percentage or an amount
	kindDuration = "duration" // a number with a unit
	kindLines    = "lines"    // several lines
	kindCheck    = "check"
	kindSelect   = "select"
)

// fieldText describes a field: an error of the field is the label with the message.
type fieldText struct{ kind, label, hint string }

// settingText describes the field of a setting.
func settingText(s referral.Setting) fieldText {
	t := fieldText{kindText, s.Label, s.Hint}
	switch s.At(&referral.Program{}).(type) {
	case *bool:
		t.kind = kindCheck
	case *int64:
		t.kind = kindNumber
	case *reward.BasisPoints:
		t.kind = kindDecimal
	case *core.Time:
		t.kind = kindDuration
	case *[]string, *[]conversion.Condition:
		t.kind = kindLines
	case *referral.Handling:
		t.kind = kindSelect
	}
	return t
}

// fieldTexts has the fields of the form, without those of settings, sides, tiers and languages.
var fieldTexts = map[string]fieldText{
	"id":                        {kindText, "Key", "Identifies the program in share links and in the API, and never changes: letters, digits and hyphens. Leave it empty to make one from the name."},
	"name":                      {kindText, "Name", "People see it in widgets and invitations."},
	"rewards.moneyBackDuration": {kindDuration, "Money-back window", "If all of the first payment is refunded within it, both sides lose the reward. 0: never."},
	fieldWhen:                   {"", "When a referral counts", ""},
	fieldModified:               {"", "The program", ""},
	fieldsNew.tag:               {kindText, "Language", "A language such as nl or pt-BR."},
	fieldsNew.subject:           {kindText, "Subject", ""},
	fieldsNew.message:           {kindLines, "Message", ""},
}

// sideTexts has the fields of a side.
var sideTexts = map[string]fieldText{
	"type":                 {"", "Reward", ""},
	"percentOfRevenue":     {kindDecimal, "Share of the order in percent", "Of what the friend pays, in the currency of the order: the field revenue of the event."},
	"minimum":              {kindDecimal, "At least", "Raises smaller rewards to this amount. Empty: no minimum."},
	"maximum":              {kindDecimal, "At most", "Reduces larger rewards to this amount. Empty: no maximum."},
	"discountPercent":      {kindDecimal, "Discount in percent", "Off the price of a subscription."},
	"credit":               {kindDecimal, "Credit", "An amount such as 10.00, or a whole number in a unit of your own."},
	"fuelTankType":         {kindSelect, "A code is worth", ""},
	"amount":               {kindDecimal, "Worth of a code", "In percent or an amount such as 10.00, as your shop has set up the codes."},
	"valueInCents":         {kindDecimal, "Worth of the gift", "An amount such as 10.00."},
	"currency":             {kindText, "Currency", "Three letters such as EUR. Empty: USD."},
	"unit":                 {kindText, "Unit", "Empty for money, or a unit of your own such as POINT or MONTH."},
	"name":                 {kindText, "Name of the reward", "People see it in place of the value. Empty: the value."},
	"description":          {kindText, "Description", "For people, in widgets of your own."},
	"integrationSettings":  {kindLines, "Settings of the delivery", `For the service that delivers the gift: a JSON object such as {"giftCard": "A1"}.`},
	"scheduleDuration":     {kindDuration, "Return window", "How long the reward is pending after the order, such as the time in which orders may be returned. Empty: none."},
	"expiryDuration":       {kindDuration, "Validity", "How long the reward can be used after it was given. Empty: without limit."},
	"orders":               {kindNumber, "Number of orders", ""},
	"orders" + suffixWhich: {"", "Orders that earn it", ""},
	"months":               {kindNumber, "Months", "Orders later than so many months after the first one earn nothing. Empty: no limit."},
}

// sideNames begin the labels of the fields of a side in errors.
var sideNames = map[referral.SideKey]string{referral.ReferrerSide: "Referrer: ", referral.ReferredSide: "Friend: "}

// fieldAt returns the description of a field by its name.
func fieldAt(name string) (fieldText, bool) {
	if t, ok := fieldTexts[name]; ok {
		return t, true
	}
	for _, s := range referral.Settings() {
		if s.Path == name {
			return settingText(s), true
		}
	}
	if rest, ok := strings.CutPrefix(name, "fraud.signals."); ok {
		return fieldText{kindSelect, upper(referral.Signal(rest).Words()), ""}, true
	}
	if rest, ok := strings.CutPrefix(name, "invitations."); ok {
		tag, field, _ := strings.Cut(rest, ".")
		if field == "subject" {
			return fieldText{kindText, languageName(tag) + ": Subject", ""}, true
		}
		return fieldText{kindLines, languageName(tag) + ": Message", ""}, true
	}
	side, field, _ := strings.Cut(strings.TrimPrefix(name, "rewards."), ".")
	t, ok := sideTexts[field]
	switch {
	case strings.HasSuffix(field, "].from"):
		t, ok = fieldText{kindNumber, "From conversion", ""}, true
	case strings.HasSuffix(field, "].value"):
		t, ok = fieldText{kindDecimal, "Value", ""}, true
	}
	t.label = sideNames[referral.SideKey(side)] + t.label
	return t, ok
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// languageName returns the English name of a language of the service, or the tag.
func languageName(tag string) string {
	return cmp.Or(map[string]string{"en": "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "ar": "Arabic"}[tag], tag)
}

// labelsOf returns the labels of the fields that errors are about, for frame.Form.Refuse.
func labelsOf(err error) map[string]string {
	labels := map[string]string{}
	for _, one := range frame.Split(err) {
		var known *core.Error
		if errors.As(one, &known) {
			if t, ok := fieldAt(known.Field); ok {
				labels[known.Field] = t.label
			}
		}
	}
	return labels
}

var (
	tierValue = regexp.MustCompile(`^(rewards\.[a-z]+\.tiers\[[0-9]+\])\.(credit|valueInCents|discountPercent|percentOfRevenue)$`)
	element   = regexp.MustCompile(`^(sharing\.allowedHosts|conversion\.conditions)\[([0-9]+)\]$`)
)

// inForm returns an error about a setting of the API as an error about a field of the form,
// in its words.
func inForm(err error) error {
	var known *core.Error
	if !errors.As(err, &known) || known.Code != core.CodeInvalid && known.Code != core.CodeMalformed || known.Field == "" {
		return err
	}
	out := core.Invalid(known.Field, known.ForForm())
	if at := tierValue.FindStringSubmatch(known.Field); at != nil {
		out.Field = at[1] + ".value"
	}
	if at := element.FindStringSubmatch(known.Field); at != nil {
		n, _ := strconv.Atoi(at[2])
		out.Field, out.Message = at[1], "line "+strconv.Itoa(n+1)+" "+out.Message
	}
	if _, ok := fieldAt(out.Field); !ok && strings.HasPrefix(out.Field, "invitations") {
		out.Field = fieldsNew.tag
	}
	return out
}

// entry is a field of the form as templates show it.
type entry struct {
	fieldText
	Name, Value, Problem string
	Options              []frame.Option
	// Lang is the language of the text, or empty.
	Lang string
	// Wide is true if the field has a line of its own.
	Wide bool
}

// Dir is the direction of the text, or empty.
func (e entry) Dir() string {
	if e.Lang == "" {
		return ""
	}
	return text.Tag(e.Lang).Direction()
}

func (e entry) Kind() string  { return e.kind }
func (e entry) Label() string { return e.label }
func (e entry) Hint() string  { return e.hint }

// Unit is the name of the field with the unit of a duration.
func (e entry) Unit() string { return e.Name + suffixUnit }

// newEntry returns a field of a form. A side's fields have the label without the side.
func newEntry(f *frame.Form, name string) (entry, error) {
	t, ok := fieldAt(name)
	if !ok {
		return entry{}, errors.New("portal: the form of a program has no field " + name)
	}
	for _, side := range sideNames {
		t.label = strings.TrimPrefix(t.label, side)
	}
	e := entry{Name: name, Value: f.Value(name), Problem: f.Problem(name)}
	if rest, ok := strings.CutPrefix(name, "invitations."); ok {
		tag, field, _ := strings.Cut(rest, ".")
		t.label, e.Lang = upper(field), tag
	}
	e.fieldText = t
	switch {
	case t.kind == kindDuration:
		chosen := f.Value(name + suffixUnit)
		for _, u := range units {
			e.Options = append(e.Options, frame.Option{Value: u.name, Label: u.name, Chosen: u.name == chosen})
		}
	case strings.HasSuffix(name, "fuelTankType"):
		e.Options = frame.OptionsOf(e.Value, string(reward.PercentDiscount), "a percentage", string(reward.Credit), "an amount")
	case name == "fraud.handling":
		e.Options = frame.OptionsOf(e.Value, string(referral.HandleNone), handlings[referral.HandleNone], string(referral.HandlePending), handlings[referral.HandlePending], string(referral.HandleDeny), handlings[referral.HandleDeny])
	case t.kind == kindSelect:
		unset := "as any sign of fraud"
		if name == "fraud.signals."+string(referral.SignalMutual) {
			unset = "at least: " + handlings[referral.HandlePending]
		}
		e.Options = frame.OptionsOf(e.Value, "", unset, string(referral.HandleNone), handlings[referral.HandleNone], string(referral.HandlePending), handlings[referral.HandlePending], string(referral.HandleDeny), handlings[referral.HandleDeny])
	}
	return e, nil
}

var handlings = map[referral.Handling]string{
	referral.HandleNone: "is recorded and changes nothing", referral.HandlePending: "waits for approval", referral.HandleDeny: "cancels the rewards",
}

// side is one side of the program in the form.
type side struct {
	*frame.Form
	At    string // begins the names of the fields
	Title string
	Types []frame.Option
	Which []frame.Option
	// Tiers are the numbers of the rows for tiers.
	Tiers []int
	// Few leaves out what has a default.
	Few bool
}

// Field returns the name of a field of the side.
func (s side) Field(name string) string { return s.At + name }

// Tier returns the name of a field of a tier.
func (s side) Tier(i int, name string) string { return tierField(s.At, i, name) }

// typeOptions are the rewards that a side may earn. A share of the order is the first choice of
// a kind that may be one.
func typeOptions(chosen string) (all []frame.Option) {
	add := func(value string, c reward.Choice) {
		all = append(all, frame.Option{Value: value, Label: c.Label, Hint: c.Hint, Chosen: value == chosen})
	}
	for _, kind := range reward.Kinds() {
		if kind.Divisible {
			add(string(kind.Kind)+suffixShare, kind.Share)
		}
		add(string(kind.Kind), kind.Choice)
	}
	add(noReward, reward.Choice{Label: "No reward", Hint: "The other side may still have one."})
	return all
}

// Only returns the types with a field, as classes of CSS.
func (s side) Only(field string) string {
	var types []string
	for _, kind := range reward.Kinds() {
		both := slices.Contains(kind.Keys, field) || field == "tiers" && kind.Stepped
		money := field == "unit" && slices.Contains(kind.Keys, "currency")
		share := slices.Contains([]string{"percentOfRevenue", "minimum", "maximum"}, field)
		if both || money || field == kind.Value {
			types = append(types, string(kind.Kind))
		}
		if kind.Divisible && (both || share) {
			types = append(types, string(kind.Kind)+suffixShare)
		}
	}
	return strings.Join(types, " ")
}

func whichOptions(chosen string) []frame.Option {
	return frame.OptionsOf(chosen, "first", "Only the first order of a friend", "some", "The first orders of a friend", "all", "Each order of a friend")
}

func newSide(f *frame.Form, key referral.SideKey, few bool) side {
	s := side{Form: f, At: "rewards." + string(key) + ".", Title: map[referral.SideKey]string{
		referral.ReferrerSide: "What the referrer gets", referral.ReferredSide: "What the friend gets",
	}[key], Few: few}
	s.Types = typeOptions(f.Value(s.At + "type"))
	s.Which = whichOptions(cmp.Or(f.Value(s.At+"orders"+suffixWhich), "first"))
	rows := 0
	for i := range conversion.MaxTiers {
		if f.Value(s.Tier(i, "from"))+f.Value(s.Tier(i, "value")) != "" {
			rows = i + 1
		}
	}
	for i := range min(rows+2, conversion.MaxTiers) {
		s.Tiers = append(s.Tiers, i)
	}
	return s
}

// languagesOf returns the languages of the form: those of the service, and others that the
// program has texts in.
func languagesOf(v url.Values) (tags []string) {
	for _, tag := range text.Languages {
		tags = append(tags, string(tag))
	}
	for _, tag := range languagesIn(v) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
