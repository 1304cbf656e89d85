// Runs calls of the gateway's own client library, unmodified: one JSON
// line in, one JSON line out.
//
// in:  {"call": "subscription.update", "args": [...]}
//      {"search": "subscription", "criteria": [["planId", "is", "pro"]]}
// out: {"value": ...}, or {"error": "notFoundError"}; a result that is
//      not a success has its reasons in "failures".
"use strict";

const readline = require("readline");
const braintree = require("braintree");

const [host, port, merchantId, publicKey, privateKey] = process.argv.slice(2);
const gateway = new braintree.BraintreeGateway({
  environment: new braintree.Environment(host, port, "", false, host, port),
  merchantId,
  publicKey,
  privateKey,
});

function search({ search, criteria }) {
  return new Promise((resolve, reject) => {
    const found = [];
    const stream = gateway[search].search((s) => {
      for (const [field, how, value] of criteria) {
        s[field]()[how](value);
      }
    });
    stream.on("data", (one) => found.push(one));
    stream.on("end", () => resolve(found));
    stream.on("error", reject);
  });
}

async function call({ call, args }) {
  const [part, method] = call.split(".");
  const value = await gateway[part][method](...args);
  if (value && value.success === false) {
    return { ...value, errors: undefined, failures: value.errors.deepErrors(), nested: value.errors };
  }
  return value;
}

async function answer(line) {
  const request = JSON.parse(line);
  try {
    const value = await (request.search ? search(request) : call(request));
    return { value };
  } catch (e) {
    return { error: e.type || String(e) };
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(line)) + "\n");
  }
})();
