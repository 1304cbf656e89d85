// Scenarios of the portal: people sign in, invite each other, and read the audit log, as
// they do with a mouse, by keyboard, on a phone, and without scripts.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { asOwner, checkLooks, open, signIn, views } from './portalpage.mjs';

/** A password that the portal accepts. */
const password = 'correct horse battery';

/** Invites a person and returns the link. */
async function invite(page, email, role) {
  await page.goto(new URL('/portal/t/demo/members', page.url()).href);
  await page.getByLabel('Mail address').fill(email);
  await page.getByLabel(role, { exact: true }).check();
  await page.getByRole('button', { name: 'Make a link to join' }).click();
  return page.getByLabel('Link of the invitation').inputValue();
}

/** Joins by the link of an invitation as a new visitor. */
async function join(world, link, name, options) {
  const page = await open(world, new URL(link).pathname, options);
  await page.getByLabel('Your name').fill(name);
  await page.getByLabel('Choose a password').fill(password);
  await page.getByRole('button', { name: 'Join demo' }).click();
  return page;
}

/** The one-time code of a secret in base32 at a time (RFC 6238). */
function oneTimeCode(secret, at = Date.now()) {
  let bits = '';
  for (const c of secret.replaceAll(' ', '')) bits += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000).padStart(6, '0');
}

