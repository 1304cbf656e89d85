package host

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	_ "modernc.org/sqlite" // has the tables

	"kith/edge/abi"
)

// maxStores bounds the key-value stores that one request may open
// (factor-key-value/src/host.rs, DEFAULT_STORE_TABLE_CAPACITY).
const maxStores = 256

// keyValue is one key-value store: a table in memory behind one connection, and its
// prepared statements.
type keyValue struct {
	db                       *sql.DB
	get, set, remove, exists *sql.Stmt
}

func newKeyValue() (*keyValue, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection would have its own database in memory
	s := &keyValue{db: db}
	_, err = db.Exec(`CREATE TABLE spin_key_value (key TEXT PRIMARY KEY, value BLOB NOT NULL)`)
	for text, into := range map[string]**sql.Stmt{
		`SELECT value FROM spin_key_value WHERE key = ?`: &s.get,
		`INSERT INTO spin_key_value (key, value) VALUES (?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value`: &s.set,
		`DELETE FROM spin_key_value WHERE key = ?`:                   &s.remove,
		`SELECT EXISTS (SELECT 1 FROM spin_key_value WHERE key = ?)`: &s.exists,
	} {
		if err == nil {
			*into, err = db.Prepare(text)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// openStores makes the stores that the manifest grants. Only a strict host has them, and one
// without a database: reading a database costs no more than reading such a store.
func (h *Host) openStores() (map[string]*keyValue, error) {
	stores := make(map[string]*keyValue)
	if !h.options.StrictSpin && len(h.app.databases) > 0 {
		return stores, nil
	}
	for _, name := range h.app.stores {
		store, err := newKeyValue()
		if err != nil {
			return stores, err
		}
		stores[name] = store
	}
	return stores, nil
}

// keyValueOpen implements key-value.open(name ptr, len, result).
func (g *guest) keyValueOpen(_ context.Context, stack []uint64) error {
	b, err := g.view(uint32(stack[0]), uint32(stack[1]), "store name")
	if err != nil {
		return err
	}
	name, result := string(b), uint32(stack[2])
	store := g.host.stores[name]
	switch {
	case !slices.Contains(g.host.app.stores, name):
		return g.answerKVError(result, abi.KVAccessDenied)
	case store == nil:
		return g.answerKVError(result, abi.KVNoSuchStore)
	case len(g.stores) == maxStores:
		return g.answerKVError(result, abi.KVTableFull)
	}
	g.stores = append(g.stores, store)
	return g.answer(result, appendWords(nil, abi.TagOK, uint32(len(g.stores))))
}

// keyValueClose implements key-value.close(store).
func (g *guest) keyValueClose(_ context.Context, stack []uint64) error {
	if i := uint32(stack[0]) - 1; i < uint32(len(g.stores)) {
		g.stores[i] = nil
	}
	return nil
}

// keyValueGet implements key-value.get(store, key ptr, len, result).
func (g *guest) keyValueGet(ctx context.Context, stack []uint64) error {
	return g.withKey(ctx, stack, uint32(stack[3]), func(s *keyValue, key string) (kvResult, error) {
		found := kvResult{hasValue: true}
		err := s.get.QueryRowContext(ctx, key).Scan(&found.value)
		return found, err
	})
}

// keyValueExists implements key-value.exists(store, key ptr, len, result).
func (g *guest) keyValueExists(ctx context.Context, stack []uint64) error {
	return g.withKey(ctx, stack, uint32(stack[3]), func(s *keyValue, key string) (kvResult, error) {
		var found kvResult
		err := s.exists.QueryRowContext(ctx, key).Scan(&found.present)
		return found, err
	})
}

// keyValueDelete implements key-value.delete(store, key ptr, len, result).
func (g *guest) keyValueDelete(ctx context.Context, stack []uint64) error {
	return g.withKey(ctx, stack, uint32(stack[3]), func(s *keyValue, key string) (kvResult, error) {
		_, err := s.remove.ExecContext(ctx, key)
		return kvResult{}, err
	})
}

// keyValueSet implements key-value.set(store, key ptr, len, value ptr, len,
// result).
func (g *guest) keyValueSet(ctx context.Context, stack []uint64) error {
	value, err := g.view(uint32(stack[3]), uint32(stack[4]), "value")
	if err != nil {
		return err
	}
	value = append([]byte{}, value...) // not nil, which would be NULL
	return g.withKey(ctx, stack, uint32(stack[5]), func(s *keyValue, key string) (kvResult, error) {
		_, err := s.set.ExecContext(ctx, key, value)
		return kvResult{}, err
	})
}

// kvResult is the answer of a store: a value, or whether a value exists.
type kvResult struct {
	hasValue bool
	value    []byte
	present  uint32
}

// withKey calls use with the store and the key, which are the first parameters of a call,
// and writes the result at the address that the guest gave.
func (g *guest) withKey(ctx context.Context, stack []uint64, result uint32, use func(s *keyValue, key string) (kvResult, error)) error {
	key, err := g.view(uint32(stack[1]), uint32(stack[2]), "key")
	if err != nil {
		return err
	}
	i := uint32(stack[0]) - 1
	if i >= uint32(len(g.stores)) || g.stores[i] == nil {
		return g.answerKVError(result, abi.KVInvalidStore)
	}
	found, err := use(g.stores[i], string(key))
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // the request has ended, which ends the guest
	case errors.Is(err, sql.ErrNoRows):
		return g.answerKVError(result, abi.KVNoSuchKey)
	case err != nil:
		return g.answerString(ctx, result, []uint32{abi.TagErr, uint32(abi.KVIO)}, err.Error())
	}
	if !found.hasValue {
		return g.answer(result, appendWords(nil, abi.TagOK, found.present))
	}
	record, err := g.putBytes(ctx, appendWords(nil, abi.TagOK), found.value)
	if err != nil {
		return err
	}
	return g.answer(result, record)
}

func (g *guest) answerKVError(result uint32, code abi.KVCode) error {
	return g.answer(result, appendWords(nil, abi.TagErr, uint32(code)))
}
