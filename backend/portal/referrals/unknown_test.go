package referrals_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What people typed is shown as text, with the code that they may have meant.
func TestUnknown(t *testing.T) {
	t.Parallel()
	w, b := newWorld(t)
	require.Contains(t, b.Get(section+"/unknown").Body, "No unknown codes")
	identify(t, w, "bob", "Bob", "", "ana10")
	identify(t, w, "cleo", "Cleo", "", "ANA10")
	identify(t, w, "dora", "Dora", "", "<b>x</b>")
	got := b.Get(section + "/unknown").Body
	require.Regexp(t, `(?s)ANA10.*>2<.*/people\?search=ANNA10">ANNA10<.*/people/cleo/cleo">cleo<.*&lt;b&gt;x&lt;/b&gt;.*no code is near`, got)
	require.Contains(t, got, `href="/portal/t/acme/people/cleo/cleo/referrer?code=ANNA10">Attribute…`)
	require.Contains(t, b.Get("/portal/t/acme/people/cleo/cleo/referrer?code=ANNA10").Body, `name="code" type="text" value="ANNA10"`)
	require.Contains(t, b.Get(section).Body, `href="`+section+`/unknown"`)
	// A person whom another code has referred since is no open case.
	identify(t, w, "cleo", "Cleo", "", "ANNA10")
	require.Regexp(t, `(?s)ana10.*>1<.*/people/bob/bob">bob<`, b.Get(section+"/unknown").Body)
	require.Contains(t, b.Get("/portal/t/acme/overview").Body, "unknown codes were typed in 7 days")
}
