-- Debts: credit of an order that refunds took back after it was redeemed.

-- 1: a settlement of the owner's debts stopped at its limit, and the reward worker continues it.
ALTER TABLE reward ADD COLUMN unsettled INTEGER NOT NULL DEFAULT 0 CHECK (unsettled IN (0, 1));
CREATE INDEX reward_unsettled ON reward (created_at) WHERE unsettled = 1;
-- The debts of an owner, oldest first.
CREATE INDEX reward_debt ON reward (tenant, account_id, user_id, unit, currency, created_at, id)
  WHERE value < redeemed + expired + cancelled + reversed + settled;
