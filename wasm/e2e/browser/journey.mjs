// What a person does after `make run` who has never opened a terminal: from the share link
// to the answer to "why did I not get my reward?", with a marketer, a customer and a friend
// in a browser profile each.

/** Signs up at the demo shop. */
async function signUp(page, name) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('E-mail').fill(`${name.toLowerCase()}@x.example`);
  await page.locator('main form button').click();
}

/** Goes from the shop to the portal, and signs in with the password of the terminal. */
async function toPortal({ visitor, portal, password }) {
  const page = await visitor();
  await page.goto(portal);
  await page.getByRole('link', { name: 'Open the portal' }).click();
  await page.getByLabel('Password').fill(password); // the address is filled in
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  return page;
}

/** The text of a figure of the overview. */
const figure = (page, label) => page.locator('.funnel li', { hasText: label }).first().locator('.figure').first().textContent();

const section = (page, name) => page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name, exact: true }).click();

/** 15 % of the order, a friend who buys, and the reward on the overview, with its reason. */
export async function reward(world) {
  const { visitor, portal, assert, eventually } = world;
  const anna = await visitor();
  await anna.goto(portal);
  await anna.getByRole('link', { name: 'Sign up' }).first().click();
  await signUp(anna, 'Anna');
  const link = await anna.locator('#link').inputValue();

  const marketer = await toPortal(world);
  await section(marketer, 'Programs');
  await marketer.getByRole('link', { name: 'Morrow Coffee', exact: true }).click();
  await marketer.locator('section.side').filter({ hasText: 'What the referrer gets' }).getByLabel('Share of the order in percent').fill('15');
  await marketer.getByText('The referrer gets 15% of the order as credit, after 30 days.').waitFor();
  await marketer.getByRole('button', { name: 'Save the program' }).click();
  await marketer.getByText('The program is saved.').waitFor();

  const bob = await visitor();
  await bob.goto(link);
  await bob.getByRole('link', { name: 'Buy the grinder' }).click();
  await signUp(bob, 'Bob');
  await bob.getByRole('button', { name: /^Pay / }).click();
  await bob.getByRole('heading', { name: 'Thank you, Bob' }).waitFor();

  await section(marketer, 'Overview');
  await eventually(async () => {
    await marketer.reload();
    assert.deepEqual([await figure(marketer, 'Visits'), await figure(marketer, 'Joined'), await figure(marketer, 'Converted')], ['1', '1', '1']);
  });
  assert.equal(await figure(marketer, 'Reward cost'), '$12.02', '15 % of $80.10, rounded');

  await section(marketer, 'Referrals');
  await marketer.getByRole('link', { name: 'Anna → Bob' }).click();
  await marketer.getByText(/Anna gets no reward yet: \$12.02 .* 30 days|Anna gets no reward yet: \$12.02 .*refund/).waitFor();
  await marketer.getByText('with the code').first().waitFor();
  await marketer.getByText('It was the first valid code of the account').waitFor();
}

/** A program from nothing, and its first conversion. */
export async function program(world) {
  const { visitor, portal, assert, call, eventually } = world;
  const marketer = await toPortal(world);
  await section(marketer, 'Programs');
  await marketer.getByRole('link', { name: 'New program' }).click();
  await marketer.getByLabel('Name', { exact: true }).fill('Autumn');
  await marketer.getByRole('button', { name: 'Create the program' }).click();
  await marketer.getByText('The program is created.').waitFor();

  // The shop identifies a user, who gets a link of the program; a friend follows it.
  await call('/api/v1/demo/open/account/kim/user/kim', { method: 'PUT', body: JSON.stringify({ firstName: 'Kim', lastName: 'Kant' }) });
  await section(marketer, 'People');
  await marketer.getByRole('searchbox', { name: 'Search' }).fill('Kant');
  await marketer.getByRole('link', { name: 'Kim Kant' }).click();
  const link = await marketer.getByLabel('Share link of Autumn').inputValue();
  const friend = await visitor();
  await friend.goto(link);
  await call('/api/v1/demo/open/account/lee/user/lee', { method: 'PUT', body: JSON.stringify({ firstName: 'Lee', referredBy: { code: link.split('/').pop() } }) });
  await call('/api/v1/demo/open/account/lee/user/lee/events', { method: 'POST', body: JSON.stringify({ events: [{ key: 'purchase', fields: { revenue: 40, currency: 'USD', order_id: 'first' } }] }) });
  await section(marketer, 'Referrals');
  await eventually(async () => {
    await marketer.reload();
    assert.match(await marketer.getByRole('row').filter({ hasText: 'Kim Kant → Lee' }).innerText(), /Converted/);
  });
  await section(marketer, 'Overview');
  await marketer.getByLabel('Program').selectOption({ label: 'Autumn' });
  await eventually(async () => assert.equal(await figure(marketer, 'Converted'), '1'));
}