/** A wrong password is explained, and the right one leads to the page that was asked for. */
export async function signingIn(world) {
  const { assert, eventually, email, password: right } = world;
  const page = await open(world, '/portal/t/demo/audit?action=member.joined');
  await page.waitForURL(/\/portal\/signin\?next=/);
  await signIn(page, email, 'wrong password');
  const summary = page.getByRole('alert');
  await summary.waitFor();
  const focused = (locator, why) => eventually(async () => assert.ok(await locator.evaluate((element) => element === document.activeElement), why));
  await focused(summary, 'the errors are read first');
  assert.match(await page.title(), /^Error: /);
  assert.equal(await page.getByLabel('Mail address').inputValue(), email, 'the address stays');
  assert.equal(await page.getByLabel('Password').inputValue(), '');
  await summary.getByRole('link').click();
  await focused(page.getByLabel('Password'), 'an error leads to its field');
  await signIn(page, email, right);
  await page.waitForURL('**/portal/t/demo/audit?action=member.joined');
  assert.equal(await page.getByLabel('Action').inputValue(), 'member.joined');
  const [cookie] = await page.context().cookies();
  assert.deepEqual({ httpOnly: cookie.httpOnly, sameSite: cookie.sameSite, path: cookie.path }, { httpOnly: true, sameSite: 'Lax', path: '/' });
  await page.locator('summary', { hasText: 'Your menu' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  await page.waitForURL((url) => url.search === ''); // the message is not shown again
  await page.goto(page.url().replace('signin', 't/demo/members'));
  await page.waitForURL(/\/portal\/signin\?next=/);
}

/** An owner invites a person, who joins, gets another role, and is removed. */
export async function inviting(world) {
  const { assert, eventually } = world;
  const owner = await asOwner(world, '/portal', { permissions: ['clipboard-read', 'clipboard-write'] });
  await owner.goto(world.portal + '/portal/t/demo/members');
  await owner.getByRole('button', { name: 'Make a link to join' }).click();
  await owner.getByRole('alert').getByText('is not an address').waitFor();
  const link = await invite(owner, 'Vera@demo.example', 'Viewer');
  await owner.getByRole('button', { name: 'Copy' }).click();
  await owner.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await owner.evaluate(() => navigator.clipboard.readText()), link);
  await owner.getByRole('cell', { name: 'vera@demo.example', exact: true }).waitFor();

  const draft = await open(world, new URL(link).pathname);
  const choice = draft.getByLabel('Choose a password');
  for (const [text, says] of [['too short', '3 more characters'], ['ababababababab', 'Use more different characters'], ['correct horse', 'Long enough'], [password, 'Very hard to guess']]) {
    await choice.fill(text);
    await draft.getByText(says).waitFor();
  }
  await draft.getByRole('button', { name: 'Show', exact: true }).click();
  await eventually(async () => assert.equal(await choice.getAttribute('type'), 'text'));
  await draft.close();
  const vera = await join(world, link, 'Vera');
  await vera.getByRole('navigation', { name: 'Sections' }).waitFor();
  assert.equal(await vera.getByRole('link', { name: 'Members', exact: true }).count(), 0, 'no link leads to a page that the role may not open');
  await vera.goto(world.portal + '/portal/t/demo/members');
  await vera.getByRole('heading', { name: 'You may not do this' }).waitFor();
  await vera.getByText('ask a member with the role owner or manager').waitFor();

  await owner.goto(world.portal + '/portal/t/demo/members');
  await owner.getByRole('link', { name: 'Change vera@demo.example' }).click();
  await owner.getByLabel('Manager', { exact: true }).check();
  await owner.getByRole('button', { name: 'Save the role' }).click();
  await owner.getByText('The role is changed.').waitFor();
  await vera.goto(world.portal + '/portal');
  await vera.getByRole('link', { name: 'Members', exact: true }).click();
  await vera.getByRole('heading', { name: 'Members', exact: true }).waitFor();
  await vera.getByText('Owners invite and remove members.').waitFor();
  assert.equal(await vera.getByRole('link', { name: /^Change/ }).count(), 0);

  await owner.getByRole('link', { name: 'Change vera@demo.example' }).click();
  await owner.getByText('Remove vera@demo.example').click();
  await owner.getByRole('button', { name: 'Yes, remove this person' }).click();
  await owner.getByText('is no member any more').waitFor();
  await vera.reload();
  await vera.waitForURL(/\/portal\/signin/);

  // The last owner stays.
  await owner.getByRole('link', { name: 'Change ' + world.email }).click();
  await owner.getByLabel('Viewer', { exact: true }).check();
  await owner.getByRole('button', { name: 'Save the role' }).click();
  await owner.getByRole('alert').getByText('is the last owner').waitFor();

  // A link that was used says what to do.
  const late = await open(world, new URL(link).pathname);
  await late.getByText('ask an owner for another one', { exact: false }).waitFor();
  await eventually(async () => assert.equal(await late.getByRole('heading', { level: 1 }).innerText(), 'Page not found'));
}

/** A person sets two-step sign-in up, signs in with a code, and with a recovery code. */
export async function twoSteps(world) {
  const { assert } = world;
  const owner = await asOwner(world);
  const tora = await join(world, await invite(owner, 'tora@demo.example', 'Manager'), 'Tora');
  await tora.goto(world.portal + '/portal/profile');
  await tora.getByRole('link', { name: 'Set up two-step sign-in' }).click();
  await tora.getByRole('button', { name: 'Set up an authenticator app' }).click();
  await tora.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
  await tora.getByText('I cannot scan it').click();
  const secret = await tora.locator('.secret').innerText();
  await tora.getByLabel('One-time code').fill('000000');
  await tora.getByRole('button', { name: 'Turn two-step sign-in on' }).click();
  await tora.getByRole('alert').getByText('The code is wrong or expired').waitFor();
  await tora.getByLabel('One-time code').fill(oneTimeCode(secret));
  await tora.getByRole('button', { name: 'Turn two-step sign-in on' }).click();
  await tora.getByText('shown only now').waitFor();
  const codes = await tora.locator('.codes code').allInnerTexts();
  assert.equal(codes.length, 10);
  await tora.getByRole('link', { name: 'I have saved them' }).click();
  await tora.getByText('10 recovery codes left').waitFor();

  const next = await open(world, '/portal/profile');
  await signIn(next, 'tora@demo.example', password);
  await next.getByRole('heading', { name: 'Enter the one-time code' }).waitFor();
  // Nothing else is open meanwhile.
  await next.goto(world.portal + '/portal/t/demo/members');
  await next.waitForURL(/\/portal\/signin/);
  await next.goto(world.portal + '/portal/code?next=/portal/profile');
  // The code of the next step is accepted: the current one is used up.
  await next.getByLabel('One-time code').fill(oneTimeCode(secret, Date.now() + 30000));
  await next.getByRole('button', { name: 'Continue' }).click();
  await next.getByRole('heading', { name: 'Your profile' }).waitFor();

  const lost = await open(world);
  await signIn(lost, 'tora@demo.example', password);
  await lost.getByLabel('One-time code').fill(codes[0].toLowerCase());
  await lost.getByRole('button', { name: 'Continue' }).click();
  await lost.getByRole('navigation', { name: 'Sections' }).waitFor();

  // One session ends another.
  await tora.goto(world.portal + '/portal/profile');
  await tora.getByText('9 recovery codes left').waitFor();
  assert.equal(await tora.getByText('Chrome on Linux').count() >= 3, true);
  await tora.getByRole('button', { name: /^End/ }).first().click();
  await tora.getByText('The session has ended.').waitFor();
  await lost.reload();
  await lost.waitForURL(/\/portal\/signin/);
}

/** The audit log is filtered without a new page, by its URL, and downloaded. */
export async function auditing(world) {
  const { assert, eventually } = world;
  const owner = await asOwner(world);
  await invite(owner, 'carla@demo.example', 'Support');
  await owner.getByRole('link', { name: 'Audit log' }).click();
  await owner.getByRole('cell', { name: 'invited a member: carla@demo.example' }).waitFor();
  await owner.evaluate(() => { window.kept = true; });
  await owner.getByLabel('Action').selectOption('member.invited');
  await owner.waitForURL(/action=member.invited/);
  await eventually(async () => assert.equal(await owner.getByRole('cell', { name: 'signed in' }).count(), 0));
  assert.ok(await owner.evaluate(() => window.kept), 'the page was not loaded again');
  await owner.getByLabel('Subject').fill('CARLA');
  await owner.getByLabel('Subject').press('Enter');
  await owner.waitForURL(/subject=CARLA/);
  await eventually(async () => assert.equal(await owner.locator('tbody tr').count(), 1));
  const [download] = await Promise.all([owner.waitForEvent('download'), owner.getByRole('button', { name: 'Download CSV' }).click()]);
  assert.match(download.suggestedFilename(), /^audit-demo-\d{4}-\d\d-\d\d\.csv$/);
  const text = readFileSync(await download.path(), 'utf8');
  assert.match(text, /^\ufeffseq,time \([^)]+\),time,actor,ip,action,subject,before,after,accountId,userId,invitedBy\n\d+,.*,member.invited,carla@demo.example,,"{""role"":""support""}",,,\n$/);
  // The URL is the view.
  const again = await owner.context().newPage();
  await again.goto(owner.url());
  assert.equal(await again.locator('tbody tr').count(), 1);
  assert.equal(await again.getByLabel('Subject').inputValue(), 'CARLA');
  // Times are in the visitor's zone.
  const abroad = await asOwner(world, '/portal', { timezoneId: 'Asia/Tokyo', locale: 'ja-JP' });
  await abroad.goto(owner.url());
  const time = abroad.locator('tbody time').first();
  const instant = new Date(await time.getAttribute('datetime'));
  const local = new Intl.DateTimeFormat('ja-JP', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'Asia/Tokyo' }).format(instant);
  await eventually(async () => assert.equal(await time.innerText(), local));
  await abroad.waitForURL(/zone=/);
  // A wrong day is explained.
  await owner.goto(world.portal + '/portal/t/demo/audit?from=2026-02-01&to=2026-01-01');
  await owner.getByRole('alert').getByText('must not be before the first day').waitFor();
  await owner.goto(world.portal + '/portal/t/demo/audit?actor=unknown-person');
  await owner.getByText('No entry matches the filter').waitFor();
  // Test mode has its own log, and cannot be taken for live mode.
  await owner.getByRole('link', { name: 'Test: switch to test mode' }).click();
  await owner.getByText('Test mode.').waitFor();
  await owner.getByText('No entries yet').waitFor();
  assert.match(await owner.title(), /test_demo/);
}

