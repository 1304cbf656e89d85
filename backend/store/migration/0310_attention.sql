-- What the first page of the portal counts: work that Kith does not try again by itself.
CREATE INDEX webhook_delivery_failed ON webhook_delivery (tenant, ended_at) WHERE state = 'failed';
CREATE INDEX gateway_subscription_parked ON gateway_subscription (tenant) WHERE problem <> '' AND due_at IS NULL AND leased_until IS NULL;
CREATE INDEX gateway_refund_failed ON gateway_refund (tenant) WHERE state = 'failed';
CREATE INDEX gateway_coupon_parked ON gateway_coupon (tenant) WHERE problem <> '' AND due_at IS NULL;
