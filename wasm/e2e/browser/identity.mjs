// Scenarios of sign-in by OpenID Connect: people sign in at a provider, and come back to
// the portal.

/** Goes to the provider from the sign-in page and signs in there. */
async function signInAt(page, portal, login, path = '/portal') {
  await page.goto(portal + path);
  await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** An invited address joins by signing in, and gets the page that was asked for. */
export async function joining({ visitor, portal, assert }) {
  const page = await visitor();
  await signInAt(page, portal, 'ann', '/portal/t/demo/members');
  await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
  assert.equal(page.url(), portal + '/portal/t/demo/members');
  const row = page.getByRole('row').filter({ hasText: 'Person ann' });
  assert.match(await row.innerText(), /Manager/);
}

/** The person who has joined signs in again, in another browser. */
export async function again({ visitor, portal }) {
  const page = await visitor();
  await signInAt(page, portal, 'ann');
  await page.getByText('Person ann').first().waitFor();
}

/** An address that no owner has invited is refused, and so is one that is not verified. */
export async function strangers({ visitor, portal }) {
  for (const [login, text] of [['stranger', 'ask an owner of your tenant to invite it'], ['mallory', 'has not verified a mail address']]) {
    const page = await visitor();
    await signInAt(page, portal, login);
    await page.getByRole('heading', { name: 'You may not do this' }).waitFor();
    await page.getByText(text).waitFor();
    await page.goto(portal + '/portal/profile');
    await page.waitForURL(/\/portal\/signin\?next=/);
  }
}

/** What a stranger who read the link of an invitation has set is void once its owner comes. */
export async function takingBack({ visitor, portal, invitation, assert }) {
  const stranger = await visitor();
  await stranger.goto(invitation);
  assert.equal(await stranger.getByRole('link', { name: 'sign in to join with it' }).count(), 1);
  await stranger.getByLabel('Your name').fill('Carol');
  await stranger.getByLabel('Choose a password').fill('the stranger chose this');
  await stranger.getByRole('button', { name: 'Join demo' }).click();
  await stranger.waitForURL(/\/portal\/t\/demo/);
  const carol = await visitor();
  await signInAt(carol, portal, 'carol', '/portal/profile');
  await carol.getByText('None: you sign in with Example ID').waitFor();
  await stranger.goto(portal + '/portal/t/demo/members');
  await stranger.waitForURL(/\/portal\/signin\?next=/);
  await stranger.getByLabel('Mail address').fill('carol@demo.example');
  await stranger.getByLabel('Password').fill('the stranger chose this');
  await stranger.getByRole('button', { name: 'Sign in', exact: true }).click();
  await stranger.getByRole('alert').getByText('does not match the address').waitFor();
}

/** A link with a code that was begun in another browser opens no session. */
export async function foreignCode({ visitor, portal }) {
  const attacker = await visitor();
  let stolen;
  attacker.on('request', (request) => {
    if (request.url().includes('/portal/oidc/callback?')) stolen = request.url();
  });
  await signInAt(attacker, portal, 'ann');
  await attacker.getByText('Person ann').first().waitFor();
  const victim = await visitor();
  await victim.goto(stolen);
  await victim.getByText('was begun in another browser').waitFor();
  await victim.goto(portal + '/portal/profile');
  await victim.waitForURL(/\/portal\/signin/);
}
