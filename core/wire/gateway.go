package wire

import (
	"github.com/valyala/fastjson"

	"kith/core/billing"
)

// ParseConnection reads the body of PUT /gateway/braintree/connection:
// merchantId, publicKey, privateKey, and furtherKeys, a list of key pairs. A
// private key that is not given stays what it is; see billing.Connection.Check.
// There is no base URL in it: that is the operator's to set.
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

// Connection writes how a tenant's gateway is reached, but for its private keys.
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

// ConnectionTest writes what trying a connection found.
func ConnectionTest(keys, discount bool, discountID string) []byte {
	w := writer{}
	w.open()
	w.boolean("keysAccepted", keys)
	w.boolean("discountFound", discount)
	w.text("discountId", discountID)
	w.close()
	return w.b
}
