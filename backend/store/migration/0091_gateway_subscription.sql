-- What is known of the subscriptions at the gateway, what their discount is to
-- be, which bills were seen, and what is given back.

CREATE TABLE gateway_subscription (
  tenant       TEXT NOT NULL REFERENCES tenant (alias),
  id           TEXT NOT NULL,
  customer_id  TEXT NOT NULL,              -- '' until it is read
  account_id   TEXT,                       -- null while no account has the customer
  status       TEXT NOT NULL,              -- '' until it is read
  in_trial     INTEGER NOT NULL CHECK (in_trial IN (0, 1)),
  paid         INTEGER NOT NULL CHECK (paid IN (0, 1)),
  wanted       INTEGER NOT NULL CHECK (wanted >= 0),   -- what its discount is to be, in minor units
  folded       INTEGER NOT NULL CHECK (folded BETWEEN 0 AND wanted),  -- the credit in it
  problem      TEXT NOT NULL,              -- why the gateway was not brought in line, or ''
  attempt      INTEGER NOT NULL CHECK (attempt >= 0),  -- it never falls, so it fences
  tries        INTEGER NOT NULL CHECK (tries >= 0),    -- failures in a row
  due_at       INTEGER,                    -- when to read it next
  leased_until INTEGER,                    -- not null while a worker has it
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT;
CREATE INDEX gateway_subscription_due ON gateway_subscription (due_at) WHERE leased_until IS NULL AND due_at IS NOT NULL;
CREATE INDEX gateway_subscription_leased ON gateway_subscription (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX gateway_subscription_account ON gateway_subscription (tenant, account_id);
CREATE INDEX gateway_subscription_customer ON gateway_subscription (tenant, customer_id);

CREATE TABLE gateway_bill (
  tenant          TEXT NOT NULL REFERENCES tenant (alias),
  transaction_id  TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  account_id      TEXT NOT NULL,
  amount          INTEGER NOT NULL CHECK (amount > 0),
  discount        INTEGER NOT NULL CHECK (discount >= 0),  -- the tenant's
  credit          INTEGER NOT NULL CHECK (credit BETWEEN 0 AND discount),  -- the credit that it used
  first           INTEGER NOT NULL CHECK (first IN (0, 1)),  -- whether it made the account PAID
  seen_at         INTEGER NOT NULL,
  PRIMARY KEY (tenant, transaction_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX gateway_bill_first ON gateway_bill (tenant, account_id) WHERE first = 1;

CREATE TABLE gateway_refund (
  tenant          TEXT NOT NULL REFERENCES tenant (alias),
  transaction_id  TEXT NOT NULL,           -- what is refunded
  account_id      TEXT NOT NULL,
  subscription_id TEXT NOT NULL,
  amount          INTEGER NOT NULL CHECK (amount > 0),
  currency        TEXT NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),
  key_number      INTEGER NOT NULL CHECK (key_number > 0),  -- of the key at the gateway: one more after each refusal
  refund_id       TEXT NOT NULL,           -- the gateway's, once it is done
  problem         TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  PRIMARY KEY (tenant, transaction_id),
  UNIQUE (tenant, account_id),             -- an account is given back once
  CHECK ((state = 'waiting') = (ended_at IS NULL)),
  CHECK ((state = 'done') = (refund_id <> ''))
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_refund_waiting ON gateway_refund (tenant, subscription_id) WHERE state = 'waiting';
