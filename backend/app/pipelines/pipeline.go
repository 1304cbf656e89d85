// Package pipelines has the use cases of customer-data pipelines: what the webhook
// destinations of Segment and RudderStack send, and how it is read.
package pipelines

import (
	"context"
	"slices"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/pipeline"
	"kith/core/state"
	"kith/core/wire"
)

// Pipelines receives the messages of the tenants' pipelines.
type Pipelines struct {
	*base.Base
	// Wake is called after events were stored, to wake the worker that processes them.
	// It must not block, and must not be nil.
	Wake func()
}

// batch is the number of messages that one transaction processes at most. A server ends
// a transaction after 5 seconds if another writer waits.
const batch = 100

// Receive processes the messages in a body, in their order, and returns what became of
// each. A refused message does not affect the others. If the database is unavailable
// meanwhile, the error is temporary, and the whole body can be sent again: messages that
// were processed are duplicates then. share builds the share links of new users.
func (ps *Pipelines) Receive(ctx context.Context, tenant core.TenantAlias, body []byte, share link.Share) ([]pipeline.Result, error) {
	settings, err := ps.Settings(ctx, tenant)
	if err != nil {
		return nil, err
	}
	messages, err := wire.ParseMessages(tenant, settings, body)
	if err != nil {
		return nil, err
	}
	var results []pipeline.Result
	for chunk := range slices.Chunk(messages, batch) {
		done, err := ps.process(ctx, tenant, settings, chunk, share)
		if err != nil {
			return nil, err
		}
		results = append(results, done...)
	}
	logged := false
	for _, r := range results {
		logged = logged || r.State == pipeline.Processed && r.Type == pipeline.Track
		ps.report(r)
	}
	if logged {
		ps.Wake()
	}
	return results, nil
}

// process processes messages in one transaction.
func (ps *Pipelines) process(ctx context.Context, tenant core.TenantAlias, settings pipeline.Settings, messages []pipeline.Message, share link.Share) (results []pipeline.Result, err error) {
	return store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (results []pipeline.Result, err error) {
		u, r := ps.Unit(tx, tenant), ps.Rules()
		for _, want := range []func(*state.State, pipeline.Message){r.WantMessage, r.WantMessageMore} {
			for _, m := range messages {
				want(u.State, m)
			}
			if err := u.Load(ctx); err != nil {
				return results, err
			}
		}
		for _, m := range messages {
			result := pipeline.Result{Message: m}
			err := u.Decide(ctx, func(s *state.State) (err error) {
				result.State, err = r.Message(s, m, settings.CreateUsers, share)
				return err
			})
			if err != nil {
				if _, _, _, refused := wire.RowFailure(err); !refused {
					return results, err
				}
				result.State, result.Err = pipeline.Failed, err
			}
			results = append(results, result)
		}
		return results, u.Save(ctx)
	})
}

// report counts a message for the metrics.
func (ps *Pipelines) report(r pipeline.Result) {
	kind := base.MessageOther
	if slices.Contains(base.MessageKinds(), string(r.Type)) {
		kind = string(r.Type)
	}
	outcome := base.OutcomeDone
	if r.State == pipeline.Failed {
		outcome = base.OutcomeFailed
	}
	ps.ReportWork(base.WorkMessage, kind, outcome, 1)
}

// Settings returns how the messages of a tenant's pipeline are read.
func (ps *Pipelines) Settings(ctx context.Context, tenant core.TenantAlias) (pipeline.Settings, error) {
	stored, err := tenantdb.FindPipeline(ctx, ps.DB.Reads, tenant)
	if err != nil || stored.Settings == "" {
		return pipeline.Default(), err
	}
	return wire.ParsePipelineSettings([]byte(stored.Settings))
}

// Secrets says which secrets verify the signatures of a tenant's pipeline.
type Secrets struct {
	// Set is true if there is a secret. OldUntil is the time until which the one before is
	// valid; zero if there is none.
	Set      bool
	OldUntil core.Time
}

