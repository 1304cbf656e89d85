package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"kith/backend/store"
	"kith/core"
)

// Notify stores what a tenant's gateway has sent, once; it must be verified.
// What it means is for a worker to find out.
func (e *Engine) Notify(ctx context.Context, tenant core.TenantAlias, payload string) error {
	sum := sha256.Sum256([]byte(payload))
	added := false
	err := e.DB.Write(ctx, e.Now(), func(tx *store.Tx) (err error) {
		added, err = tx.InsertNotification(ctx, tenant, hex.EncodeToString(sum[:]), payload)
		return err
	})
	if err == nil && added && e.WakeGateway != nil {
		e.WakeGateway()
	}
	return err
}
