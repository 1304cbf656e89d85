// Pages with values as long as they may be are read by scrolling down only.
import { asOwner } from './portalpage.mjs';

const widths = [375, 768, 1024, 1440];
const tenant = '/portal/t/demo/';

/** Makes a text of so many letters, in which a browser finds no place for a new line. */
const long = (begin, length) => begin.padEnd(length, 'm');

/** Fills the tenant with a program, people, codes, orders and rewards that have the longest values. */
async function fill({ call, backend, key }) {
  const send = (method, path, body) => call('/api/v1/demo/' + path, { method, body: JSON.stringify(body) });
  const program = {
    id: long('long', 64), name: long('Program', 200), sharing: { url: 'https://shop.example/' + long('', 1900), allowedHosts: [long('a', 63) + '.' + long('b', 63) + '.' + long('c', 63) + '.example'], utmSource: long('s', 100), utmCampaign: long('c', 100) },
    conversion: { event: long('purchase', 128), conditions: [`plan = ${long('p', 400)}`] },
    rewards: { referrer: { type: 'CREDIT', credit: 1_000_000_000_000, currency: 'USD', name: long('Reward', 200), description: long('Gift', 200) }, referred: { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 1_000_000_000_000, currency: 'USD' } },
    invitations: { en: { subject: long('Subject', 200), message: long('Message', 1000) } },
  };
  await send('POST', 'programs', program);
  await send('PUT', 'programs/' + program.id, { ...program, name: long('Other', 200), fraud: { handling: 'PENDING' }, conversion: undefined });
  await send('PUT', `programs/classic`, { name: long('Classic', 200), sharing: { url: 'https://shop.example/' }, fraud: { handling: 'PENDING' }, rewards: { referrer: { type: 'CREDIT', credit: 100_000, currency: 'USD', name: long('Reward', 200) } } });
  const person = (n) => ({ firstName: long('Anna' + n, 200), lastName: long('Ahrens', 200), email: long('m' + n, 64) + '@' + long('d', 63) + '.' + long('e', 63) + '.example', accountId: long('account' + n, 200), id: long('user' + n, 200), segments: [long('segment', 100)] });
  const path = (u) => `open/account/${u.accountId}/user/${u.id}`;
  const first = await send('PUT', path(person(1)), { ...person(1), referralCode: long('CODE', 64) });
  const code = first.referralCodes?.classic || long('CODE', 64);
  await send('PUT', path(person(2)), { ...person(2), firstName: person(1).firstName, referredBy: { code }, account_status: 'PAID' });
  await send('PUT', path(person(3)), { ...person(3), referredBy: { code: long('unknown', 64) } });
  await send('POST', path(person(2)) + '/events', { events: [{ key: long('purchase', 128), fields: { revenue: 40, currency: 'USD', order_id: long('order', 200) } }] });
  const file = await fetch(backend + '/api/v1/demo/files', { method: 'POST', headers: { authorization: 'Basic ' + btoa(':' + key), 'content-type': 'text/csv' }, body: long('id', 150) + ',' + long('unknown', 150) + '\n' + long('a', 300) + ',' + long('b', 300) + '\n' });
  return file.status;
}

/** Opens each kind of page that links lead to, and names those that are wider than the window. */
export async function longest(world) {
  const { assert, portal } = world;
  await fill(world);
  const page = await asOwner(world, tenant + 'overview');
  const links = () => page.locator('nav.sections a, main a').evaluateAll((all) => all.filter((a) => a.origin === location.origin && !a.hasAttribute('download')).map((a) => a.pathname + a.search));
  // Pages of things of one kind have one page for this check: that of the thing with the longest name.
  const kind = (path) => path.replace(/[?].*/, '').split('/').map((part, i) => (i > 4 && !/^[a-z_-]{1,14}$/.test(part) ? '*' : part)).join('/');
  const found = new Map();
  const waiting = await links();
  const wrong = [];
  while (waiting.length > 0) {
    const path = waiting.shift();
    if (!path.startsWith(tenant) || (found.get(kind(path))?.length ?? -1) >= path.length || /\/(download|sample|frame)\b/.test(path)) continue;
    found.set(kind(path), path);
    const answer = await page.goto(portal + path);
    if (!answer.headers()['content-type'].startsWith('text/html')) continue;
    waiting.push(...await links());
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      const { wide, elements } = await page.evaluate(async () => {
        // A chart has the new size some frames later.
        for (let frame = 0; frame < 60 && document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth; frame++) await new Promise(requestAnimationFrame);
        return {
          wide: document.scrollingElement.scrollWidth,
          elements: [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest('.sr')).slice(0, 2).map((e) => e.outerHTML.slice(0, 120)),
        };
      });
      if (wide > width) wrong.push(`${path.slice(0, 120)} is ${wide} px wide at ${width} px: ${elements}`);
      if (world.shots && (width === 375 || width === 1440)) await page.screenshot({ path: `${world.shots}/longest-${kind(path).replace(/[^a-z0-9]+/gi, '-')}-${width}.png`, fullPage: true });
    }
  }
  assert.deepEqual(wrong, []);
  await page.goto(portal + tenant + 'audit');
  const log = await page.locator('main').innerText();
  assert.match(log, /Landing page: https:/, 'a change has the labels of the form');
  assert.doesNotMatch(log, /[{}]/, 'no change is JSON');
  assert.ok(found.size > 25, [...found.keys()].join('\n'));
}
