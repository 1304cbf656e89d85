package programs

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/referral"
	"kith/core/reward"
)

// head is what each page of a program shows above the rest.
type head struct {
	Program referral.Program
	// Tab is the current page, and Path the path of the program.
	Tab, Path string
	// Codes is true if a side gives coupon codes.
	Codes bool
	May   bool
}

// New reports whether the program is not stored yet.
func (h head) New() bool { return h.Program.Key == "" }

func headOf(v *frame.Visit, p referral.Program, tab string) head {
	return head{
		Program: p, Tab: tab, Path: v.SectionPath() + "/" + string(p.Key), May: v.May(operation.ChangeProgram),
		Codes: givesCodes(p),
	}
}

// newHead returns the head of the form of a new program, which has no key yet.
func newHead(v *frame.Visit) head { return head{Path: v.SectionPath() + "/_new", May: true} }

// givesCodes reports whether a side gives coupon codes.
func givesCodes(p referral.Program) bool {
	return p.Referrer.Kind == reward.FuelTank || p.Referred.Kind == reward.FuelTank
}

// onTab returns the handler of a page of the program in the path, whose head h gets.
func onTab(tab string, h func(*frame.Visit, head) error) frame.Handler {
	return func(v *frame.Visit) error {
		top, err := program(v, tab)
		if err != nil {
			return err
		}
		return h(v, top)
	}
}

// program returns the program in the path, with the head of one of its pages.
func program(v *frame.Visit, tab string) (head, error) {
	k, err := key(v)
	if err != nil {
		return head{}, err
	}
	p, err := v.Engine.Programs.ByKey(v.Ctx(), v.Caller.Tenant, k)
	var known *core.Error
	if errors.As(err, &known) && known.Code == core.CodeNotFound {
		err = unknown()
	}
	return headOf(v, p, tab), err
}

// programList is the data of the list of programs.
type programList struct {
	Programs []referral.Program
	May      bool
	Most     int
}

func list(v *frame.Visit) error {
	all, err := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	return v.Page(http.StatusOK, "list", "Programs", programList{all, v.May(operation.ChangeProgram), referral.MaxPrograms})
}

// does is what a program will do, or what is missing.
type does struct {
	Sentences []referral.Sentence
	Problems  []string
}

// group is the sentences about one part of a program.
type group struct {
	Title string
	Texts []string
}

// groupTitles are the titles of the parts of a program, by the beginning of
// referral.Sentence.About.
var groupTitles = []struct{ about, title string }{
	{"conversion", "When it counts"}, {"rewards.moneyBack", "If the first payment is refunded"}, {"rewards.referrer", "The referrer"}, {"rewards.referred", "The friend"}, {"limits", "Limits"}, {"sharing", "Share links"},
	{"fraud", "Signs of fraud"}, {"invitations", "Invitations"},
}

// Groups returns the sentences in the order of the form.
func (d does) Groups() []group { return groupsOf(d.Sentences) }

