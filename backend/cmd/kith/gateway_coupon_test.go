package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
	"kith/backend/demo"
	"kith/core"
	"kith/core/wire"
)

func (s *gatewayStage) registerBob(t *testing.T) error {
	t.Helper()
	_, err := s.engine.Discounts.Register(t.Context(), demo.TestTenant, wire.DiscountRegistration{Account: "bob", Provider: "bob", Code: "ANNA10"})
	return err
}

// problem returns why bob's custom field could not be written, or "".
func (s *gatewayStage) problem(t *testing.T) (problem string) {
	t.Helper()
	require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT problem FROM gateway_coupon WHERE customer_id = 'bob'`).Scan(&problem))
	return problem
}

// The code of a discount is written into the customer's custom field, even if the gateway
// fails at first. Registering it again writes nothing.
func TestGateway_WritesTheCodeIntoTheCustomField(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	play := func(text string) {
		t.Helper()
		require.NoError(t, s.player().Play(t.Context(), text))
	}
	play("customer bob\nfault 503 times=2 method=PUT path=customers\nregister bob code=ANNA10\nlater 1h\ncoupon bob ANNA10")
	require.Empty(t, s.problem(t))
	play("fault 503 method=PUT path=customers\nregister bob code=ANNA10\nlater 1h\ncoupon bob ANNA10")
	state, err := s.player().State(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, state.Faults, "nothing was written again")
}

// If a merchant has not registered the custom field, everything else works. Once the
// field is registered, it is written within a day.
func TestGateway_CustomFieldNotRegistered(t *testing.T) {
	t.Parallel()
	s := newGatewayStageOn(t, braintreelab.Options{CustomField: "other_field"})
	require.NoError(t, s.player().Play(t.Context(), "customer bob\nregister bob code=ANNA10\nlater 1h\nsubscribe bob pro b1 trial=7d\nlater 10m\nsubscription b1 discount=svc_discount:5.00\ncoupon bob none"))
	require.Contains(t, s.problem(t), "91602")
}

// A new registration fails if the gateway does not answer or rejects the keys. Repeating
// an existing registration needs no gateway.
func TestGateway_RegistrationNeedsTheGateway(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	refusal := func(rs string) {
		t.Helper()
		var known *core.Error
		require.True(t, errors.As(s.registerBob(t), &known))
		require.Equal(t, rs, known.RS)
		_, err := s.engine.Accounts.ByID(t.Context(), demo.TestTenant, "bob")
		require.Error(t, err, "a failed registration stores nothing")
	}
	play := func(text string) {
		t.Helper()
		require.NoError(t, s.player().Play(t.Context(), text))
	}
	refusal("RS010")
	play("customer bob\nfault 503 times=2 method=GET path=customers")
	refusal("RS018")
	require.NoError(t, s.registerBob(t))
	play("fault 503 times=2 method=GET path=customers")
	require.NoError(t, s.registerBob(t))
	state, err := s.player().State(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, state.Faults, "the gateway was not called")
}
