// The pages that describe the API, in a browser that reaches nothing but Kith.

/** Opens a page, and fails on any request to another host and on any line in the console. */
async function open({ visitor, kith, errors }, path, options) {
  const page = await visitor(options);
  page.on('console', (message) => errors.push(`${message.type()}: ${message.text()}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(kith) && !request.url().startsWith('data:')) errors.push(`loads ${request.url()}`);
  });
  await page.goto(kith + path);
  return page;
}

const widths = [1280, 390];
const schemes = ['light', 'dark'];

/** Every combination of width and colours shows the page without a bar to scroll sideways. */
async function fits(given, path, heading) {
  for (const width of widths) {
    for (const colorScheme of schemes) {
      const page = await open(given, path, { viewport: { width, height: 900 }, colorScheme });
      given.assert.equal(await page.locator('h1').innerText(), heading);
      given.assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      given.assert.equal(background, colorScheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(255, 255, 255)', 'the style is applied');
    }
  }
}

export async function rest(given) {
  await fits(given, '/docs', 'Kith REST API');
  const page = await open(given, '/docs');
  await page.locator('nav summary', { hasText: 'events' }).click();
  await page.locator('nav a[href="#logEvents"]').click();
  const operation = page.locator('#logEvents');
  given.assert.match(await operation.innerText(), /order-0001/);
  await operation.locator('summary').click();
  given.assert.match(await operation.innerText(), /409\s+CONFLICT\s+These events were received before/);
}

export async function graphql(given) {
  await fits(given, '/docs/graphql', 'Kith GraphQL API');
  const page = await open(given, '/docs');
  await page.locator('nav a', { hasText: 'GraphQL' }).first().click();
  await page.waitForURL('**/docs/graphql');
  given.assert.match(await page.locator('[id="Mutation.logUserEvent"]').innerText(), /idempotencyKey: "order-0001"/);
  await page.locator('nav a', { hasText: 'REST' }).first().click();
  await page.waitForURL('**/docs');
}
