package stripelab

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A form has the texts at their paths; arrays may be written with numbers or without.
func TestForm(t *testing.T) {
	t.Parallel()
	f, err := parseForm("a=1&items[0][price]=p&items[0][quantity]=2&items[1][price]=q&expand[]=x&expand[]=y&metadata[k]=v%26w&empty=")
	require.NoError(t, err)
	require.Equal(t, "1", f.str("a"))
	require.Equal(t, []string{"x", "y"}, f.texts("expand"))
	require.Equal(t, "q", f.list("items")[1].str("price"))
	require.Equal(t, "v&w", f.str("metadata", "k"))
	require.True(t, f.has("empty"))
	require.Empty(t, f.unknown([]string{"a", "items.price", "items.quantity", "expand", "metadata.*", "empty"}))
	require.Equal(t, "items[quantity]", f.unknown([]string{"a", "items.price", "expand", "metadata.*", "empty"}))
	for _, bad := range []string{"a[b=c", "a[b]c=d", "%zz=1", "a[b][c][d][e][f][g][h][i][j]=1"} {
		_, err := parseForm(bad)
		require.Error(t, err, bad)
	}
}

func FuzzForm(f *testing.F) {
	for _, text := range []string{"a=1", "a[b]=1&a[]=2", "a[0][b]=1", "a[b", "%", "=&=", "a[][][]=1"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		parsed, err := parseForm(text)
		if err != nil {
			return
		}
		parsed.unknown([]string{"a", "b.*"})
		parsed.texts("a")
	})
}
