-- Several kinds of payment gateways.
--
-- kind is the gateway of a connection: a tenant has one at a time. merchant_id is the
-- merchant's id at Braintree, or the account's id at Stripe. The row of gateway_key at
-- place 0 makes the calls: at Stripe it is the API key, and the others are the secrets by
-- which webhooks are signed.
ALTER TABLE gateway_connection ADD COLUMN kind TEXT NOT NULL DEFAULT 'braintree' CHECK (kind IN ('braintree', 'stripe'));
-- endpoint_id is the webhook endpoint that Kith made at the gateway, or ''.
ALTER TABLE gateway_connection ADD COLUMN endpoint_id TEXT NOT NULL DEFAULT '';
-- How a referrer's credit reaches the gateway: as a discount of the next bill, or as a
-- balance of the customer there.
ALTER TABLE gateway_connection ADD COLUMN credit TEXT NOT NULL DEFAULT 'coupon' CHECK (credit IN ('coupon', 'balance'));
-- 1 counts tax, and shipping, as revenue.
ALTER TABLE gateway_connection ADD COLUMN count_tax INTEGER NOT NULL DEFAULT 0 CHECK (count_tax IN (0, 1));
ALTER TABLE gateway_connection ADD COLUMN count_shipping INTEGER NOT NULL DEFAULT 0 CHECK (count_shipping IN (0, 1));

-- The kind of gateway that sent a notification.
ALTER TABLE gateway_notification ADD COLUMN gateway TEXT NOT NULL DEFAULT 'braintree';

-- The user whose events the bills of a subscription are, and the referral code that the
-- gateway has for it; '' while they are unknown. Written and read by the gateway worker.
ALTER TABLE gateway_subscription ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
ALTER TABLE gateway_subscription ADD COLUMN code TEXT NOT NULL DEFAULT '';

-- A payment at a gateway that names them, for the events of its purchase and its refunds:
-- a paid invoice, also one of 0, or an order that was paid at once. Written by
-- notifications, sweeps and the gateway worker, which reads it there. Lives as long as the
-- tenant.
CREATE TABLE gateway_payment (
  tenant          TEXT NOT NULL REFERENCES tenant (alias),
  id              TEXT NOT NULL,
  subscription_id TEXT NOT NULL DEFAULT '',   -- '' if it is not of a subscription, or unknown
  account_id      TEXT NOT NULL DEFAULT '',   -- '' until it is known whose it is
  user_id         TEXT NOT NULL DEFAULT '',
  amount          INTEGER NOT NULL DEFAULT 0 CHECK (amount >= 0),    -- what was paid
  revenue         INTEGER NOT NULL DEFAULT 0 CHECK (revenue BETWEEN 0 AND amount),  -- without tax and shipping, by choice
  currency        TEXT NOT NULL DEFAULT '',
  credit          INTEGER NOT NULL DEFAULT 0 CHECK (credit >= 0),    -- the account's credit that it redeemed
  reported        INTEGER NOT NULL DEFAULT 0 CHECK (reported IN (0, 1)),  -- 1: the event of the purchase was logged
  refunded        INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount),  -- of amount, what events of refunds were logged for
  reversed        INTEGER NOT NULL DEFAULT 0 CHECK (reversed BETWEEN 0 AND revenue), -- of revenue, the same
  problem         TEXT NOT NULL DEFAULT '',   -- why it could not be read, or ''
  tries           INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),     -- failures in a row
  touched         INTEGER NOT NULL DEFAULT 0 CHECK (touched >= 0),   -- how often it was named: what is named while it is read is read again
  due_at          INTEGER,                    -- when to read it next; null: when it is named again
  leased_by       TEXT,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX gateway_payment_due ON gateway_payment (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX gateway_payment_leased ON gateway_payment (leased_by) WHERE leased_by IS NOT NULL;
CREATE INDEX gateway_payment_problem ON gateway_payment (tenant, id) WHERE problem <> '';
CREATE INDEX gateway_payment_account ON gateway_payment (tenant, account_id);

-- Credit that was redeemed from an account's rewards to be given as a balance of its
-- customer at the gateway. The row is written with the redemption, before the gateway is
-- called. Lives as long as the tenant.
CREATE TABLE gateway_credit (
  tenant          TEXT NOT NULL REFERENCES tenant (alias),
  id              TEXT NOT NULL,              -- the idempotency key at the gateway
  account_id      TEXT NOT NULL,
  customer_id     TEXT NOT NULL CHECK (customer_id <> ''),
  subscription_id TEXT NOT NULL,              -- whose next bill it is for
  amount          INTEGER NOT NULL CHECK (amount > 0),
  currency        TEXT NOT NULL,
  -- waiting until the gateway worker sets done or failed.
  state           TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
  transaction_id  TEXT NOT NULL DEFAULT '',   -- the gateway's, once it is done
  problem         TEXT NOT NULL DEFAULT '',
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  PRIMARY KEY (tenant, id),
  CHECK ((state = 'waiting') = (ended_at IS NULL)),
  CHECK ((state = 'done') = (transaction_id <> ''))
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_credit_waiting ON gateway_credit (tenant, subscription_id) WHERE state = 'waiting';
CREATE INDEX gateway_credit_failed ON gateway_credit (tenant, id) WHERE state = 'failed';
CREATE INDEX gateway_credit_account ON gateway_credit (tenant, account_id);

-- A referral code that customers can enter at the gateway's checkout. Written when the
-- code is asked for or its link is followed, and made there by the gateway worker. Lives as
-- long as the tenant.
CREATE TABLE gateway_promotion (
  tenant       TEXT NOT NULL REFERENCES tenant (alias),
  code         TEXT NOT NULL CHECK (code <> ''),
  coupon_id    TEXT NOT NULL DEFAULT '',      -- the gateway's coupon with the terms, once it is made
  promotion_id TEXT NOT NULL DEFAULT '',      -- the gateway's id of the code, once it is made
  problem      TEXT NOT NULL DEFAULT '',
  tries        INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  due_at       INTEGER,                       -- when to make or check it next
  leased_by    TEXT,
  PRIMARY KEY (tenant, code)
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_promotion_due ON gateway_promotion (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX gateway_promotion_leased ON gateway_promotion (leased_by) WHERE leased_by IS NOT NULL;
CREATE INDEX gateway_promotion_problem ON gateway_promotion (tenant, code) WHERE problem <> '';
