package store_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/widget"
)

// A total includes the items of its page, while items are added.
func TestCounted_IncludesThePage(t *testing.T) {
	t.Parallel()
	const widgets = 300
	b := onFile(t)
	var adding sync.WaitGroup
	adding.Go(func() {
		for i := range widgets {
			s := widget.Stored{Type: widget.Type{Program: core.ClassicProgram, Key: widget.Key("w" + strconv.Itoa(i))}}
			assert.NoError(t, b.db.Write(t.Context(), now, func(tx *store.Tx) error {
				return programdb.PutWidget(context.Background(), tx, b.tenant, s)
			}))
		}
	})
	defer adding.Wait()
	for total := 0; total < widgets && !t.Failed(); {
		var page []widget.Stored
		var err error
		page, total, err = programdb.Widgets(t.Context(), b.db.Reads, b.tenant, widgets, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), total)
	}
}
