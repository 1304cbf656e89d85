import { headers } from 'next/headers';
import { baseUrl, offerOf, standingOf, tenant } from '../lib/kith';
import { currentCustomer, dollars, ordersOf, price, type Customer } from '../lib/shop';
import { buy, refund, signUp } from './actions';
import { Referrals } from './referrals';

export default async function Page({ searchParams }: { searchParams: Promise<{ rsCode?: string }> }) {
  const customer = await currentCustomer();
  return customer ? <CustomerPage customer={customer} /> : <VisitorPage rsCode={(await searchParams).rsCode ?? ''} />;
}

/** The landing page: what the friend gives, and the form. */
async function VisitorPage({ rsCode }: { rsCode: string }) {
  const offer = await offerOf(await headers(), rsCode);
  return (
    <>
      <p>A pair of shoes: {dollars(price)}</p>
      {offer && <p>{offer.referrerName || 'A friend'} gives you {offer.discountPercentage}% off your first order.</p>}
      <form action={signUp}>
        <p><label>Name <input name="name" required /></label></p>
        <p><label>E-mail <input name="email" type="email" required /></label></p>
        <p><label>Referral code, if you have one <input name="code" defaultValue={offer && !offer.inCookie ? offer.code : ''} /></label></p>
        <button>Sign up</button>
      </form>
    </>
  );
}

/** The page of a customer who is signed in: discount, share link, rewards and orders. */
async function CustomerPage({ customer }: { customer: Customer }) {
  const standing = await standingOf(customer.id);
  const { closed, cart } = ordersOf(customer);
  // The discount is for the first order. What the page shows is what the customer pays.
  if (standing) cart.cost = Math.round(price * (1 - (closed.length ? 0 : standing.discount / 100)));
  return (
    <>
      <p>Welcome, {customer.name}. Your customer number: <span id="customer">{customer.id}</span></p>
      <form action={buy}>
        <input type="hidden" name="id" value={cart.id} />
        <button>Buy the shoes for {dollars(cart.cost)}</button>
      </form>
      {closed.map((order) => (
        <form key={order.id} action={refund}>
          Order {order.id}: {dollars(order.cost)} {order.state === 'refunded' ? 'refunded' : <button>Refund</button>}
          <input type="hidden" name="id" value={order.id} />
        </form>
      ))}
      {standing ? (
        <>
          <p>Your share link: <a id="link" href={standing.link}>{standing.link}</a></p>
          <p>Your credit: {dollars(standing.credit)}</p>
          <Referrals baseUrl={baseUrl} tenant={tenant} user={customer.id} token={standing.token} />
        </>
      ) : <p>Your share link cannot be shown now.</p>}
    </>
  );
}
