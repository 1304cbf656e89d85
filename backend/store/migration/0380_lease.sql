-- Leases that do not depend on the clocks of machines.
--
-- A process that leases work to itself has a row in worker_process, and increments beat
-- while it runs. Another process that sees the same beat for several of its own beats
-- releases the leases of the process and deletes the row. Written and read by the
-- leases worker of every backend.
CREATE TABLE worker_process (
  id   TEXT PRIMARY KEY,                      -- random; a process that starts again has another one
  beat INTEGER NOT NULL CHECK (beat >= 0)
) STRICT, WITHOUT ROWID;

-- leased_by is the token of the lease: the id of the process, a dot and a number. It is
-- NULL while there is no lease. The time of a leased row (leased_until, due_at, sweep_at)
-- is one that never comes.
ALTER TABLE job ADD COLUMN leased_by TEXT;
CREATE INDEX job_leased ON job (leased_by) WHERE leased_by IS NOT NULL;
ALTER TABLE webhook_delivery ADD COLUMN leased_by TEXT;
CREATE INDEX webhook_delivery_leased ON webhook_delivery (leased_by) WHERE leased_by IS NOT NULL;
ALTER TABLE gateway_subscription ADD COLUMN leased_by TEXT;
CREATE INDEX gateway_subscription_leased_by ON gateway_subscription (leased_by) WHERE leased_by IS NOT NULL;
ALTER TABLE gateway_connection ADD COLUMN leased_by TEXT;
CREATE INDEX gateway_connection_leased ON gateway_connection (leased_by) WHERE leased_by IS NOT NULL;
ALTER TABLE gateway_coupon ADD COLUMN leased_by TEXT;
CREATE INDEX gateway_coupon_leased ON gateway_coupon (leased_by) WHERE leased_by IS NOT NULL;
