// Customers and orders. A real shop has a database, passwords and payments.
import { randomUUID } from 'node:crypto';
import { cookies } from 'next/headers';

export interface Customer { id: string; name: string; email: string }
export interface Order { id: string; customer: string; cost: number; state: 'open' | 'paid' | 'refunded' }

export const price = 8000; // cents
export const dollars = (cents: number) => `$${(cents / 100).toFixed(2)}`;

// Pages and actions have modules of their own, but one globalThis.
const shop = ((globalThis as { shop?: { customers: Map<string, Customer>; orders: Map<string, Order> } }).shop ??= { customers: new Map(), orders: new Map() });

/** The customer who is signed in. */
export async function currentCustomer(): Promise<Customer | undefined> {
  return shop.customers.get((await cookies()).get('session')?.value ?? '');
}

/** Makes a customer, who is signed in. */
export async function addCustomer(name: string, email: string): Promise<Customer> {
  const session = randomUUID(), customer = { id: randomUUID(), name, email };
  shop.customers.set(session, customer);
  (await cookies()).set('session', session, { httpOnly: true, sameSite: 'lax' });
  return customer;
}

/** The orders of a customer that are closed, and the one that is open. */
export function ordersOf({ id }: Customer): { closed: Order[]; cart: Order } {
  const own = [...shop.orders.values()].filter((order) => order.customer === id);
  const cart: Order = own.find((order) => order.state === 'open') ?? { id: randomUUID(), customer: id, state: 'open', cost: price };
  shop.orders.set(cart.id, cart);
  return { closed: own.filter((order) => order.state !== 'open'), cart };
}

/** Changes the state of an order of the current customer. Undefined if the order has another state: a form was sent twice. */
export async function changeOrder(id: string, from: Order['state'], to: Order['state']): Promise<Order | undefined> {
  const order = shop.orders.get(id);
  if (order?.state !== from || order.customer !== (await currentCustomer())?.id) return undefined;
  order.state = to;
  return order;
}
