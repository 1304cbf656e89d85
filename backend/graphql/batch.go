package graphql

import (
	"context"
	"slices"
	"sync"

	"kith/core/referral"
	"kith/core/wire"
)

// batch loads what several nodes of an answer have of one kind, all at once when
// the first of them is asked for it: what is nested in a list takes a statement
// for each level of the answer, and not for each node.
type batch[K comparable, V any] struct {
	mu sync.Mutex
	// keys are those of all the nodes, each once.
	keys []K
	// loaded are the results, by the arguments they were asked for with.
	loaded map[string]result[K, V]
}

type result[K comparable, V any] struct {
	values map[K]V
	err    error
}

// want adds a key; it must not be called once the nodes are asked for anything.
func (b *batch[K, V]) want(key K) {
	if !slices.Contains(b.keys, key) {
		b.keys = append(b.keys, key)
	}
}

// get returns the value of a key, the zero value when there is none. load is
// called once for each text of arguments, with all keys.
func (b *batch[K, V]) get(ctx context.Context, arguments string, key K, load func(context.Context, []K) (map[K]V, error)) (V, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done, ok := b.loaded[arguments]
	if !ok {
		done.values, done.err = load(ctx, b.keys)
		if b.loaded == nil {
			b.loaded = map[string]result[K, V]{}
		}
		b.loaded[arguments] = done
	}
	return done.values[key], done.err
}

// usersOf are the users that several nodes of an answer name.
type usersOf struct {
	batch[referral.Identity, *user]
}

// name is an identity as a key: without what else is known of it.
func name(who referral.Identity) referral.Identity {
	return referral.Identity{Account: who.Account, User: who.User}
}

func (b *usersOf) want(who referral.Identity) {
	if who.User != "" {
		b.batch.want(name(who))
	}
}

// get returns a user, or nil when there is no such one.
func (b *usersOf) get(ctx context.Context, c *call, who referral.Identity) (*user, error) {
	if who.User == "" {
		return nil, nil
	}
	return b.batch.get(ctx, "", name(who), func(ctx context.Context, ids []referral.Identity) (map[referral.Identity]*user, error) {
		found, err := c.engine.Users.ListByID(ctx, c.tenant, ids)
		byID := make(map[referral.Identity]*user, len(found))
		for _, u := range newUsers(c, found) {
			byID[u.who()] = u
		}
		return byID, err
	})
}

func who(u wire.UserInfo) referral.Identity {
	return referral.Identity{Account: u.User.Account, User: u.User.ID}
}