/**
 * Another site cannot act for a person who is signed in: a form that it sends changes nothing,
 * and it cannot show the portal in a frame.
 */
export async function forged(world) {
  const { assert, eventually } = world;
  const owner = await asOwner(world, '/portal/t/demo/members');
  const target = world.portal + '/portal/t/demo/members';
  await owner.context().route('http://evil.example/**', (route) => route.fulfill({
    contentType: 'text/html',
    body: route.request().url().endsWith('/frame')
      ? `<iframe src="${target}"></iframe>`
      : `<form method="post" action="${target}/invite"><input name="email" value="mallory@evil.example"><input name="role" value="owner"></form><script>document.forms[0].submit()</script>`,
  }));
  const evil = await owner.context().newPage();
  const [sent] = await Promise.all([evil.waitForRequest(target + '/invite'), evil.goto('http://evil.example/form')]);
  assert.equal(sent.method(), 'POST');
  const answer = await sent.response();
  assert.equal(answer.status(), 403, 'the form is refused');
  await evil.goto('http://evil.example/frame');
  await eventually(async () => assert.match(await evil.frames()[1].url(), /^chrome-error:/, 'the frame is refused'));
  await owner.reload();
  assert.equal(await owner.getByText('mallory@evil.example').count(), 0);
  assert.equal(await owner.getByRole('heading', { name: 'Members', exact: true }).count(), 1, 'the session goes on');
}

