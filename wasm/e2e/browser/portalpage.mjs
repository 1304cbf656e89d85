// What the scenarios of the portal share: signing in, and the check of how a page looks.
import { readFileSync } from 'node:fs';

const axe = readFileSync(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** Opens a page of the portal as a new visitor. An error in the console fails the scenario. */
export async function open({ visitor, errors, portal }, path = '/portal', options = {}) {
  const page = await visitor(options);
  page.on('console', (message) => {
    // Chromium reports the status of a page too.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) errors.push(message.text());
  });
  await page.addInitScript(watchLayout);
  await page.goto(portal + path);
  return page;
}

/** Runs in a page before its scripts: sums up how much the layout shifts without an action of the visitor. */
export function watchLayout() {
  window.shift = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shift += e.hadRecentInput ? 0 : e.value; })).observe({ type: 'layout-shift', buffered: true });
}

/** Fills in the form to sign in, and sends it. */
export async function signIn(page, email, password) {
  await page.getByLabel('Mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens a page of the portal as the owner of the demo tenant, who signs in first. */
export async function asOwner(world, path = '/portal', options = {}) {
  const page = await open(world, path, options);
  await signIn(page, world.email, world.password);
  await page.getByRole('navigation', { name: 'Sections' }).waitFor();
  await page.waitForLoadState(); // the script of the page takes keys
  if (path !== '/portal') await page.waitForURL((url) => url.origin + url.pathname === world.portal + path.split('?')[0]);
  return page;
}

/**
 * The views in which each page is checked: light and dark, wide and on a phone. A run with
 * KITH_SAMPLE, as testenv.Sampled describes it, has two of the four: each theme and each width
 * once, and the other two at the next commit.
 */
export const views = ['light', 'dark'].flatMap((colorScheme) => [1280, 360].map((width) => ({
  name: `${colorScheme}-${width}`, options: { colorScheme, viewport: { width, height: 800 } },
}))).filter((_, i) => !process.env.KITH_SAMPLE || [0, 3].includes(i) === (process.env.KITH_SAMPLE % 2 === 0));

/**
 * Checks the page that is shown: nothing is cut off at the side, nothing has moved by itself,
 * and axe finds nothing serious and nothing against WCAG 2.2 AA. It is drawn too if KITH_SHOTS
 * is set.
 */
export async function checkLooks({ assert, shots }, page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name.replace(/[^a-z0-9]+/gi, '-')}.png`, fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, name + ': cut off at the side');
  const section = await page.evaluate(() => {
    const at = document.querySelector('.sections [aria-current]')?.getBoundingClientRect();
    return !at || (at.left >= 0 && at.right <= innerWidth);
  });
  assert.ok(section, name + ': the current section cannot be seen');
  // Shifts are reported with the next frame.
  const shift = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(window.shift)))));
  assert.ok(shift < 0.01, `${name}: the layout shifts by ${shift}`);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const rules = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];
  const wrong = violations.filter((v) => ['serious', 'critical'].includes(v.impact) || v.tags.some((tag) => rules.includes(tag)));
  assert.deepEqual(wrong.map((v) => v.id + ': ' + v.nodes.map((n) => n.html + ' ' + n.failureSummary).join('; ')), [], name);
}
