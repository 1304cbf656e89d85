package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareSchemas(t *testing.T) {
	t.Parallel()
	require.NoError(t, compareSchemas(201, 201))
	require.EqualError(t, compareSchemas(202, 201), "the database has schema 202 and this kith knows 201: run a newer kith")
	require.EqualError(t, compareSchemas(200, 201), "the database has schema 200 and this kith needs 201: start a backend of this version first")
}
