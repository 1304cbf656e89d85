package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"kith/edge/abi"
	"kith/wasm/bodies"
	"kith/wasm/fuel"
	"kith/wasm/watchdog"
)

// Host serves one component over HTTP. It is made by Load and is safe for
// concurrent use.
type Host struct {
	options Options
	app     *application
	stores  map[string]*keyValue

	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	// image is taken from the first instance. With Fresh it is not restored.
	image *image
	// arena is true if the component exports abi.ExportArena.
	arena     bool
	cache     wazero.CompilationCache
	transport *http.Transport
	send      func(*http.Request) (*http.Response, error)
	stats     counters
	// watchdogs watch servers that the component calls, by scheme and host.
	watchdogs map[string]*watchdog.Watchdog

	bodies *bodies.Budget

	// reserved and unreserved have an element for every running request. idle has the
	// instances that are not in use, the most recently used last.
	reserved, unreserved chan struct{}
	mu                   sync.Mutex
	idle                 []*guest
	// lookUps and others count the requests that run in or wait for an instance.
	lookUps, others int

	// active counts requests from their first byte to their last. While closing is true
	// it only decreases, and at zero drained is closed.
	active  int
	closing bool
	drained chan struct{}
	// running has the requests that run in or wait for an instance. It is nil after stop.
	running map[*request]struct{}
	// looker calls look, if looks is true.
	looker *time.Timer
	looks  bool
}

// Load reads the Spin manifest at path, compiles the component and makes a first instance
// of it. It fails if the manifest uses something that this host does not support, if a
// required variable is missing, or if the host cannot run the module. The error lists all
// problems found in one stage.
func Load(ctx context.Context, path string, options Options) (*Host, error) {
	h := &Host{options: options.withDefaults(), drained: make(chan struct{}), running: make(map[*request]struct{})}
	h.looker = time.AfterFunc(time.Hour, h.look)
	h.looker.Stop()
	h.reserved = make(chan struct{}, h.options.reserved())
	h.unreserved = make(chan struct{}, h.options.Instances-h.options.reserved())
	h.bodies = bodies.NewBudget(h.options.Bodies)
	h.transport = newTransport(h.options.Instances)
	var transport http.RoundTripper = h.transport
	if h.options.Wrap != nil {
		transport = h.options.Wrap(transport)
	}
	h.send = transport.RoundTrip // an http.Client would follow redirects; the guest decides about them
	if h.options.StrictSpin {
		h.send = followRedirects(transport)
	}
	if err := h.watch(); err != nil {
		return nil, errors.Join(err, h.release(ctx))
	}
	if err := h.load(ctx, path); err != nil {
		return nil, errors.Join(err, h.release(ctx))
	}
	return h, nil
}

func (h *Host) load(ctx context.Context, path string) (err error) {
	text, err := h.options.ReadFile(path)
	if err != nil {
		return fmt.Errorf("host: manifest: %w", err)
	}
	if h.app, err = parseManifest(path, text, h.options.Variables, h.options.Optional); err != nil {
		return err
	}
	code, err := h.options.ReadFile(h.app.source)
	if err != nil {
		return fmt.Errorf("host: component: %w", err)
	}
	if err := h.compile(ctx, code); err != nil {
		return fmt.Errorf("host: %s: %w", h.app.source, err)
	}
	h.stores = h.openStores()
	first := &request{client: ctx}
	if err := h.enter(first); err != nil {
		return err
	}
	defer h.leave(first)
	g, err := h.newGuest(first)
	if err != nil {
		return err
	}
	h.image = takeImage(g)
	h.put(g)
	return nil
}

func (h *Host) compile(ctx context.Context, code []byte) (err error) {
	if code, err = fuel.Add(code); err != nil {
		return err
	}
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(h.options.MaxMemory / wasmPage))
	if err = h.compileCached(ctx, code, config); err != nil {
		return err
	}
	_, h.arena = h.compiled.ExportedFunctions()[abi.ExportArena]
	return errors.Join(
		checkExports(h.compiled.ExportedFunctions(), h.compiled.ExportedMemories()),
		checkImports(h.compiled.ImportedFunctions()))
}

// compileCached compiles with the folder of compiled code, or without it if it cannot be used.
func (h *Host) compileCached(ctx context.Context, code []byte, config wazero.RuntimeConfig) error {
	if h.options.CacheDir == "" {
		return h.compileWith(ctx, code, config)
	}
	cache, err := wazero.NewCompilationCacheWithDir(h.options.CacheDir)
	if err == nil {
		h.cache = cache
		err = h.compileWith(ctx, code, config.WithCompilationCache(cache))
		if file := (*fs.PathError)(nil); !errors.As(err, &file) {
			return err
		}
		_ = h.runtime.Close(ctx)
	}
	h.options.Log.Warn("the compiled component is not kept, so each start takes longer: free space on the disk, or give the folder to the user that runs kith, or remove it", "folder", h.options.CacheDir, "error", err)
	return h.compileWith(ctx, code, config)
}

func (h *Host) compileWith(ctx context.Context, code []byte, config wazero.RuntimeConfig) (err error) {
	h.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err = h.offerImports(ctx); err == nil {
		h.compiled, err = h.runtime.CompileModule(ctx, code)
	}
	return err
}

func (h *Host) moduleConfig(output *lines) wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName(""). // instances are many
		WithStartFunctions().
		WithStdout(output).WithStderr(output).
		WithRandSource(randomSource{}).
		WithWalltime(h.walltime, sys.ClockResolution(1000)).
		WithSysNanotime()
}

func (h *Host) walltime() (sec int64, nsec int32) {
	now := h.options.Now()
	return now.Unix(), int32(now.Nanosecond())
}

// Close refuses new requests, waits until the running ones have been answered or ctx is
// done, ends the rest, and frees all resources. If requests were ended, its error includes
// that of ctx; it also includes the errors of closing the databases.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	first := !h.closing
	h.closing = true
	if first && h.active == 0 {
		close(h.drained)
	}
	h.mu.Unlock()
	if !first {
		return nil
	}
	var err error
	select {
	case <-h.drained:
	case <-ctx.Done():
		err = fmt.Errorf("host: requests were ended: %w", ctx.Err())
		h.stop()
		<-h.drained
	}
	return errors.Join(err, h.release(context.WithoutCancel(ctx)))
}

// stop ends the requests for which Close does not wait any longer.
func (h *Host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for in := range h.running {
		in.end(context.Canceled)
	}
	h.running = nil
}

// release frees whatever load has made.
func (h *Host) release(ctx context.Context) error {
	for _, w := range h.watchdogs {
		w.Close()
	}
	h.transport.CloseIdleConnections()
	var errs []error
	if h.runtime != nil {
		errs = append(errs, h.runtime.Close(ctx))
	}
	if h.cache != nil {
		errs = append(errs, h.cache.Close(ctx))
	}
	for _, d := range h.options.Databases {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
