package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpen_ReportsWhetherEmbedded(t *testing.T) {
	t.Parallel()
	require.True(t, onFile(t).db.Embedded())
	require.False(t, onServer(t).db.Embedded())
}
