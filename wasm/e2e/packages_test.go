package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// npmClient is the folder of @kith/client.
var npmClient = filepath.Join(root, "clients", "npm")

// The types of @kith/client permit and refuse what test/types.ts says.
func TestPackages_Types(t *testing.T) {
	t.Parallel()
	command := exec.Command(filepath.Join("node_modules", ".bin", "tsc"), "-p", "test")
	command.Dir = npmClient
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s; run make test-needs", output)
}

// What npm packs can be installed and imported. The client for servers calls the edge and
// the backend.
func TestPackages_Node(t *testing.T) {
	t.Parallel()
	t.Run("pack", func(t *testing.T) {
		t.Parallel()
		nodeTest(t, "pack.test.mjs", "")
	})
	for name, base := range map[string]func(*site) string{
		"edge":    func(s *site) string { return s.edge },
		"backend": func(s *site) string { return s.backend },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.dev(t)
			s.allowAddress(t, "127.0.0.1")
			nodeTest(t, "server.test.mjs", base(s))
		})
	}
}

// nodeTest runs a file of tests of @kith/client; none may be skipped.
func nodeTest(t *testing.T, file, base string) {
	t.Helper()
	command := exec.Command("node", "--test", filepath.Join("test", file))
	command.Dir = npmClient
	command.Env = append(command.Environ(), "KITH_BASE="+base)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s; run make test-needs", output)
	require.Regexp(t, `\bskipped 0\b`, string(output))
	require.NotRegexp(t, `\bpass 0\b`, string(output))
}

// clientPage imports @kith/client as pages without a bundler do; require gives it React.
// render shows a component in a KithProvider.
const clientPage = `
	<script type="importmap">{"imports": {"@kith/client": "/@kith/client/index.js", "@kith/client/react": "/@kith/client/react.js", "react":
		"data:text/javascript,export const {createContext, createElement, useCallback, useContext, useEffect, useRef, useState} = require('react')"}}</script>
	<script type="module">
		import { createClient } from '@kith/client';
		import * as components from '@kith/client/react';
		const { createElement, useState } = require('react');
		function Controlled(props) {
			const [code, setCode] = useState(props.initial || '');
			return [createElement(components.ReferralCodeInput, { key: 1, id: 'code', ...props, value: code, onChange: (event) => setCode(event.target.value) }),
				createElement('p', { key: 2, id: 'state' }, 'state: ' + code)];
		}
		const reactRoot = require('react-dom/client').createRoot(document.querySelector('#root'));
		window.connect = (options) => createClient({ tenant: 'shop', timeout: 120000, ...options });
		window.errors = [];
		window.render = (client, name, props) => reactRoot.render(createElement(components.KithProvider, { client },
			createElement({ ...components, Controlled }[name], { onError: (error) => errors.push([error.name, error.status]), ...props })));
	</script>`

// react18 defines require for React 18, which has files for script elements.
const react18 = `<div id="root"></div><script src="/@kith/react/umd/react.production.min.js"></script><script src="/@kith/react-dom/umd/react-dom.production.min.js"></script>
	<script>function require(name) { return name == 'react' ? React : ReactDOM; }</script>`

// The Go program of the guide compiles outside of the tree, and runs.
func TestPackages_GoProgramOfTheGuide(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	module, err := filepath.Abs(filepath.Join(root, "clients", "go"))
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(blockWith(t, readDocument(t, guide), "go", "kith.New")), 0o600))
	run := func(args ...string) string {
		command := exec.Command("go", args...)
		command.Dir = folder
		// The flags of the tests: the standard library is compiled once.
		command.Env = append(command.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -gcflags=all=-dwarf=false", "KITH="+s.edge, "TENANT=demo", "API_KEY="+s.keys["demo"])
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	run("mod", "init", "shop")
	run("mod", "edit", "-require", "kith/clients/go@v0.0.0", "-replace", "kith/clients/go="+module)
	require.Regexp(t, `^Frank has the code [A-Z0-9]{8}\n$`, run("run", "."))
}

// @kith/client and its React components work in pages of another origin than the edge's,
// with React 19, and the components with React 18 too.
func TestPackages_Browser(t *testing.T) {
	t.Parallel()
	m := newMall(t)
	m.snippets = map[string]string{"client": blockWith(t, readDocument(t, guide), "js", "createClient(")}
	m.play(t, "client", "guide", "calls", "code", "cookieCode", "refusedCode", "shareLink", "widget", "codeInput", "typedCode", "refusedComponents", "react18")
}
