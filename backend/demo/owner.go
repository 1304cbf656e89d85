package demo

import (
	"context"
	"crypto/sha256"
	"strings"

	"kith/backend/app"
	"kith/core/people"
)

// OwnerEmail is the address with which the first owner of the demo tenants signs in to the
// portal.
const OwnerEmail = "owner@demo.example"

// Owner makes the first owner of the demo tenants, unless there is one, and returns the
// password: it is derived from the master key, so that each start can show it and each
// installation has another one. It is empty if the owner has chosen another one.
func Owner(ctx context.Context, e *app.Engine) (password string, err error) {
	sum := sha256.Sum256([]byte(e.Keys.Identity(LiveTenant, "portal", "owner")))
	var entropy [people.RecoverySize]byte
	copy(entropy[:], sum[:])
	password = strings.ToLower(people.RecoveryCode(entropy))
	created, err := e.Members.Create(ctx, people.OperatorOf(LiveTenant), OwnerEmail, "Olga Owner", password, people.Owner)
	if err != nil || created {
		return password, err
	}
	same, err := e.Members.HasPassword(ctx, OwnerEmail, password)
	if err != nil || !same {
		return "", err
	}
	return password, nil
}
