'use server';
import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import { identify, reportOrder, reportRefund } from '../lib/kith';
import { addCustomer, changeOrder } from '../lib/shop';

const field = (form: FormData, name: string) => String(form.get(name) ?? '');

export async function signUp(form: FormData) {
  const visitor = await headers(); // before the session is set
  const customer = await addCustomer(field(form, 'name'), field(form, 'email'));
  await identify(visitor, customer, field(form, 'code'));
  redirect('/');
}

export async function buy(form: FormData) {
  const order = await changeOrder(field(form, 'id'), 'open', 'paid');
  if (order) await reportOrder(order);
  redirect('/');
}

export async function refund(form: FormData) {
  const order = await changeOrder(field(form, 'id'), 'paid', 'refunded');
  if (order) await reportRefund(order);
  redirect('/');
}
