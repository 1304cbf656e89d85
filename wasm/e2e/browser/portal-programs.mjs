// Scenarios of the programs in the portal: a person creates a program, changes its reward,
// tries an event, and fills its fuel tank.
import { asOwner, checkLooks, views } from './portalpage.mjs';

const section = '/portal/t/demo/programs';

/** The card with the reward of one side. */
const side = (page, title) => page.locator('section.side', { has: page.getByRole('heading', { name: title }) });

/** What a person typed is there again after a sign-in, a reload and a way back, until it is saved or discarded. */
export async function unsaved(world) {
  const { assert, eventually } = world;
  const at = section + '/classic';
  const page = await asOwner(world, at);
  const name = page.getByLabel('Name', { exact: true }), before = await name.inputValue();
  const isBack = page.getByRole('status').getByText('What you typed here before is back');
  const typed = async (text) => {
    await isBack.waitFor();
    assert.equal(await name.inputValue(), text);
  };
  // The live sentences need a sign-in: the form stays, and so does what is typed into it.
  await page.context().clearCookies();
  await name.fill('Winter sale');
  await page.getByRole('alert').getByText('Your session has ended.').waitFor();
  assert.equal(await name.inputValue(), 'Winter sale');
  await page.getByRole('alert').getByRole('link', { name: 'Sign in again' }).click();
  await page.getByLabel('Mail address').fill(world.email);
  await page.getByLabel('Password').fill(world.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await typed('Winter sale');
  // So does saving.
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Save the program' }).click();
  await page.getByText('This tab has kept what you typed').waitFor();
  await page.getByLabel('Mail address').fill(world.email);
  await page.getByLabel('Password').fill(world.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(world.portal + at);
  await typed('Winter sale');
  // A page with unsaved work asks before it is left; a person who stays loses nothing.
  let asked = '';
  page.once('dialog', (dialog) => {
    asked = dialog.type();
    dialog.accept();
  });
  await page.getByRole('link', { name: 'History' }).click();
  await page.waitForURL(/\/history$/);
  assert.equal(asked, 'beforeunload');
  await page.goBack();
  await typed('Winter sale');
  await page.getByRole('button', { name: 'Discard it' }).click();
  assert.equal(await name.inputValue(), before);
  await page.reload();
  await page.waitForLoadState();
  assert.equal(await name.inputValue(), before);
  assert.equal(await isBack.count(), 0);
  // Another member saves meanwhile: only what this person has typed is put back, and a field that both changed is said.
  const both = page.getByText('What it replaces was changed meanwhile');
  const landing = page.getByLabel('Landing page').first(), page1 = await landing.inputValue();
  const change = async (edit) => {
    const now = await world.call('/api/v1/demo/programs/classic');
    edit(now);
    await world.call('/api/v1/demo/programs/classic', { method: 'PUT', body: JSON.stringify(now) });
  };
  await name.fill('Autumn sale');
  await change((program) => { program.sharing.url = page1 + '?from=elsewhere'; });
  await page.reload();
  await typed('Autumn sale');
  assert.equal(await landing.inputValue(), page1 + '?from=elsewhere');
  assert.equal(await both.count(), 0);
  await change((program) => { program.name = 'Easter sale'; program.sharing.url = page1; });
  await page.reload();
  await typed('Autumn sale');
  await both.waitFor();
  await page.getByRole('button', { name: 'Discard it' }).click();
  assert.equal(await name.inputValue(), 'Easter sale');
  // What is refused is kept, and what is saved is no draft any more.
  await name.fill('Spring sale');
  await page.getByLabel('Landing page').first().fill('not a page');
  await page.getByRole('button', { name: 'Save the program' }).click();
  await page.getByRole('alert').first().waitFor();
  // A way back leads to the form, not to a question whether to send it again.
  page.once('dialog', (dialog) => dialog.accept());
  await page.getByRole('link', { name: 'History' }).click();
  await page.waitForURL(/\/history$/);
  await page.goBack();
  await typed('Spring sale');
  await page.getByRole('button', { name: 'Discard it' }).click();
  await name.fill('Spring sale');
  await page.getByRole('button', { name: 'Save the program' }).click();
  await page.getByText('The program is saved.').waitFor();
  await eventually(async () => assert.equal(await page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('kith-draft:')).length), 0));
  await name.fill(before);
  await page.getByRole('button', { name: 'Save the program' }).click();
  await page.getByText('The program is saved.').waitFor();
  // An address to which a form was sent leads to the form.
  await page.goto(world.portal + '/portal/t/demo/integrations/website/time-zone');
  await page.waitForURL(/\/integrations\/website$/);
  // A sign-out removes the drafts of all tabs.
  await page.goto(world.portal + at);
  const preview = (status) => page.waitForResponse((answer) => answer.url().endsWith('/preview') && answer.status() === status);
  const shown = preview(200);
  await name.fill('Typed before the sign-out');
  await shown;
  const drafts = () => page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('kith-draft:')).length);
  await eventually(async () => assert.equal(await drafts(), 1));
  const other = await page.context().newPage();
  await other.goto(world.portal + at);
  await other.locator('summary', { hasText: 'Your menu' }).click();
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByText('You are signed out.').waitFor();
  await eventually(async () => assert.equal(await drafts(), 0));
  // The answer of the live preview, which comes first here, does not take the place of the form's.
  const refused = preview(401);
  await page.route(world.portal + at, async (route) => {
    await refused;
    await route.continue();
  });
  await name.press('End');
  await name.press('!');
  await page.getByRole('button', { name: 'Save the program' }).click();
  await page.getByText('it was not done').waitFor();
  assert.equal(await page.getByText('This tab has kept').count(), 0);
}

