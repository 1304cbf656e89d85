package wire

import (
	"strconv"
	"strings"

	"kith/core"
	"kith/core/link"
)

// TargetTexts is the number of texts of a target.
const TargetTexts = 11

// Target returns a target from texts in the order of the columns in which an edge reads it.
// Others than TargetTexts texts are no target.
func Target(v []string) (t link.Target, ok bool) {
	if len(v) != TargetTexts {
		return t, false
	}
	life, _ := strconv.ParseInt(v[6], 10, 64)
	return link.Target{
		Tenant: core.TenantAlias(v[0]),
		Policy: link.Policy{Consent: link.Consent(v[1]), ConsentCookie: v[2]},
		Program: link.Program{
			Key: core.ProgramKey(v[3]), LandingURL: v[4],
			AllowedHosts: Texts(v[5]), CookieLife: core.Time(life),
			UTMSource: v[8], UTMCampaign: v[9],
		},
		MasterKey: v[7], SquatchParameter: v[10] == "1",
	}, true
}

// TargetOf returns the texts of a target, for Target.
func TargetOf(t link.Target) []string {
	squatch := "0"
	if t.SquatchParameter {
		squatch = "1"
	}
	return []string{
		string(t.Tenant), string(t.Policy.Consent), t.Policy.ConsentCookie, string(t.Program.Key), t.Program.LandingURL,
		string(appendTexts(nil, t.Program.AllowedHosts)), strconv.FormatInt(int64(t.Program.CookieLife), 10), t.MasterKey,
		t.Program.UTMSource, t.Program.UTMCampaign, squatch,
	}
}

// Kept is what an edge keeps of an answer.
type Kept struct {
	Tenant core.TenantAlias
	// MaxAge is the tenant's limit of the time for which it is kept.
	MaxAge core.Time
	// Texts are those of TargetOf or CodeTexts.
	Texts []string
}

// Text returns the text of auth.KeptHeader, before base64.
func (k Kept) Text() string {
	return List(append([]string{string(k.Tenant), strconv.FormatInt(int64(k.MaxAge), 10)}, k.Texts...))
}

// ParseKept parses the result of Text.
func ParseKept(text string) (k Kept, ok bool) {
	texts, ok := Items(text)
	if !ok || len(texts) < 2 {
		return k, false
	}
	age, err := strconv.ParseInt(texts[1], 10, 64)
	return Kept{Tenant: core.TenantAlias(texts[0]), MaxAge: core.Time(age), Texts: texts[2:]}, err == nil
}

// List encodes texts, each with its length in front.
func List(texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}

// Items decodes the result of List; ok is false for invalid input.
func Items(text string) (texts []string, ok bool) {
	for text != "" {
		length, rest, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(rest) {
			return nil, false
		}
		texts, text = append(texts, rest[:n]), rest[n:]
	}
	return texts, true
}
