package host

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"kith/edge/abi"
)

// maxStores bounds the key-value stores that one request may open
// (factor-key-value/src/host.rs, DEFAULT_STORE_TABLE_CAPACITY).
const maxStores = 256

// keyValue is one key-value store in memory. Values are not changed once they are in it.
type keyValue struct {
	mu     sync.RWMutex
	values map[string][]byte
}

func (s *keyValue) get(key string) (value []byte, exists bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, exists = s.values[key]
	return value, exists
}

// change runs a function while no other request uses the store.
func (s *keyValue) change(do func(values map[string][]byte)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.values)
}

// openStores makes the stores that the manifest grants. Only a strict host has them, and one
// without a database: a database costs little more, and has what others have committed.
func (h *Host) openStores() map[string]*keyValue {
	stores := make(map[string]*keyValue)
	if h.options.StrictSpin || len(h.app.databases) == 0 {
		for _, name := range h.app.stores {
			stores[name] = &keyValue{values: map[string][]byte{}}
		}
	}
	return stores
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
	result := uint32(stack[3])
	s, key, err := g.storeAndKey(stack, result)
	if s == nil {
		return err
	}
	value, exists := s.get(key)
	if !exists {
		return g.answerKVError(result, abi.KVNoSuchKey)
	}
	record, err := g.putBytes(ctx, appendWords(nil, abi.TagOK), value)
	if err != nil {
		return err
	}
	return g.answer(result, record)
}

// keyValueExists implements key-value.exists(store, key ptr, len, result).
func (g *guest) keyValueExists(_ context.Context, stack []uint64) error {
	result, present := uint32(stack[3]), uint32(0)
	s, key, err := g.storeAndKey(stack, result)
	if s == nil {
		return err
	}
	if _, exists := s.get(key); exists {
		present = 1
	}
	return g.answer(result, appendWords(nil, abi.TagOK, present))
}

// keyValueDelete implements key-value.delete(store, key ptr, len, result).
func (g *guest) keyValueDelete(_ context.Context, stack []uint64) error {
	result := uint32(stack[3])
	s, key, err := g.storeAndKey(stack, result)
	if s == nil {
		return err
	}
	s.change(func(values map[string][]byte) { delete(values, key) })
	return g.answer(result, appendWords(nil, abi.TagOK, 0))
}

// keyValueSet implements key-value.set(store, key ptr, len, value ptr, len,
// result).
func (g *guest) keyValueSet(_ context.Context, stack []uint64) error {
	value, err := g.view(uint32(stack[3]), uint32(stack[4]), "value")
	if err != nil {
		return err
	}
	result := uint32(stack[5])
	s, key, err := g.storeAndKey(stack, result)
	if s == nil {
		return err
	}
	s.change(func(values map[string][]byte) { values[key] = bytes.Clone(value) })
	return g.answer(result, appendWords(nil, abi.TagOK, 0))
}

// storeAndKey returns the store and the key, which are the first parameters of a call. If the
// store is nil, the call has ended: the guest has the answer at result, or err is set.
func (g *guest) storeAndKey(stack []uint64, result uint32) (s *keyValue, key string, err error) {
	b, err := g.view(uint32(stack[1]), uint32(stack[2]), "key")
	if err != nil {
		return nil, "", err
	}
	i := uint32(stack[0]) - 1
	if i >= uint32(len(g.stores)) || g.stores[i] == nil {
		return nil, "", g.answerKVError(result, abi.KVInvalidStore)
	}
	return g.stores[i], string(b), nil
}

func (g *guest) answerKVError(result uint32, code abi.KVCode) error {
	return g.answer(result, appendWords(nil, abi.TagErr, uint32(code)))
}
