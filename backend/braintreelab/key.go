package braintreelab

import (
	"time"
)

// usedKey is a used at-most-once key.
type usedKey struct {
	// request is the complete request.
	request string
	at      time.Time
	failed  bool
	// transaction is the transaction that the call created or changed.
	transaction string
}

// keyLife is how long a key is stored; maxKey is its maximum length, in bytes.
const (
	keyLife = 30 * 24 * time.Hour
	maxKey  = 255
)

// once runs a command that has a key at most once: a repeated request gets the
// transaction of the first. A refused request uses up its key: the gateway has an error
// code for that, which the lab interprets in the strictest way.
func once(do func(*book, command) reply) func(*book, command) reply {
	return func(b *book, c command) reply {
		key := c.body.Value("transaction", "api_request_key")
		if key == "" {
			return do(b, c)
		}
		request := c.call + " " + c.id + "\n" + string(c.body.Encode())
		used := b.used[key]
		if used != nil && b.now.Sub(used.at) > keyLife {
			used = nil
		}
		switch {
		case len(key) > maxKey:
			return refusedKey("915230")
		case !b.settings.requestKeys:
			return refusedKey("915231")
		case used != nil && used.request != request:
			return refusedKey("915232")
		case used != nil && used.failed:
			return refusedKey("915234")
		case used != nil:
			return created(b.transactions.find(used.transaction).xml())
		}
		answer := do(b, c)
		b.used[key] = &usedKey{request: request, at: b.now, failed: answer.status >= 300, transaction: answer.doc.Value("id")}
		return answer
	}
}

func refusedKey(code string) reply { return refusedFor("transaction", "api_request_key", code) }