/** A script cannot read the session, and a copy of it ends with it. */
export async function stolen(world) {
  const { assert } = world;
  const owner = await asOwner(world, '/portal/t/demo/members');
  assert.equal(await owner.evaluate(() => document.cookie), '', 'scripts see no cookie');
  const thief = await open(world);
  await thief.context().addCookies(await owner.context().cookies());
  await thief.goto(world.portal + '/portal/t/demo/members');
  await thief.getByRole('heading', { name: 'Members', exact: true }).waitFor(); // until the session ends
  await owner.locator('summary', { hasText: 'Your menu' }).click();
  await owner.getByRole('button', { name: 'Sign out' }).click();
  await owner.getByText('You are signed out.').waitFor();
  await thief.reload();
  await thief.waitForURL(/\/portal\/signin\?next=/);
}

/**
 * A session that has ended while a list is open: the next filter leads to the sign-in page and
 * back to the list with that filter. Without a connection the page says so, until there is one.
 */
export async function interrupted(world) {
  const { assert, errors } = world;
  const owner = await asOwner(world, '/portal/t/demo/audit');
  await owner.context().clearCookies();
  await owner.getByLabel('Action').selectOption('member.joined');
  await owner.getByRole('heading', { name: 'Sign in' }).waitFor();
  await signIn(owner, world.email, world.password);
  await owner.waitForURL(/\/audit\?.*action=member\.joined/);
  assert.equal(await owner.getByLabel('Action').inputValue(), 'member.joined');
  await owner.context().setOffline(true);
  await owner.getByLabel('Subject').fill('nobody');
  await owner.getByLabel('Subject').press('Enter');
  await owner.getByRole('alert').getByText('The server cannot be reached.').waitFor();
  await owner.context().setOffline(false);
  await owner.getByLabel('Subject').press('Enter');
  await owner.getByText('No entry matches the filter').waitFor();
  assert.equal(await owner.getByRole('alert').filter({ visible: true }).count(), 0);
  // htmx has logged the request that could not be sent.
  errors.splice(0, errors.length, ...errors.filter((error) => !error.startsWith('htmx:')));
}

/** Everything can be reached by keyboard. */
export async function keyboard(world) {
  const { assert, eventually } = world;
  const page = await asOwner(world);
  await page.keyboard.press('Tab');
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content'));
  await page.keyboard.press('Enter');
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), 'main'));
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.waitForURL(/\/audit$/);
  await page.getByRole('heading', { name: 'Audit log' }).waitFor();
  await page.keyboard.press('/');
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.name), 'actor'));
  await page.keyboard.type('g p ?');
  assert.equal(await page.getByLabel('Made by').inputValue(), 'g p ?', 'keys that a person types go nowhere');
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to a page' });
  await palette.waitFor();
  await page.keyboard.type('xyz');
  await eventually(async () => assert.equal(await palette.getByRole('listitem').first().innerText(), 'Find referrals of the person “xyz”', 'no page has this name'));
  assert.deepEqual(await palette.getByRole('link', { name: 'xyz' }).evaluateAll((all) => all.map((a) => a.pathname + a.search)),
    ['/portal/t/demo/referrals?person=xyz', '/portal/t/demo/referrals?code=xyz', '/portal/t/demo/people?search=xyz']);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('mem');
  await eventually(async () => assert.equal(await palette.getByRole('listitem').first().innerText(), 'Members'));
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/members$/);
  await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), await palette.getByRole('listitem').nth(1).innerText()));
  await page.keyboard.press('Escape');
  // The theme is kept.
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await page.locator('summary', { hasText: 'Your menu' }).click();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  await eventually(async () => assert.notEqual(await background(), before));
  const chosen = await background();
  await page.reload();
  assert.equal(await background(), chosen);
}

