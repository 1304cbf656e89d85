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

// problem is why the field of bob could not be written, or empty.
func (s *gatewayStage) problem(t *testing.T) (problem string) {
	t.Helper()
	require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT problem FROM gateway_coupon WHERE customer_id = 'bob'`).Scan(&problem))
	return problem
}

// The code that refers an account is in its customer's custom field in the end,
// though the gateway fails at first. To register it again writes nothing.
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

// A merchant who has not registered the field is not kept from anything else,
// and gets it a day after that is mended, at the latest.
func TestGateway_CustomFieldNotRegistered(t *testing.T) {
	t.Parallel()
	s := newGatewayStageOn(t, braintreelab.Options{CustomField: "other_field"})
	require.NoError(t, s.player().Play(t.Context(), "customer bob\nregister bob code=ANNA10\nlater 1h\nsubscribe bob pro b1 trial=7d\nlater 10m\nsubscription b1 discount=svc_discount:5.00\ncoupon bob none"))
	require.Contains(t, s.problem(t), "91602")
}

// A gateway that does not answer, or does not take the keys, keeps a registration
// from being made; one that was made needs no gateway.
func TestGateway_RegistrationNeedsTheGateway(t *testing.T) {
	t.Parallel()
	s := newGatewayStage(t)
	refusal := func(rs string) {
		t.Helper()
		var known *core.Error
		require.True(t, errors.As(s.registerBob(t), &known))
		require.Equal(t, rs, known.RS)
		_, err := s.engine.Accounts.ByID(t.Context(), demo.TestTenant, "bob")
		require.Error(t, err, "nothing is half done")
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
	require.Equal(t, 1, state.Faults, "nobody asked")
}
