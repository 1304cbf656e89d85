-- Deliveries of webhooks that have a state, the newest event first, without the delivered
-- ones, which are most: the delivery log finds those that failed or wait.
CREATE INDEX webhook_delivery_state ON webhook_delivery (tenant, url, state, event_id) WHERE state <> 'delivered';

-- The log of a gateway's notifications, newest first, and of those that could not be read.
CREATE INDEX gateway_notification_tenant ON gateway_notification (tenant, seq);
CREATE INDEX gateway_notification_problem ON gateway_notification (tenant, seq) WHERE problem <> '';
