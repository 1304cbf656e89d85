// An OpenID Connect provider for tests: node provider.mjs PORT CLIENT SECRET REDIRECT. Each
// login exists with the address LOGIN@demo.example, and any password is right. Only the
// address of mallory is not verified.
import Provider from 'oidc-provider';

const [port, client, secret, redirect] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: client, client_secret: secret, redirect_uris: [redirect], grant_types: ['authorization_code'], response_types: ['code'] }],
  claims: { email: ['email', 'email_verified'], profile: ['name'], openid: ['sub'] },
  conformIdTokenClaims: false, // claims are in the ID token, as with most providers
  pkce: { required: () => true },
  findAccount: (_context, login) => ({
    accountId: login,
    claims: () => ({ sub: login, name: 'Person ' + login, email: login + '@demo.example', email_verified: login !== 'mallory' }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
