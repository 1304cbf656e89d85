-- A redemption finds by it whether the rewards of a referral are still to follow its moderation.
CREATE INDEX order_replay_moderated ON order_replay (tenant, moderated) WHERE moderated <> '';
