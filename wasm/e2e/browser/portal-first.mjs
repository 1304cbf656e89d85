// The first view of each page of the portal and of the demo shop, in a browser without a cache.
import { asOwner } from './portalpage.mjs';

/** The most bytes that a first view may take over the network, headers included. */
const most = 120_000;

/** Runs in each page before its scripts: sums up how much the layout shifts. */
function watch() {
  window.shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shifted += e.value; })).observe({ type: 'layout-shift', buffered: true });
}

/**
 * The time from the request until the page is interactive: its scripts have run, the chart
 * is drawn, and the main thread is free. Resolves to milliseconds.
 */
function interactive() {
  return new Promise((resolve) => {
    const tasks = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.startTime + e.duration))).observe({ type: 'longtask', buffered: true });
    // The browser calls it after a frame; if the page draws none, after the timeout.
    requestIdleCallback(() => {
      const { domContentLoadedEventEnd } = performance.getEntriesByType('navigation')[0];
      resolve(Math.max(domContentLoadedEventEnd, ...tasks));
    }, { timeout: 1000 });
  });
}

/**
 * Plays the story of 90 days, then opens the first page of each section and a page inside
 * of it, and the pages of the shop, each as often as loads says. Returns the largest of the sizes in bytes, and of the
 * medians of the times in milliseconds until the page was interactive.
 */
export async function firstViews(world) {
  const { assert, visitor, portal, loads } = world;
  const shop = await visitor();
  await shop.goto(portal + '/shop/story');
  await shop.click('main form button');
  await shop.waitForSelector('text=The story was played.');
  const first = await asOwner(world, '/portal/t/demo/overview');
  const storageState = await first.context().storageState();
  const links = (selector) => first.locator(selector).evaluateAll((all) => all.map((a) => a.pathname));
  const pages = new Set(await links('nav.sections a'));
  assert.ok(pages.size >= 8, [...pages].join(' '));
  for (const path of [...pages]) {
    await first.goto(portal + path);
    const inside = (await links('main a[href^="/portal/t/demo/"]')).find((other) => !pages.has(other));
    if (inside) pages.add(inside);
  }
  for (const path of ['/shop', '/shop/join', '/shop/buy/grinder', '/shop/buy/coffee', '/shop/story']) pages.add(path);
  const largest = { bytes: 0, ms: 0 };
  for (const path of pages) {
    const times = [];
    for (let i = 0; i < loads; i++) {
      const page = await visitor({ storageState });
      await page.addInitScript(watch);
      await page.goto(portal + path, { waitUntil: 'networkidle' });
      times.push(await page.evaluate(interactive));
      const bytes = await page.evaluate(() => performance.getEntries().reduce((sum, e) => sum + (e.transferSize || 0), 0));
      const shift = await page.evaluate(() => window.shifted);
      assert.ok(bytes > 1000 && bytes < most, `${path}: the first view takes ${bytes} bytes`);
      assert.ok(shift < 0.01, `${path}: the layout shifts by ${shift}`);
      largest.bytes = Math.max(largest.bytes, bytes);
      await page.context().close();
    }
    times.sort((a, b) => a - b);
    largest.ms = Math.max(largest.ms, times[Math.floor(loads / 2)]);
  }
  return largest;
}
