package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab/scenario"
)

func TestParse(t *testing.T) {
	t.Parallel()
	steps, err := scenario.Parse("# a note\n\n  subscribe bob pro s1 trial=14d add=svc:5.00\nsubscription s1 status=\"Past Due\" \"a b\"\tc\n")
	require.NoError(t, err)
	require.Equal(t, []scenario.Step{
		{Line: 3, Verb: "subscribe", Words: []string{"bob", "pro", "s1"}, Named: map[string]string{"trial": "14d", "add": "svc:5.00"}},
		{Line: 4, Verb: "subscription", Words: []string{"s1", "a b", "c"}, Named: map[string]string{"status": "Past Due"}},
	}, steps)
	require.Equal(t, "line 3: subscribe bob pro s1", steps[0].String())
	require.Equal(t, "pro", steps[0].Word(1))
	require.Empty(t, steps[0].Word(3))
	_, err = scenario.Parse("ok\nnot \"closed")
	require.EqualError(t, err, "line 2: a quote is not closed")
}

func FuzzParse(f *testing.F) {
	f.Add("customer bob coupon=\"A B\"\n# x\n\nadvance 1d")
	f.Add(`""`)
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := scenario.Parse(text)
		if err != nil {
			return
		}
		line := 0
		for _, s := range steps {
			require.Greater(t, s.Line, line)
			require.NotNil(t, s.Named)
			line = s.Line
		}
	})
}
