package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"kith/edge/abi"
)

// imported is one function that the guest can import. It returns an error only if the
// guest violated the ABI or the request has ended; both end the instance.
type imported struct {
	module, name string
	params       int
	call         func(*guest, context.Context, []uint64) error
}

var offered = []imported{
	{abi.ModuleSQLite, abi.SQLiteOpen, 3, (*guest).sqliteOpen},
	{abi.ModuleSQLite, abi.SQLiteExecute, 6, (*guest).sqliteExecute},
	{abi.ModuleSQLite, abi.SQLiteClose, 1, (*guest).sqliteClose},
	{abi.ModuleOutbound, abi.OutboundRequest, 11, (*guest).outboundRequest},
	{abi.ModuleConfig, abi.ConfigGet, 3, (*guest).configGet},
	{abi.ModuleKeyValue, abi.KeyValueOpen, 3, (*guest).keyValueOpen},
	{abi.ModuleKeyValue, abi.KeyValueGet, 4, (*guest).keyValueGet},
	{abi.ModuleKeyValue, abi.KeyValueSet, 6, (*guest).keyValueSet},
	{abi.ModuleKeyValue, abi.KeyValueDelete, 4, (*guest).keyValueDelete},
	{abi.ModuleKeyValue, abi.KeyValueExists, 4, (*guest).keyValueExists},
	{abi.ModuleKeyValue, abi.KeyValueClose, 1, (*guest).keyValueClose},
}

// checkImports reports every import that this host does not offer.
func checkImports(functions []api.FunctionDefinition) error {
	var errs []error
	for _, f := range functions {
		module, name, _ := f.Import()
		known := func(i imported) bool { return i.module == module && i.name == name }
		if module != abi.ModuleWASI && !slices.ContainsFunc(offered, known) {
			errs = append(errs, fmt.Errorf("the module imports %s.%s, which this host does not offer", module, name))
		}
	}
	return errors.Join(errs...)
}

// offerImports registers the imports in the runtime.
func (h *Host) offerImports(ctx context.Context) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, h.runtime); err != nil {
		return err
	}
	for _, module := range []string{abi.ModuleSQLite, abi.ModuleOutbound, abi.ModuleConfig, abi.ModuleKeyValue} {
		builder := h.runtime.NewHostModuleBuilder(module)
		for _, i := range offered {
			if i.module == module {
				words := slices.Repeat([]api.ValueType{api.ValueTypeI32}, i.params)
				builder.NewFunctionBuilder().WithGoModuleFunction(i.function(), words, nil).Export(i.name)
			}
		}
		if _, err := builder.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// function adapts an import to wazero. An import can end the guest only by a panic;
// wazero returns it as the error of the call into the guest.
func (i imported) function() api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		g, ok := ctx.Value(guestKey{}).(*guest)
		if !ok || g.inRealloc || g.realloc == nil {
			panic(faultf("%s.%s called during an allocation", i.module, i.name))
		}
		if err := i.call(g, ctx, stack); err != nil {
			panic(err)
		}
	}
}
