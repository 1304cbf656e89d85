-- What the first page of the portal counts: work that Kith does not try again by itself.
CREATE INDEX webhook_delivery_failed ON webhook_delivery (tenant, ended_at) WHERE state = 'failed';
CREATE INDEX gateway_subscription_problem ON gateway_subscription (tenant, id) WHERE problem <> '';
CREATE INDEX gateway_coupon_problem ON gateway_coupon (tenant, customer_id) WHERE problem <> '';
CREATE INDEX gateway_refund_failed ON gateway_refund (tenant, transaction_id) WHERE state = 'failed';
