package libsql

import (
	"context"
	"time"
)

// clock measures deadlines. Tests have one that they move themselves.
type clock struct {
	now         func() time.Time
	withTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}

var systemClock = clock{time.Now, context.WithTimeout}
