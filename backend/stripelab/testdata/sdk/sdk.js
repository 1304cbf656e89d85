// Runs calls of Stripe's own client library, unmodified: one JSON line in, one JSON line out.
//
// in:  {"call": "subscriptions.update", "args": [...]}
//      {"event": BODY, "signature": HEADER, "secret": SECRET}
// out: {"value": ...}, or {"error": {"type", "code", "param", "status", "message"}}
"use strict";

const readline = require("readline");
const Stripe = require("stripe");

const [host, port, key] = process.argv.slice(2);
const stripe = new Stripe(key, { host, port, protocol: "http", telemetry: false, maxNetworkRetries: 2 });

async function run(request) {
  if (request.event) {
    return stripe.webhooks.constructEvent(request.event, request.signature, request.secret, Infinity);
  }
  const path = request.call.split(".");
  const method = path.pop();
  const part = path.reduce((on, name) => on[name], stripe);
  const value = await part[method](...(request.args ?? []));
  return { ...value, lastResponse: undefined, replayed: value.lastResponse?.headers?.["idempotent-replayed"] };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer;
    try {
      answer = { value: await run(JSON.parse(line)) };
    } catch (e) {
      answer = { error: { type: e.type, code: e.code, param: e.param, status: e.statusCode, message: e.message } };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  // Its connections would keep the process alive until they time out.
  process.exit(0);
})();
