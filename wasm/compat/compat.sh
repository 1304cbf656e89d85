#!/usr/bin/env bash
# Tests the OpenAPI document that the built program serves with common tools:
#
#   compat.sh SECONDS
#
# Generates a client in Java, Python and Go, compiles each, and runs the README's story
# with it on a new `kith dev`. Then runs schemathesis with all its checks for SECONDS on
# each server, edge and backend. It installs its tools in bin/compat. When it ends, also
# after an error, it leaves no process behind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=$1
here=wasm/compat tools=$PWD/bin/compat step=wasm/toolchain/step.sh
generator=7.17.0 generator_sha256=25d6bd8273dd2be99979d544b62ea43f0ce1975f1aa582678b5093d1e7fcfce8
jar=$tools/openapi-generator-cli-$generator.jar

fail() { echo "FAIL: $*" >&2; exit 1; }
java -version >/dev/null 2>&1 || fail "no Java; install one of 17 or later (apt-get install openjdk-17-jdk-headless)"
command -v mvn >/dev/null || fail "no Maven; install it (apt-get install maven)"
python3 -m venv --help >/dev/null 2>&1 || fail "no Python with venv; install it (apt-get install python3-venv)"

work=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
	server=
}
trap 'stop; rm -rf "$work"' EXIT

install_java() {
	mkdir -p "$tools"
	if ! echo "$generator_sha256  $jar" | sha256sum --check --status 2>/dev/null; then
		mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
			-Dartifact=org.openapitools:openapi-generator-cli:$generator -DoutputDirectory="$tools"
		echo "$generator_sha256  $jar" | sha256sum --check
	fi
}

install_python() {
	cmp -s $here/python/requirements.txt "$tools/venv/requirements.txt" && return
	rm -rf "$tools/venv"
	python3 -m venv "$tools/venv"
	"$tools/venv/bin/pip" install -q -r $here/python/requirements.txt
	cp $here/python/requirements.txt "$tools/venv/"
}

free_port() { "$tools/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# start runs a new `kith dev`, and sets edge and backend to its base URLs.
start() {
	stop
	edge=127.0.0.1:$(free_port) backend=127.0.0.1:$(free_port)
	rm -rf "$work/data"
	KITH_DATA=$work/data KITH_EDGE_ADDR=$edge KITH_BACKEND_ADDR=$backend KITH_LAB_ADDR=off KITH_STRIPE_LAB_ADDR=off KITH_SFTP_ADDR=off \
		bin/kith dev >"$work/kith.log" 2>&1 </dev/null &
	server=$!
	edge=http://$edge backend=http://$backend
	for _ in $(seq 300); do
		if get "$edge/healthz" >/dev/null 2>&1; then return; fi
		kill -0 $server 2>/dev/null || break
		sleep 0.2
	done
	cat "$work/kith.log"
	fail "kith dev does not answer"
}

get() { "$tools/venv/bin/python" -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$1"; }

make_java() {
	java -jar "$jar" generate -i "$work/openapi.json" -g java --library native -o "$work/java" \
		--additional-properties=hideGenerationTimestamp=true,openApiNullable=false
	cp $here/java/Story.java "$work/java/src/main/java/"
	(cd "$work/java" && mvn -q -B -DskipTests compile dependency:build-classpath -Dmdep.outputFile=classpath)
}

make_python() {
	"$tools/venv/bin/openapi-python-client" generate --path "$work/openapi.json" --output-path "$work/python/kith" --meta none --overwrite
	"$tools/venv/bin/python" -m compileall -q "$work/python"
}

make_go() { $here/go/generate.sh "$work/openapi.json" "$work/story"; }

story_java() { java -cp "$work/java/target/classes:$(cat "$work/java/classpath")" Story "$1"; }
story_python() { PYTHONPATH=$work/python "$tools/venv/bin/python" $here/python/story.py "$1"; }
story_go() { "$work/story" "$1"; }

# attack runs schemathesis on one server. Its exit status is ignored: the findings are
# compared with the accepted ones.
attack() {
	local name=$1 url=$2 config=$PWD/$here/schemathesis.toml hooks=$PWD/$here/python
	(cd "$work" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$hooks "$tools/venv/bin/schemathesis" --config-file "$config" run openapi.json --url "$url" --max-time "$seconds" --continue-on-failure \
		-H "Authorization: Basic $(printf :LIVE_DEMO_KEY_0123456789 | base64)" --suppress-health-check all --generation-database none \
		--report-ndjson-path "$name.ndjson" --no-color >"$name.log" 2>&1) || true
	[ -s "$work/$name.ndjson" ] && ! grep -q 'Test Execution Error' "$work/$name.log" || { tail -20 "$work/$name.log"; fail "schemathesis did not run to its end"; }
	grep -E 'Operations: |generated|Test cases' "$work/$name.log" | sed 's/^ */   /' || true
	cp "$work/$name.log" "$work/$name.ndjson" "$tools/"
	"$tools/venv/bin/python" $here/python/findings.py "$work/$name.ndjson" $here/accepted.txt
}

export -f install_java install_python make_java make_python make_go story_java story_python story_go
export here tools work jar generator generator_sha256
run() { local name=$1 about=$2; shift 2; $step "$name" "$about" bash -eu -o pipefail -c '"$@"' - "$@"; }

run "openapi-generator $generator" 30 install_java
run "openapi-python-client and schemathesis" 60 install_python
start
get "$backend/api/v1/openapi.json" >"$work/openapi.json"
mkdir -p "$work/python"
for language in java python go; do
	run "$language: generate and compile the client" 60 make_$language
	start
	run "$language: the story of a referral" 5 story_$language "$edge"
	echo "ok: $language"
done
failed=0
for name in edge backend; do
	start
	url=$backend
	[ $name = backend ] || url=$edge
	echo "== schemathesis on the $name ($seconds s)"
	attack $name "$url" || failed=1
done
[ $failed = 0 ] || fail "findings that wasm/compat/accepted.txt does not list; the logs are in bin/compat"
echo "ok: make compat, $(date -u +%F)"
