-- When the gateway was last asked for subscriptions that nobody told of, and
-- when for all of them; 0 is never. sweep_at is when to ask next.
ALTER TABLE gateway_connection ADD COLUMN swept_at INTEGER NOT NULL DEFAULT 0 CHECK (swept_at >= 0);
ALTER TABLE gateway_connection ADD COLUMN swept_all_at INTEGER NOT NULL DEFAULT 0 CHECK (swept_all_at >= 0);
ALTER TABLE gateway_connection ADD COLUMN sweep_at INTEGER NOT NULL DEFAULT 0 CHECK (sweep_at >= 0);
CREATE INDEX gateway_connection_sweep ON gateway_connection (sweep_at);

-- When the charge was made: the oldest of an account is its first, whichever was
-- heard of before. 0 of those that were seen before this.
ALTER TABLE gateway_bill ADD COLUMN charged_at INTEGER NOT NULL DEFAULT 0 CHECK (charged_at >= 0);

-- The code that is to be in the custom field of a customer at the gateway.
CREATE TABLE gateway_coupon (
  tenant      TEXT NOT NULL REFERENCES tenant (alias),
  customer_id TEXT NOT NULL CHECK (customer_id <> ''),
  code        TEXT NOT NULL CHECK (code <> ''),
  problem     TEXT NOT NULL,               -- why it is not there, or ''
  tries       INTEGER NOT NULL CHECK (tries >= 0),  -- since it was asked for
  due_at      INTEGER,                     -- when to write it next; null once it is there, or cannot be
  PRIMARY KEY (tenant, customer_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_coupon_due ON gateway_coupon (due_at) WHERE due_at IS NOT NULL;

-- Payloads name people and cards, and go when they are old.
CREATE INDEX gateway_notification_old ON gateway_notification (read_at) WHERE payload <> ''
