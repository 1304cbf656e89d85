package graphql

import (
	"context"
	"slices"
	"sync"

	"kith/core/referral"
)

// loader loads a value for each of several nodes of an answer, such as the rewards of
// each user of a list. It loads the values of all nodes when the first one is used, so
// that a nested list takes one SQL statement for each level of the answer and not for
// each node.
type loader[K comparable, V any] struct {
	mu sync.Mutex
	// keys are the keys of all nodes, each once.
	keys []K
	// loaded has the results by the arguments of the field.
	loaded map[string]result[K, V]
}

type result[K comparable, V any] struct {
	values map[K]V
	err    error
}

// add adds a key. It must not be called after get.
func (l *loader[K, V]) add(key K) {
	if !slices.Contains(l.keys, key) {
		l.keys = append(l.keys, key)
	}
}

// get returns the value of a key, or the zero value if load returned none for it. load is
// called once for each value of arguments, with all keys.
func (l *loader[K, V]) get(ctx context.Context, arguments string, key K, load func(context.Context, []K) (map[K]V, error)) (V, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, ok := l.loaded[arguments]
	if !ok {
		done.values, done.err = load(ctx, l.keys)
		if l.loaded == nil {
			l.loaded = map[string]result[K, V]{}
		}
		l.loaded[arguments] = done
	}
	return done.values[key], done.err
}

// userLoader loads the users to which several nodes of an answer refer.
type userLoader struct {
	loader[referral.Identity, *user]
}

// idsOnly returns an identity with its ids only, for use as a key.
func idsOnly(identity referral.Identity) referral.Identity {
	return referral.Identity{Account: identity.Account, User: identity.User}
}

func (l *userLoader) add(identity referral.Identity) {
	if identity.User != "" {
		l.loader.add(idsOnly(identity))
	}
}

// get returns a user, or nil if there is no such user.
func (l *userLoader) get(ctx context.Context, c *call, identity referral.Identity) (*user, error) {
	if identity.User == "" {
		return nil, nil
	}
	return l.loader.get(ctx, "", idsOnly(identity), func(ctx context.Context, ids []referral.Identity) (map[referral.Identity]*user, error) {
		found, err := c.engine.Users.ListByID(ctx, c.tenant, ids)
		byID := make(map[referral.Identity]*user, len(found))
		for _, u := range newUsers(c, found) {
			byID[u.identity()] = u
		}
		return byID, err
	})
}
