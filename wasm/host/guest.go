package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"kith/edge/abi"
	"kith/wasm/fuel"
)

// guest is one instance of the component. It serves one request at a time.
type guest struct {
	host   *Host
	module api.Module
	memory api.Memory
	output *lines

	// The exports are looked up once: the look-up costs more than the call.
	handle, realloc api.Function
	end             api.MutableGlobal
	// used is an address above which the last request has written nothing.
	used uint32
	// free is what is left of the last block that alloc got for several values.
	free block

	// inRealloc is true while the guest allocates. Imports are refused then, since they
	// would start another allocation.
	inRealloc bool
	// reserved is true while a reserved instance runs a request: it may then only read
	// databases. refused is true once the guest tried more than that.
	reserved, refused bool
	open              []Connection // of this request, by handle - 1
	stores            []*keyValue  // of this request, by handle - 1
	stack             [4]uint64
	scratch           []byte
}

// signature is the number of i32 parameters and results of an export.
type signature struct{ params, results int }

var exports = map[string]signature{
	abi.ExportHandle:  {10, 1},
	abi.ExportRealloc: {4, 1},
}

// checkExports reports every export that is missing or has another signature.
func checkExports(functions map[string]api.FunctionDefinition, memories map[string]api.MemoryDefinition) error {
	var errs []error
	for name, want := range exports {
		f, ok := functions[name]
		if !ok {
			errs = append(errs, fmt.Errorf("the module does not export %s", name))
		} else if !isWords(f.ParamTypes(), want.params) || !isWords(f.ResultTypes(), want.results) {
			errs = append(errs, fmt.Errorf("export %s: want %d i32 parameters and %d results", name, want.params, want.results))
		}
	}
	for _, name := range starts {
		if f, ok := functions[name]; ok && len(f.ParamTypes())+len(f.ResultTypes()) != 0 {
			errs = append(errs, fmt.Errorf("export %s: want no parameters and results", name))
		}
	}
	if _, ok := memories[abi.ExportMemory]; !ok {
		errs = append(errs, fmt.Errorf("the module does not export its %s", abi.ExportMemory))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func isWords(types []api.ValueType, n int) bool {
	return len(types) == n && !slices.ContainsFunc(types, func(t api.ValueType) bool { return t != api.ValueTypeI32 })
}

// newGuest makes an instance that may serve a request.
func (h *Host) newGuest(in *request) (*guest, error) {
	g := &guest{host: h, output: &lines{log: h.options.Log, budget: maxLines}}
	module, err := h.runtime.InstantiateModule(in, h.compiled, h.moduleConfig(g.output))
	if err != nil {
		return nil, fmt.Errorf("host: instantiate: %w", err)
	}
	g.module, g.memory = module, module.ExportedMemory(abi.ExportMemory)
	g.handle = module.ExportedFunction(abi.ExportHandle)
	g.realloc = module.ExportedFunction(abi.ExportRealloc)
	g.end = module.ExportedGlobal(fuel.End).(api.MutableGlobal)
	h.stats.live.Add(1)
	if h.image != nil && !h.options.Fresh {
		h.image.restore(g, g.memory.Size())
	} else if err := g.initialize(in); err != nil {
		g.close()
		return nil, fmt.Errorf("host: initialise: %w", err)
	}
	h.stats.made.Add(1)
	return g, nil
}

// starts are the exports that initialize an instance, in their order. As on Spin, an
// instance that serves one request does no work for further ones.
var starts = []string{abi.ExportInitialize, abi.ExportPrepare}

func (g *guest) initialize(in *request) error {
	names := starts
	if g.host.options.Fresh {
		names = names[:1]
	}
	for _, name := range names {
		start := g.module.ExportedFunction(name)
		if start == nil {
			continue
		}
		if err := g.during(in, func() error { return start.CallWithStack(in, nil) }); err != nil {
			return err
		}
		g.free = block{}
	}
	return nil
}

// refuse reports whether the instance may only read databases, and records that it tried
// more. Its output about that is dropped.
func (g *guest) refuse() bool {
	if g.reserved {
		g.refused, g.output.budget = true, 0
	}
	return g.reserved
}

// close frees the instance's memory. It is always safe to call.
func (g *guest) close() {
	g.output.flush()
	g.host.stats.live.Add(-1)
	_ = g.module.Close(context.Background()) // the only possible error is of open files, of which a guest has none
}

// wholeMemory is a view of the memory, until it grows.
func (g *guest) wholeMemory() []byte {
	memory, _ := g.memory.Read(0, g.memory.Size())
	return memory
}

// during calls the guest for a request, unless that has ended or ends meanwhile. After an
// error the instance must not be used again.
func (g *guest) during(in *request, call func() error) error {
	if err := in.use(g); err != nil {
		return err
	}
	err := call()
	return errors.Join(err, in.use(nil))
}

// serve runs one request. After an error the instance must not be used again.
func (g *guest) serve(in *request) (out *response, err error) {
	err = g.during(in, func() (err error) {
		out, err = g.exchange(in, in)
		return err
	})
	return out, err
}

func (g *guest) exchange(ctx context.Context, in *request) (*response, error) {
	g.output.budget, g.free = maxLines, block{}
	defer g.closeConnections()
	stack, err := g.putRequest(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := g.handle.CallWithStack(ctx, stack[:]); err != nil {
		return nil, err
	}
	out, err := g.takeResponse(uint32(stack[0]))
	if err == nil {
		g.used, err = g.top(ctx)
	}
	if g.refused {
		g.output.discard() // the request will run again
	}
	g.output.flush()
	return out, err
}

// putRequest copies the request into the guest and returns the parameters of
// abi.ExportHandle.
func (g *guest) putRequest(ctx context.Context, in *request) (stack [10]uint64, err error) {
	var words [40]byte
	record, err := g.put(ctx, words[:0], in.uri)
	if err != nil {
		return stack, err
	}
	if record, err = g.putHeaders(ctx, record, in.headers); err != nil {
		return stack, err
	}
	// As in Spin, the parameter list is empty, and there is always a body, possibly empty.
	record = appendWords(record, abi.WordAlign, 0, abi.TagSome)
	if record, err = g.putBytes(ctx, record, in.body); err != nil {
		return stack, err
	}
	stack[0] = uint64(in.method)
	for i := range stack[1:] {
		stack[1+i] = uint64(word(record, 4*i))
	}
	return stack, nil
}

// takeResponse copies the response record at ptr and everything it points to. The guest
// need not free it, since its memory is restored or dropped.
func (g *guest) takeResponse(ptr uint32) (*response, error) {
	record, err := g.viewRecord(ptr, abi.ResponseSize, abi.WordAlign, "response")
	if err != nil {
		return nil, err
	}
	out := &response{status: int(record[abi.ResponseStatus]) | int(record[abi.ResponseStatus+1])<<8}
	if record[abi.ResponseHasHeader] > abi.TagSome || record[abi.ResponseHasBody] > abi.TagSome {
		return nil, fault("response has an option with an unknown tag")
	}
	if record[abi.ResponseHasHeader] != abi.TagNone {
		if out.headers, err = g.takeHeaders(record[abi.ResponseHeader:]); err != nil {
			return nil, err
		}
	}
	if record[abi.ResponseHasBody] != abi.TagNone {
		body, err := g.viewString(record[abi.ResponseBody:], "response body")
		if err != nil {
			return nil, err
		}
		out.body = bytes.Clone(body)
	}
	return out, out.check()
}

// takeHeaders copies a list of headers.
func (g *guest) takeHeaders(record []byte) ([]header, error) {
	ptr, count := word(record, 0), word(record, 4)
	list, err := g.viewList(ptr, count, abi.HeaderSize, abi.WordAlign, maxHeaders, "header list")
	if err != nil {
		return nil, err
	}
	headers := make([]header, count)
	size := 0
	for i := range headers {
		r := list[i*abi.HeaderSize:]
		if headers[i], err = g.takeHeader(r); err != nil {
			return nil, err
		}
		if size += len(headers[i].name) + len(headers[i].value); size > maxHeaderBytes {
			return nil, faultf("headers exceed %d bytes", maxHeaderBytes)
		}
	}
	return headers, nil
}

func (g *guest) takeHeader(record []byte) (h header, err error) {
	if h.name, err = g.copyString(record, "header name"); err != nil {
		return h, err
	}
	h.value, err = g.copyString(record[abi.StringSize:], "header value")
	return h, err
}
