'use client';
import { createClient } from '@kith/client';
import { KithProvider, Widget } from '@kith/client/react';
import { useMemo } from 'react';

/** The widget with the customer's friends and rewards. It calls Kith from the page. */
export function Referrals({ baseUrl, tenant, user, token }: { baseUrl: string; tenant: string; user: string; token: string }) {
  const kith = useMemo(() => createClient({ baseUrl, tenant, userToken: token }), [baseUrl, tenant, token]);
  return <KithProvider client={kith}><Widget account={user} user={user} /></KithProvider>;
}
