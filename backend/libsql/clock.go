package libsql

import (
	"context"
	"time"
)

// clock measures deadlines. Tests use one that they advance themselves.
type clock struct {
	now         func() time.Time
	withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

var systemClock = clock{time.Now, context.WithTimeout}
