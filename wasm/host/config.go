package host

import (
	"context"

	"kith/edge/abi"
)

// configGet implements spin-config.get-config(key ptr, len, result): it returns the value
// of a variable of the component.
func (g *guest) configGet(ctx context.Context, stack []uint64) error {
	key, err := g.view(uint32(stack[0]), uint32(stack[1]), "variable name")
	if err != nil {
		return err
	}
	name, result := string(key), uint32(stack[2])
	if value, ok := g.host.variable(name); ok {
		return g.answerString(ctx, result, []uint32{abi.TagOK}, value)
	}
	code := abi.ConfigOther
	if !validKey(name) {
		code = abi.ConfigInvalidKey
	}
	return g.answerString(ctx, result, []uint32{abi.TagErr, uint32(code)}, "no variable is named "+name)
}

// answerString writes a result that consists of some words and a string.
func (g *guest) answerString(ctx context.Context, result uint32, words []uint32, s string) error {
	record, err := g.put(ctx, appendWords(nil, words...), s)
	if err != nil {
		return err
	}
	return g.answer(result, record)
}
