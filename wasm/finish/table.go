package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"kith/wasm/module"
)

// withoutTable removes the table of functions: wazero fills it in each instance, which took an
// eighth of the time of a request whose instance is new. An indirect call becomes the call of a
// dispatcher: a function for each type, which calls the one that the table has at an index.
// wasm-opt then inlines what only a dispatcher calls, and removes functions that no indirect call
// can reach. Uncalled functions are left out; a call of one ends the instance.
func withoutTable(all []module.Section, imported uint32, uncalled map[uint32]bool) ([]module.Section, error) {
	elements := module.Find(all, module.Element)
	if elements == nil {
		return all, nil
	}
	table, err := tableOf(elements, imported)
	if err != nil {
		return nil, err
	}
	types, err := typesOf(module.Find(all, module.Type))
	if err != nil {
		return nil, err
	}
	own := typeIndexes(module.Find(all, module.Function))
	dispatchers := map[uint32]uint32{} // by the type of the call
	var added [3][][]byte              // types, functions and code
	dispatcher := func(of uint32) uint32 {
		if index, ok := dispatchers[of]; ok {
			return index
		}
		reachable := map[uint32]uint32{}
		for at, function := range table {
			if !uncalled[function] && types[own[function-imported]].equal(types[of]) {
				reachable[at] = function
			}
		}
		index := imported + uint32(len(own)+len(dispatchers))
		dispatchers[of] = index
		added[0] = append(added[0], types[of].withIndex())
		added[1] = append(added[1], module.AppendUnsigned(nil, uint32(len(types)+len(added[1]))))
		added[2] = append(added[2], module.AppendSized(nil, dispatch(types[of].params, reachable)))
		return index
	}
	code := module.Find(all, module.Code)
	if err := code.Rewrite(func(_ uint32, code []byte) ([]byte, error) { return direct(code, dispatcher) }); err != nil {
		return nil, err
	}
	for i, id := range []byte{module.Type, module.Function, module.Code} {
		module.Find(all, id).Add(added[i]...)
	}
	return slices.DeleteFunc(all, func(s module.Section) bool { return s.ID == module.Table || s.ID == module.Element }), nil
}

// direct returns a function's code with calls of dispatchers in place of indirect calls.
func direct(code []byte, dispatcher func(of uint32) uint32) ([]byte, error) {
	var out []byte
	locals, err := module.Walk(code, func(in module.Instruction, bytes []byte) error {
		if in.Op == module.OpCallIndirect {
			out = module.AppendUnsigned(append(out, module.OpCall), dispatcher(in.Index))
		} else {
			out = append(out, bytes...)
		}
		return nil
	})
	return slices.Concat(locals, out), err
}

// dispatch returns the code of a dispatcher: it passes its parameters, but for the index at their
// end, to a function of the table.
func dispatch(params uint32, reachable map[uint32]uint32) []byte {
	if len(reachable) == 0 {
		return []byte{0, module.OpUnreachable, module.OpEnd}
	}
	places := slices.Sorted(maps.Keys(reachable))
	code := []byte{0} // no local variables
	for range len(places) + 1 {
		code = append(code, module.OpBlock, module.BlockVoid)
	}
	first, last := places[0], places[len(places)-1]
	code = module.AppendUnsigned(append(code, module.OpLocalGet), params)
	code = append(module.AppendSigned(append(code, module.OpI32Const), int32(first)), module.OpI32Sub)
	code = module.AppendUnsigned(append(code, module.OpBranchTable), last-first+1)
	for at := first; at <= last; at++ {
		block, ok := slices.BinarySearch(places, at)
		if !ok {
			block = len(places)
		}
		code = module.AppendUnsigned(code, uint32(block))
	}
	code = module.AppendUnsigned(code, uint32(len(places)))
	for _, at := range places {
		code = append(code, module.OpEnd)
		for i := range params {
			code = module.AppendUnsigned(append(code, module.OpLocalGet), i)
		}
		code = append(module.AppendUnsigned(append(code, module.OpCall), reachable[at]), module.OpReturn)
	}
	return append(code, module.OpEnd, module.OpUnreachable, module.OpEnd)
}

// tableOf returns the functions of a table by their places. They must be the module's own.
func tableOf(elements *module.Section, imported uint32) (map[uint32]uint32, error) {
	r := module.Reader{In: elements.Body}
	table := map[uint32]uint32{}
	for range r.Unsigned() {
		at, err := offset(&r)
		if err != nil {
			return nil, err
		}
		for i := range r.Unsigned() {
			function := r.Unsigned()
			if r.Cut {
				return nil, module.ErrTruncated
			}
			if function < imported {
				return nil, fmt.Errorf("the table has the imported function %d, of which no dispatcher knows the type", function)
			}
			table[uint32(at)+i] = function
		}
	}
	return table, nil
}

// functionType is a type in the binary format, and how many parameters it has.
type functionType struct {
	params          uint32
	inputs, outputs []byte
}

// withIndex returns the type with a further parameter: the index of a function in the table.
func (t functionType) withIndex() []byte {
	b := module.AppendUnsigned([]byte{module.TypeFunction}, t.params+1)
	return module.AppendSized(append(append(b, t.inputs...), module.TypeI32), t.outputs)
}

func (t functionType) equal(u functionType) bool {
	return bytes.Equal(t.inputs, u.inputs) && bytes.Equal(t.outputs, u.outputs)
}

func typesOf(s *module.Section) (all []functionType, err error) {
	r := module.Reader{In: s.Body}
	for range r.Unsigned() {
		if kind := r.Byte(); kind != module.TypeFunction {
			return nil, fmt.Errorf("the type %d is none of a function", len(all))
		}
		inputs, outputs := r.Sized(), r.Sized()
		all = append(all, functionType{params: uint32(len(inputs)), inputs: inputs, outputs: outputs})
	}
	if r.Cut {
		return nil, errors.New("the types are truncated")
	}
	return all, nil
}

// typeIndexes returns the types of a module's own functions.
func typeIndexes(s *module.Section) []uint32 {
	r := module.Reader{In: s.Body}
	types := make([]uint32, 0, r.Unsigned())
	for len(r.In) > 0 {
		types = append(types, r.Unsigned())
	}
	return types
}