// Secrets returns which secrets a tenant's pipeline has.
func (ps *Pipelines) Secrets(ctx context.Context, tenant core.TenantAlias) (Secrets, error) {
	stored, err := tenantdb.FindPipeline(ctx, ps.DB.Reads, tenant)
	s := Secrets{Set: stored.Secret != ""}
	if stored.Old != "" && stored.OldUntil > ps.Now() {
		s.OldUntil = stored.OldUntil
	}
	return s, err
}

// Change stores how the messages of a tenant's pipeline are read, from the next call on.
func (ps *Pipelines) Change(ctx context.Context, tenant core.TenantAlias, s pipeline.Settings) (pipeline.Settings, error) {
	return s, ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		return tenantdb.PutPipelineSettings(ctx, tx, tenant, string(wire.PipelineSettings(s)))
	})
}

// RotateSecret makes a new secret, by which the pipeline signs its calls, and returns it
// with the time until which the secret before is valid; zero if there was none. overlap
// is how long that is, at most auth.MaxOverlap.
func (ps *Pipelines) RotateSecret(ctx context.Context, tenant core.TenantAlias, overlap core.Time) (secret string, until core.Time, err error) {
	if overlap < 0 || overlap > auth.MaxOverlap {
		return "", 0, core.Invalid("overlap", "must be 0 to 720 hours (30 days)")
	}
	secret = ps.NewSecret()
	sealed, err := ps.Seal(base.PipelinePlace(tenant), secret)
	if err != nil {
		return "", 0, err
	}
	until, err = store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (until core.Time, err error) {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return until, err
		}
		if err := tenantdb.PutPipelineSecret(ctx, tx, tenant, sealed, tx.Now+overlap); err != nil {
			return until, err
		}
		stored, err := tenantdb.FindPipeline(ctx, tx.Reads, tenant)
		until = stored.OldUntil
		return until, err
	})
	return secret, until, err
}

// RemoveSecret makes all signatures of a tenant's pipeline invalid, or returns a
// not-found error if it has no secret. Calls with an API key are still accepted.
func (ps *Pipelines) RemoveSecret(ctx context.Context, tenant core.TenantAlias) error {
	return ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		known, err := tenantdb.DeletePipelineSecret(ctx, tx, tenant)
		if err == nil && !known {
			err = core.NotFound("the pipeline of this tenant has no secret; make one first")
		}
		return err
	})
}

// Authenticate returns the caller who signed a body, or an unauthenticated error. Such a
// caller may do what a key with auth.RoleEvents may do.
//
// With its setting for batches, Segment's webhook destination signs the first message of
// an array only. That is no signature of the body: a client that has one signed message
// could add others to it.
func (ps *Pipelines) Authenticate(ctx context.Context, alias core.TenantAlias, signature string, body []byte) (base.Caller, error) {
	tenant, err := tenantdb.Find(ctx, ps.DB.Reads, alias)
	if err != nil {
		return base.Caller{}, err
	}
	secrets, err := ps.secrets(ctx, alias)
	if err != nil {
		return base.Caller{}, err
	}
	message := "is not that of the body; give the pipeline the secret of POST /integration/segment/secret, or send the API key in Authorization"
	first, n, isArray := wire.FirstMessage(body)
	for _, secret := range secrets {
		if pipeline.Signed(secret, signature, body) {
			return base.Caller{Tenant: tenant, Key: true, Role: auth.RoleEvents}, nil
		}
		if isArray && pipeline.Signed(secret, signature, first) {
			message = "is that of the first of " + strconv.Itoa(n) + " messages only; send no batches, or send the API key in Authorization"
		}
	}
	return base.Caller{}, &core.Error{Code: core.CodeUnauthenticated, Field: "X-Signature", Message: message}
}

// secrets returns the secrets of a tenant's pipeline that are valid now.
func (ps *Pipelines) secrets(ctx context.Context, tenant core.TenantAlias) (secrets []string, err error) {
	stored, err := tenantdb.FindPipeline(ctx, ps.DB.Reads, tenant)
	if err != nil {
		return nil, err
	}
	sealed := []string{stored.Secret}
	if stored.OldUntil > ps.Now() {
		sealed = append(sealed, stored.Old)
	}
	for _, text := range sealed {
		if text == "" {
			continue
		}
		secret, err := ps.Keys.Open(base.PipelinePlace(tenant), text)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}
