-- The erasure of users in webhook events and at payment gateways.
--
-- 1 since a user whom the event names was erased: userdb.webhookErasure says what stays in
-- data. Answers to later attempts are not stored.
ALTER TABLE webhook_event ADD COLUMN erased INTEGER NOT NULL DEFAULT 0 CHECK (erased IN (0, 1));
-- An erasure finds by it the events about a user and the user's rewards, by the account,
-- and those about a code, by the code. It finds events about a referral by
-- webhook_event_subject.
CREATE INDEX webhook_event_owner ON webhook_event (tenant, coalesce(data ->> '$.accountId', data ->> '$.code'));
-- An endpoint may have answered with what it received.
CREATE TRIGGER webhook_event_erased AFTER UPDATE OF erased ON webhook_event WHEN new.erased = 1 BEGIN
  UPDATE webhook_attempt SET answer = '' WHERE tenant = new.tenant AND event_id = new.id AND answer <> ''
    AND url IN (SELECT url FROM webhook_delivery INDEXED BY webhook_delivery_event WHERE tenant = new.tenant AND event_id = new.id); END;

-- An erasure finds by them the customers of others who use a code of the user.
CREATE INDEX gateway_subscription_code ON gateway_subscription (tenant, code) WHERE code <> '';
CREATE INDEX gateway_coupon_code ON gateway_coupon (tenant, code);
