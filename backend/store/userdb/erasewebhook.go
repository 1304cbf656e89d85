package userdb

// webhookErasure are the statements that erase users from webhook events (clients 6.5.16).
// They run while referrals, rewards and codes still name the users. Events of a user that an
// endpoint may still get keep ids, times and amounts, in the form that the receiver expects;
// all others become empty objects, which are not sent again. Events of other users lose the
// codes and the orders of the erased ones. The plus before a column removes its affinity,
// because of which SQLite would not use an index of an expression.
var webhookErasure = []string{
	inEvents(unlessDelivered(idsOnly), `webhook_event t INDEXED BY webhook_event_owner ON t.tenant = ?1 AND `+eventOwner+` = gone.account AND t.data ->> '$.accountId' = gone.account
		AND (gone.user = '' OR coalesce(t.data ->> '$.userId', t.data ->> '$.id') = gone.user)`),
	inEvents(unlessDelivered(idsOnly), ownReferrals+` CROSS JOIN webhook_event t INDEXED BY webhook_event_subject ON t.tenant = ?1 AND t.data ->> '$.id' = +referral.id`),
	inEvents(unlessDelivered(`json_set(`+idsOnly+`, '$.referralCodeUsed', hit.mask, '$.shareLinkUsed', null)`),
		madeReferrals+` CROSS JOIN webhook_event t INDEXED BY webhook_event_subject ON t.tenant = ?1 AND t.data ->> '$.id' = +referral.id`),
	inEvents(unlessDelivered(`json_set(webhook_event.data, '$.code', hit.mask)`),
		ownCodes+` CROSS JOIN webhook_event t INDEXED BY webhook_event_owner ON t.tenant = ?1 AND t.type = 'coupon.created' AND `+eventOwner+` = +code.code COLLATE BINARY`),
	// A user.created of a referred user has the code of the referrer.
	inEvents(`json_set(webhook_event.data, '$.referredBy.code', hit.mask, '$.referredByCodes', json_array(hit.mask))`,
		madeReferrals+` CROSS JOIN webhook_event t INDEXED BY webhook_event_owner ON t.tenant = ?1 AND t.type = 'user.created' AND `+eventOwner+` = +referral.referred_account_id
			AND t.data ->> '$.referredBy.code' IS NOT NULL`),
	// The reward of a referrer has the order of the referred user.
	inEvents(`json_remove(webhook_event.data, '$.orderId')`,
		ownReferrals+` CROSS JOIN reward ON reward.tenant = ?1 AND reward.referral_id = referral.id
			CROSS JOIN webhook_event t INDEXED BY webhook_event_subject ON t.tenant = ?1 AND t.data ->> '$.id' = +reward.id AND t.data ->> '$.orderId' IS NOT NULL`),
}

// eventOwner is the indexed expression of a webhook event t: the account whose user or
// reward it is about, or the code that it is about.
const eventOwner = `coalesce(t.data ->> '$.accountId', t.data ->> '$.code')`

// inEvents returns the statement that changes the data of the webhook events t that the join
// on finds for an erased user; see goneIn.
func inEvents(data, on string) string {
	return goneIn("UPDATE", "webhook_event", `erased = 1, data = `+data, on)
}

// unlessDelivered returns the data of an event, or an empty object if all its deliveries
// were delivered.
func unlessDelivered(data string) string {
	return `CASE WHEN EXISTS (SELECT 1 FROM webhook_delivery d INDEXED BY webhook_delivery_event WHERE d.tenant = ?1 AND d.event_id = webhook_event.id AND d.state <> 'delivered')
		THEN ` + data + ` ELSE '{}' END`
}

// idsOnly is the data of a webhook event without what is personal. An event about a referral
// has rewards within it.
var idsOnly = members(`webhook_event.data`, `member`,
	`WHEN member.key IN ('referrerReward', 'referredReward') AND member.type = 'object' THEN `+members(`member.value`, `part`, ``))

// members returns a JSON object with the members that it had, but without orderId, which
// events without an order lack too. The list has the members that keep their values: ids,
// times, amounts and states. All others become null, or empty if they are never null.
func members(object, m, nested string) string {
	return `(SELECT json_group_object(` + m + `.key, json(CASE
		WHEN ` + m + `.key IN ('id', 'accountId', 'userId', 'referable', 'code', 'programId', 'type', 'rewardSource', 'programRewardKey', 'globalRewardKey',
			'unit', 'currency', 'discountPercent', 'assignedCredit', 'redeemedCredit', 'redemptions', 'amount', 'valueInCents', 'fueltankType', 'fuelTankType',
			'reversedValue', 'settledValue', 'availableValue', 'resourceVersion', 'cancellable',
			'referrer', 'referred', 'referralCodeUsed', 'shareLinkUsed', 'moderationStatus', 'referrerModerationStatus', 'referredModerationStatus',
			'dateCreated', 'dateGiven', 'dateScheduledFor', 'dateExpires', 'dateCancelled', 'dateReferralStarted', 'dateReferralPaid', 'dateConverted',
			'dateReferralEnded', 'dateModerated', 'dateModified', 'dateUserModified') THEN ` + object + ` -> ` + m + `.fullkey
		` + nested + `
		WHEN ` + m + `.key IN ('firstName', 'lastName', 'lastInitial', 'imageUrl') THEN '""'
		WHEN ` + m + `.key IN ('referralCodes', 'customFields', 'programShareLinks') THEN '{}'
		WHEN ` + m + `.key IN ('segments', 'referredByCodes') THEN '[]'
		ELSE 'null' END)) FROM json_each(` + object + `) ` + m + ` WHERE ` + m + `.key <> 'orderId')`
}
