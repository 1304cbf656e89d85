package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"kith/edge/abi"
)

// guest is one instance of the component. It serves one request at a time.
type guest struct {
	host   *Host
	module api.Module
	memory api.Memory
	output *lines

	// The exported functions are looked up once: the look-up costs more than the call.
	handle, realloc, free api.Function

	// inRealloc is true while the guest allocates. Imports are refused then, since they
	// would start another allocation.
	inRealloc bool
	// reserved is true while a reserved instance runs a request: it may then only read
	// databases. refused is true once the guest tried more than that.
	reserved, refused bool
	open              []Connection // of this request, by handle - 1
	stores            []*keyValue  // of this request, by handle - 1
	size              int64        // bytes of memory, when last measured
	stack             [4]uint64
	scratch           []byte
}

// signature is the number of i32 parameters and results of an export.
type signature struct{ params, results int }

var exports = map[string]signature{
	abi.ExportHandle:  {10, 1},
	abi.ExportRealloc: {4, 1},
	abi.ExportFree:    {3, 0},
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
	if f, ok := functions[abi.ExportInitialize]; ok && len(f.ParamTypes())+len(f.ResultTypes()) != 0 {
		errs = append(errs, fmt.Errorf("export %s: want no parameters and results", abi.ExportInitialize))
	}
	if _, ok := memories[abi.ExportMemory]; !ok {
		errs = append(errs, fmt.Errorf("the module does not export its %s", abi.ExportMemory))
	}
	slices.SortFunc(errs, func(a, b error) int { return compareErrors(a, b) })
	return errors.Join(errs...)
}

func isWords(types []api.ValueType, n int) bool {
	return len(types) == n && !slices.ContainsFunc(types, func(t api.ValueType) bool { return t != api.ValueTypeI32 })
}

// newGuest makes an instance and initializes it.
func (h *Host) newGuest(ctx context.Context) (*guest, error) {
	g := &guest{host: h, output: &lines{log: h.options.Log, budget: maxLines}}
	if !h.options.Fresh {
		ctx = experimental.WithMemoryAllocator(ctx, reserve(h.options.RetireMemory+wasmPage))
	}
	module, err := h.runtime.InstantiateModule(ctx, h.compiled, h.moduleConfig(g.output))
	if err != nil {
		return nil, fmt.Errorf("host: instantiate: %w", err)
	}
	g.module, g.memory = module, module.ExportedMemory(abi.ExportMemory)
	g.handle = module.ExportedFunction(abi.ExportHandle)
	g.realloc = module.ExportedFunction(abi.ExportRealloc)
	g.free = module.ExportedFunction(abi.ExportFree)
	if start := module.ExportedFunction(abi.ExportInitialize); start != nil {
		stop := endWith(ctx, module)
		err := start.CallWithStack(withGuest(ctx, g), nil)
		if !stop() || err != nil {
			g.close()
			return nil, fmt.Errorf("host: initialise: %w", errors.Join(err, ctx.Err()))
		}
	}
	h.stats.made.Add(1)
	g.measure()
	return g, nil
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
	g.host.stats.memory.Add(-g.size)
	g.size = 0
	_ = g.module.Close(context.Background()) // the only possible error is of open files, of which a guest has none
}

// measure records the size of the instance's memory.
func (g *guest) measure() {
	size := int64(g.memory.Size())
	g.host.stats.memory.Add(size - g.size)
	g.size = size
}

// serve runs one request. After an error the instance must not be used again.
func (g *guest) serve(ctx context.Context, in *request) (*response, error) {
	stop := endWith(ctx, g.module)
	out, err := g.exchange(withGuest(ctx, g), in)
	if !stop() {
		return nil, errors.Join(err, ctx.Err())
	}
	return out, err
}

func (g *guest) exchange(ctx context.Context, in *request) (*response, error) {
	g.output.budget = maxLines
	defer g.closeConnections()
	stack, err := g.putRequest(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := g.handle.CallWithStack(ctx, stack[:]); err != nil {
		return nil, err
	}
	out, err := g.takeResponse(ctx, uint32(stack[0]))
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

// takeResponse copies the response record at ptr and everything it points to, and then
// lets the guest free it, as Spin's post-return does.
func (g *guest) takeResponse(ctx context.Context, ptr uint32) (*response, error) {
	view, err := g.viewRecord(ptr, abi.ResponseSize, abi.WordAlign, "response")
	if err != nil {
		return nil, err
	}
	var record [abi.ResponseSize]byte // a copy, since the guest may overwrite its own while it frees
	copy(record[:], view)
	out := &response{status: int(record[abi.ResponseStatus]) | int(record[abi.ResponseStatus+1])<<8}
	if record[abi.ResponseHasHeader] > abi.TagSome || record[abi.ResponseHasBody] > abi.TagSome {
		return nil, fault("response has an option with an unknown tag")
	}
	if record[abi.ResponseHasHeader] != abi.TagNone {
		if out.headers, err = g.takeHeaders(ctx, record[abi.ResponseHeader:], true); err != nil {
			return nil, err
		}
	}
	if record[abi.ResponseHasBody] != abi.TagNone {
		out.body, err = g.takeBody(ctx, record[abi.ResponseBody:])
	}
	if err == nil {
		err = out.check()
	}
	return out, err
}

func (g *guest) takeBody(ctx context.Context, record []byte) ([]byte, error) {
	b, err := g.viewString(record, "response body")
	if err != nil {
		return nil, err
	}
	body := slices.Clone(b)
	return body, g.release(ctx, word(record, 0), word(record, 4), abi.ByteAlign)
}

// takeHeaders copies a list of headers. With release it also frees them.
func (g *guest) takeHeaders(ctx context.Context, record []byte, release bool) ([]header, error) {
	ptr, count := word(record, 0), word(record, 4)
	view, err := g.viewList(ptr, count, abi.HeaderSize, abi.WordAlign, maxHeaders, "header list")
	if err != nil {
		return nil, err
	}
	list := append(g.scratch[:0], view...)
	g.scratch = list
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
	if release {
		err = g.releaseHeaders(ctx, ptr, list)
	}
	return headers, err
}

func (g *guest) takeHeader(record []byte) (h header, err error) {
	if h.name, err = g.copyString(record, "header name"); err != nil {
		return h, err
	}
	h.value, err = g.copyString(record[abi.StringSize:], "header value")
	return h, err
}

// releaseHeaders frees every string of a list and then the list.
func (g *guest) releaseHeaders(ctx context.Context, ptr uint32, list []byte) error {
	for s := list; len(s) > 0; s = s[abi.StringSize:] {
		if err := g.release(ctx, word(s, 0), word(s, 4), abi.ByteAlign); err != nil {
			return err
		}
	}
	return g.release(ctx, ptr, uint32(len(list)), abi.WordAlign)
}
