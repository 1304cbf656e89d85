package braintreelab

import (
	"time"

	"kith/backend/gateway/xmltree"
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

// once runs a command that has a key at most once. A repeated request gets the
// transaction of the first. A refused request uses up its key: the gateway has an error
// code for that, which the lab interprets in the strictest way.
func (b *book) once(c command, do func(command) reply) reply {
	key := c.body.Value("transaction", "api_request_key")
	if key == "" {
		return do(c)
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
	answer := do(c)
	b.used[key] = &usedKey{request: request, at: b.now, failed: answer.status >= 300, transaction: transactionOf(answer)}
	return answer
}

func transactionOf(answer reply) string {
	if answer.doc == nil {
		return ""
	}
	return answer.doc.Value("id")
}

func refusedKey(code string) reply {
	bad := problems{}
	bad.add([]string{"transaction"}, "api_request_key", code)
	return refused(bad, (*xmltree.Node)(nil))
}