/** From nothing to 15 % of the order, with errors on the way. */
export async function fromNothing(world) {
  const { assert, eventually } = world;
  const page = await asOwner(world, section);
  await page.getByRole('link', { name: 'New program' }).click();
  await page.getByRole('button', { name: 'Create the program' }).click();
  const problems = page.getByRole('alert');
  await problems.getByRole('link', { name: /^Name must not be empty/ }).click();
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.name), 'name', 'an error leads to its field'));
  await page.getByLabel('Name', { exact: true }).fill('Summer sale');
  await page.getByRole('button', { name: 'Create the program' }).click();
  await page.getByText('The program is created.').waitFor();
  await page.waitForURL(/\/programs\/summer-sale$/);
  await page.getByRole('region', { name: 'Next steps' }).getByRole('link', { name: 'Try an event' }).waitFor();

  // A share of the order cannot be chosen without orders.
  const shares = side(page, 'What the referrer gets').getByText('A share needs an order.');
  await page.getByLabel("When the friend's account becomes a paying customer").check();
  await shares.waitFor();
  await side(page, 'What the referrer gets').getByLabel('A gift worth a share of the order').waitFor({ state: 'hidden' });
  await page.getByLabel('When the friend orders').check();
  await shares.waitFor({ state: 'hidden' });

  // The sentences follow what is entered, before it is saved.
  const does = page.getByRole('complementary', { name: 'What this program will do' });
  await does.getByText('The referrer gets 10% of the order as credit.').waitFor();
  const referrer = side(page, 'What the referrer gets');
  const share = referrer.getByLabel('Share of the order in percent');
  await share.fill('15');
  await does.getByText('The referrer gets 15% of the order as credit.').waitFor();
  await share.fill('150');
  await does.getByText('Referrer: Share of the order in percent must be a percentage from 0 to 100').waitFor();
  await share.fill('15');
  await referrer.getByLabel('At most').fill('40.00');
  await referrer.getByLabel('Return window', { exact: true }).fill('14');
  await does.getByText('The referrer gets 15% of the order as credit, at most $40.00, after 14 days.').waitFor();

  // Only the fields of the chosen reward are shown.
  await side(page, 'What the friend gets').getByLabel('A coupon code').check();
  await side(page, 'What the friend gets').getByLabel('Discount in percent').waitFor({ state: 'hidden' });
  await side(page, 'What the friend gets').getByLabel('A code is worth').selectOption('an amount');
  await side(page, 'What the friend gets').getByLabel('Worth of a code').fill('10.00');
  await does.getByText('The friend gets a coupon code worth $10.00.').waitFor();
  await page.getByRole('button', { name: 'Save the program' }).click();
  await page.getByText('The program is saved.').waitFor();

  // A trial says what happens, and why.
  await page.getByRole('link', { name: 'Try an event' }).click();
  await page.getByLabel('Amount of the order').fill('80.00');
  await page.getByRole('button', { name: 'Try the event' }).click();
  await page.getByText('The referrer earns $12.00: 15% of $80.00.').waitFor();
  await page.waitForURL(/revenue=80.00/); // the trial has a URL

  await page.getByRole('link', { name: 'History' }).click();
  const change = page.getByRole('row', { name: /Referrer: Share of the order in percent/ });
  assert.match(await change.innerText(), /10\s+15/);

  // Codes, first with a wrong line.
  await page.getByRole('link', { name: 'Coupon codes' }).click();
  await page.getByText('The next reward has to wait.').waitFor();
  await page.getByLabel('Codes', { exact: true }).fill('A-1\nB 2');
  await page.getByRole('button', { name: 'Add the codes' }).click();
  await page.getByRole('alert').getByText('line 2 must be').waitFor();
  await page.getByLabel('Codes', { exact: true }).fill('');
  await page.getByLabel('Or a file').setInputFiles({ name: 'codes.csv', mimeType: 'text/csv', buffer: Buffer.from(Array.from({ length: 12 }, (_, i) => `C-${i},10 USD`).join('\n')) });
  await page.getByRole('button', { name: 'Add the codes' }).click();
  await page.getByText('The codes are in the fuel tank.').waitFor();
  assert.equal(await page.getByRole('definition').first().innerText(), '12');

  await page.goto(world.portal + section + '/summer-sale');
  await page.getByText('Delete Summer sale').click();
  await page.getByRole('button', { name: 'Yes, delete this program' }).click();
  await page.getByText('The program is deleted.').waitFor();
}

