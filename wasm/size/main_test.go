package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

func TestCheck(t *testing.T) {
	path, err := testenv.Path("bin/kith")
	require.NoError(t, err)
	modules, total, err := code(path)
	require.NoError(t, err, "make build")
	sum := 0
	for _, size := range modules {
		sum += size
	}
	require.Equal(t, total, sum)
	const sqlite = "modernc.org/sqlite"
	for _, name := range []string{standard, own, sqlite} {
		require.Greater(t, modules[name], 1_000_000, name)
	}

	var out bytes.Buffer
	require.NoError(t, check(&out, path, 1<<40))
	require.ErrorContains(t, check(&out, path, 1000), "is too large")
	budgets[sqlite] = modules[sqlite]
	require.NoError(t, check(&out, path, 1<<40))
	budgets[sqlite]--
	require.ErrorContains(t, check(&out, path, 1<<40), sqlite+" has more code than its budget")
	delete(budgets, sqlite)
	require.ErrorContains(t, check(&out, path, 1<<40), sqlite+" has more code than its budget", "a new module has the budget of small ones")
	require.Contains(t, out.String(), "  modernc.org/sqlite, budget 200000\n")

	require.Error(t, check(&out, "main_test.go", 1<<40))
}