func groupsOf(sentences []referral.Sentence) (all []group) {
	for _, of := range groupTitles {
		g := group{Title: of.title}
		for _, s := range sentences {
			if strings.HasPrefix(s.About, of.about) {
				g.Texts = append(g.Texts, s.Text)
			}
		}
		if len(g.Texts) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// form is the data of the form of a program.
type form struct {
	*frame.Form
	head
	// Created is true directly after the program was created; Connect is the path of the
	// integrations, or empty if the visitor has no access.
	Created   bool
	Connect   string
	Sides     []side
	When      []frame.Option
	Languages []string
	Signals   []referral.Signal
	Does      does
}

// Settings returns the fields of the settings of an object of the program, such as limits, but
// for those of a new program and those of single signs of fraud.
func (d form) Settings(object string) (all []entry, err error) {
	for _, s := range referral.SettingsOf(object) {
		if _, isMap := s.At(&referral.Program{}).(*map[referral.Signal]referral.Handling); s.Basic || isMap {
			continue
		}
		e, err := newEntry(d.Form, s.Path)
		if err != nil {
			return nil, err
		}
		e.Wide = s.Wide
		all = append(all, e)
	}
	return all, nil
}

// newForm returns the form with values, and what the program in them does. err is what is
// wrong with the values.
func newForm(h head, values url.Values, p referral.Program, err error) (form, error) {
	d := form{Form: frame.FormOf(values), head: h, Languages: languagesOf(values), Signals: referral.Signals()}
	if err != nil {
		if !d.Refuse(err, labelsOf(err)) {
			return d, err
		}
		for _, problem := range d.Errors {
			d.Does.Problems = append(d.Does.Problems, problem.Message)
		}
	} else {
		d.Does.Sentences = p.Describe()
	}
	d.When = whenOptions(d.Value(fieldWhen))
	for _, key := range sideKeys {
		d.Sides = append(d.Sides, newSide(d.Form, key, h.New()))
	}
	return d, nil
}

func whenOptions(chosen string) []frame.Option {
	return frame.OptionsOf(chosen, whenEvent, "When the friend orders", whenPaid, "When the friend's account becomes a paying customer")
}

// show writes the form. Errors are shown only after it was sent.
func show(v *frame.Visit, h head, values url.Values, p referral.Program, err error) error {
	d, err := newForm(h, values, p, err)
	if err != nil {
		return err
	}
	if h.New() {
		return v.Page(d.Status(), "edit", "New program", d)
	}
	d.Created, d.Connect = v.R.URL.Query().Get("done") == "program-created", frame.PathOf(v, "integrations")
	return v.Page(d.Status(), "edit", h.Program.Name, d)
}

// newPage shows the form of a new program, in which the most usual answers are chosen.
func newPage(v *frame.Visit) error {
	values := url.Values{
		fieldWhen: {whenEvent}, "conversion.event": {"purchase"}, "rewards.referrer.type": {string(reward.Credit) + suffixShare}, "rewards.referrer.percentOfRevenue": {"10"},
		"rewards.referred.type": {string(reward.PercentDiscount)}, "rewards.referred.discountPercent": {"10"},
	}
	all, err := v.Engine.Programs.List(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		values.Set("sharing.url", all[0].LandingURL)
	}
	d, err := newForm(newHead(v), values, referral.Program{}, nil)
	if err != nil {
		return err
	}
	d.Does = doesOf("", values)
	return v.Page(http.StatusOK, "edit", "New program", d)
}

// doesOf returns what the program in the values of a form does.
func doesOf(key core.ProgramKey, values url.Values) (d does) {
	p, _, err := read(key, values)
	if err == nil {
		d.Sentences = p.Describe()
		return d
	}
	var f frame.Form
	f.Refuse(err, labelsOf(err))
	for _, problem := range f.Errors {
		d.Problems = append(d.Problems, problem.Message)
	}
	return d
}

func create(v *frame.Visit) error {
	p, values, err := read("", v.R.PostForm)
	if err == nil {
		_, err = v.Engine.Admin.Programs.Create(v.Ctx(), v.Caller, p)
		var known *core.Error
		if errors.As(err, &known) && known.Code == core.CodeConflict {
			err = core.Invalid("id", "belongs to another program already; give another one")
			values.Set("id", string(p.Key))
		}
		err = inForm(err)
	}
	if err != nil {
		return show(v, newHead(v), values, p, err)
	}
	return v.Done(v.SectionPath()+"/"+string(p.Key), "program-created")
}

func editPage(v *frame.Visit, h head) error {
	return show(v, h, valuesOf(h.Program), h.Program, nil)
}

// save changes a program, unless another person has changed it since the form was opened.
func save(v *frame.Visit, h head) error {
	p, values, err := read(h.Program.Key, v.R.PostForm)
	if err == nil {
		var changed core.Time
		_, err = v.Engine.Admin.Programs.Update(v.Ctx(), v.Caller, h.Program.Key, func(stored *referral.Program) error {
			if opened := values.Get(fieldModified); opened != strconv.FormatInt(int64(stored.Modified), 10) {
				changed = stored.Modified
				return errChanged
			}
			*stored = p
			return nil
		})
		if errors.Is(err, errChanged) {
			err = changedAt(v, h.Program.Key, changed)
		}
		err = inForm(err)
	}
	if err != nil {
		return show(v, h, values, p, err)
	}
	return v.Done(h.Path, "program-saved")
}

// errChanged means that the program was saved since the form was opened.
var errChanged = errors.New("portal: the program was changed")

// changedAt returns the error about a program that was changed at a time since the form was
// opened: by whom, if that is known and the visitor may read the audit log.
func changedAt(v *frame.Visit, key core.ProgramKey, at core.Time) error {
	all, err := v.Engine.Admin.Programs.Versions(v.Ctx(), v.Caller, key)
	if err != nil {
		return err
	}
	by := ""
	if len(all) > 0 && all[0].Since == at && all[0].By != "" {
		by = " by " + all[0].By
	}
	return &core.Error{Code: core.CodeConflict, Field: fieldModified, Message: "was changed" + by + " on " + time.UnixMilli(int64(at)).UTC().Format("2 Jan 2006, 15:04 UTC") +
		", after you opened this page; " + frame.CompareAndRepeat}
}

// previewNew shows what a new program would do. It stores nothing.
func previewNew(v *frame.Visit) error { return preview(v, newHead(v)) }

// preview shows what a new or a changed program would do: it answers htmx with that, and a
// browser without scripts with the whole form. It stores nothing.
func preview(v *frame.Visit, h head) error {
	if v.R.Header.Get("HX-Request") != "" {
		return v.Page(http.StatusOK, "preview", "What this program will do", doesOf(h.Program.Key, v.R.PostForm))
	}
	p, values, err := read(h.Program.Key, v.R.PostForm)
	return show(v, h, values, p, err)
}

// remove deletes a program, or says why that is not possible.
func remove(v *frame.Visit, h head) error {
	err := v.Engine.Admin.Programs.Delete(v.Ctx(), v.Caller, h.Program.Key)
	if err == nil {
		return v.Done(v.SectionPath(), "program-deleted")
	}
	return show(v, h, valuesOf(h.Program), h.Program, err)
}