/** All steps work without scripts. */
export async function withoutScripts(world) {
  const { assert } = world;
  const page = await asOwner(world, '/portal', { javaScriptEnabled: false });
  const link = await invite(page, 'nora@demo.example', 'Viewer');
  const nora = await join(world, link, 'Nora', { javaScriptEnabled: false });
  await nora.getByRole('navigation', { name: 'Sections' }).waitFor();
  await page.goto(world.portal + '/portal/t/demo/members');
  await page.getByRole('link', { name: 'Change nora@demo.example' }).click();
  await page.getByText('Remove nora@demo.example').click();
  await page.getByRole('button', { name: 'Yes, remove this person' }).click();
  await page.getByText('is no member any more').waitFor();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByLabel('Action').selectOption('member.removed');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/action=member.removed/);
  await page.getByRole('cell', { name: 'removed a member: nora@demo.example' }).waitFor();
  assert.equal(await page.getByRole('cell', { name: 'signed in' }).count(), 0);
  assert.match(await page.locator('time').first().innerText(), / UTC$/);
}

/**
 * Each page in light and dark, wide and on a phone: besides checkLooks, nothing is beyond the
 * edge of the content.
 */
export async function looks(world) {
  const { assert } = world;
  const first = await asOwner(world);
  const link = await invite(first, 'lena.with.a.long.name@subsidiary.demo.example', 'Support');
  await first.goto(world.portal + '/portal/t/demo/members');
  const member = new URL(await first.getByRole('link', { name: /^Change/ }).first().getAttribute('href'), world.portal).pathname;
  const pages = {
    members: '/portal/t/demo/members', 'members-test': '/portal/t/test_demo/members', member, audit: '/portal/t/demo/audit',
    'audit-empty': '/portal/t/test_demo/audit', 'audit-error': '/portal/t/demo/audit?from=2026-02-01&to=2026-01-01',
    profile: '/portal/profile', password: '/portal/profile/password', 'two-step': '/portal/profile/two-step', 'not-found': '/portal/nothing',
  };
  for (const { name: view, options } of views) {
    const outside = await open(world, '/portal/signin', options);
    const check = async (page, name) => {
      const where = `${name}-${view}`;
      await checkLooks(world, page, where);
      const beyond = await page.evaluate(() => {
        const edge = document.getElementById('main').getBoundingClientRect().right + 1;
        return [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > edge && !e.closest('.sr, .menu')).map((e) => e.outerHTML.slice(0, 80));
      });
      assert.deepEqual(beyond, [], where + ': beyond the edge of the content');
    };
    await check(outside, 'sign-in');
    await signIn(outside, 'x@demo.example', 'wrong');
    await outside.getByRole('alert').waitFor();
    await check(outside, 'sign-in-error');
    await outside.goto(world.portal + new URL(link).pathname);
    await check(outside, 'invitation');
    const page = await asOwner(world, '/portal', options);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(world.portal + path);
      await check(page, name);
    }
    await page.goto(world.portal + '/portal/profile/two-step');
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await check(page, 'two-step-setup');
    await page.getByRole('button', { name: 'Stop setting it up' }).click();
    await page.goto(world.portal + '/portal/t/demo/members');
    await page.locator('summary', { hasText: 'Your menu' }).click();
    await check(page, 'menu');
    await page.locator('summary', { hasText: 'Your menu' }).click();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to a page' }).waitFor();
    await check(page, 'palette');
  }
}