/** The widget in each language, in a frame that cannot reach the portal. */
export async function widget(world) {
  const { assert } = world;
  const page = await asOwner(world, section);
  await page.goto(world.portal + section + '/classic/widget');
  const languages = await page.getByLabel('Language').locator('option').allInnerTexts();
  assert.equal(languages.length, 6);
  for (const language of languages) {
    await page.getByLabel('Language').selectOption(language);
    await page.locator(`iframe[title="The widget in ${language}"]`).waitFor();
    // The page replaces the frame, also while the scenario looks at it.
    const direction = language === 'Arabic' ? 'rtl' : 'ltr';
    const widget = page.frameLocator(`iframe[title="The widget in ${language}"]`);
    await widget.locator(`html[dir=${direction}] h1`).filter({ hasText: /./ }).waitFor();
    const origin = await world.eventually(() => widget.locator('html').evaluate(() => self.origin));
    assert.equal(origin, 'null', 'its origin is not that of the portal');
  }
  await page.getByLabel('Theme').selectOption('Dark');
  await page.frameLocator('iframe').locator('html.dark').waitFor();
}

/** The form works without scripts. */
export async function withoutScripts(world) {
  const page = await asOwner(world, section, { javaScriptEnabled: false });
  await page.getByRole('link', { name: 'New program' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Plain');
  await side(page, 'What the referrer gets').getByLabel('Share of the order in percent').fill('12.5');
  await page.getByRole('button', { name: 'Show what it will do' }).click();
  await page.getByText('The referrer gets 12.5% of the order as credit.').waitFor();
  await page.getByRole('button', { name: 'Create the program' }).click();
  await page.getByText('The program is created.').waitFor();
  await page.getByText('Delete Plain').click();
  await page.getByRole('button', { name: 'Yes, delete this program' }).click();
  await page.getByText('The program is deleted.').waitFor();
}

/** Each page in light and dark, wide and on a phone: axe finds nothing, nothing is too wide. */
export async function looks(world) {
  for (const { name, options } of views) {
    const page = await asOwner(world, section, options);
    for (const path of ['', '/_new', '/classic', '/classic/try?event=purchase', '/classic/history', '/classic/widget', '/classic/codes']) {
      await page.goto(world.portal + section + path);
      await page.waitForLoadState('networkidle');
      await checkLooks(world, page, `programs${path}-${name}`);
    }
  }
}
