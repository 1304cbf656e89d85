package wire

import (
	"github.com/valyala/fastjson"

	"kith/core/billing"
)

// ParseConnection parses the body of PUT /gateway/braintree/connection: merchantId,
// publicKey, privateKey, and furtherKeys, a list of key pairs. A private key that is
// left out does not change; see billing.Connection.Check. The base URL is not in the
// body, because only the operator may set it.
func ParseConnection(body []byte) (billing.Connection, error) {
	var merchant *string
	var first keyPair
	var further []billing.Key
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "merchantId":
			return r.text(&merchant, key, v)
		case "furtherKeys":
			return r.items(key, v, billing.MaxKeys-1, func(i int, v *fastjson.Value) error {
				var pair keyPair
				err := fields(v, element(key, i), pair.take)
				further = append(further, pair.key())
				return err
			})
		}
		return first.take(r, key, v)
	})
	if err != nil {
		return billing.Connection{}, err
	}
	c := billing.Connection{MerchantID: textOf(merchant), Keys: []billing.Key{first.key()}}
	c.Keys = append(c.Keys, further...)
	return c, nil
}

type keyPair struct{ public, private *string }

func (p *keyPair) take(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "publicKey":
		return r.text(&p.public, key, v)
	case "privateKey":
		return r.text(&p.private, key, v)
	}
	return false
}

func (p *keyPair) key() billing.Key {
	return billing.Key{Public: textOf(p.public), Private: textOf(p.private)}
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Connection returns a tenant's gateway connection as JSON, without private keys.
func Connection(c billing.Connection) []byte {
	w := writer{}
	w.open()
	w.text("merchantId", c.MerchantID)
	w.text("publicKey", c.Keys[0].Public)
	further := make([]string, 0, len(c.Keys))
	for _, k := range c.Keys[1:] {
		further = append(further, k.Public)
	}
	w.key("furtherPublicKeys")
	w.b = appendTexts(w.b, further)
	w.textOrNull("baseUrl", c.BaseURL)
	w.date("dateCreated", c.Created)
	w.date("dateChecked", c.Checked)
	w.close()
	return w.b
}

// ConnectionTest returns the result of testing a connection as JSON.
func ConnectionTest(keys, discount bool, discountID string) []byte {
	w := writer{}
	w.open()
	w.boolean("keysAccepted", keys)
	w.boolean("discountFound", discount)
	w.text("discountId", discountID)
	w.close()
	return w.b
}
