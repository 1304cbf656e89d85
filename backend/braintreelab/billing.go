package braintreelab

import (
	"time"

	"kith/backend/gateway/braintree"
)

// bill begins the next cycle on its first day.
func (b *book) bill(s *subscription) {
	if s.inTrial() {
		b.notify(braintree.SubscriptionTrialEnded, s)
	}
	if s.over(b.now) {
		b.expire(s)
		return
	}
	b.openCycle(s)
	b.collect(s)
}

// openCycle begins a cycle and adds its cost to the balance.
func (b *book) openCycle(s *subscription) {
	s.cycle++
	s.periodStart, s.nextBilling = s.nextBilling, s.cycleDay(s.cycle+1)
	s.periodEnd = s.nextBilling.AddDate(0, 0, -1)
	s.balance += s.cycleAmount()
	s.billed = [2][]modification{s.addOns, s.discounts}
	s.addOns, s.discounts = spend(s.addOns), spend(s.discounts)
	s.updated = b.now
}

// collect charges the balance, or skips the bill if nothing is owed.
func (b *book) collect(s *subscription) {
	if s.balance <= 0 {
		b.regular(s)
		b.skipped(s)
		return
	}
	if t := b.charge(s, s.balance); t.status.Paid() {
		b.paid(s)
	} else {
		b.unpaid(s)
	}
}

// skipped notifies of a cycle that cost nothing.
func (b *book) skipped(s *subscription) {
	s.paidThrough = s.periodEnd
	b.notify(braintree.SubscriptionBillingSkipped, s)
}

// regular ends the past due state.
func (b *book) regular(s *subscription) {
	s.failures, s.retried, s.pastDue, s.retryAt = 0, 0, time.Time{}, time.Time{}
	if s.status != braintree.Active {
		b.become(s, braintree.Active)
	}
}

// paid is called after a charge that settles the balance. The gateway does not document
// the order of its notifications; the lab notifies of the charge first. A subscription
// that was past due when its last cycle ended expires once it is paid.
func (b *book) paid(s *subscription) {
	active := s.status == braintree.PastDue || !s.charged && !s.trial
	s.charged, s.paidThrough = true, s.periodEnd
	b.regular(s)
	b.notify(braintree.SubscriptionChargedSuccessfully, s)
	if s.over(b.now) {
		b.expire(s)
	} else if active {
		b.notify(braintree.SubscriptionWentActive, s)
	}
}

// unpaid records a failed charge: the balance stays, and is charged again on the days
// that the merchant has set.
func (b *book) unpaid(s *subscription) {
	s.failures++
	fresh := s.status != braintree.PastDue
	if fresh {
		s.pastDue, s.retried = b.now, 0
		b.become(s, braintree.PastDue)
	}
	b.planRetry(s)
	b.notify(braintree.SubscriptionChargedUnsuccessfully, s)
	if fresh {
		b.notify(braintree.SubscriptionWentPastDue, s)
	}
}

// planRetry finds the next retry day that is not over. After the last one the
// subscription stays past due.
func (b *book) planRetry(s *subscription) {
	s.retryAt = time.Time{}
	for s.retried < len(b.settings.retryDays) && s.retryAt.IsZero() {
		if at := day(s.pastDue).AddDate(0, 0, b.settings.retryDays[s.retried]); at.After(b.now) {
			s.retryAt = at
			return
		}
		s.retried++
	}
}

// retry charges the balance of a past due subscription automatically.
func (b *book) retry(s *subscription) {
	s.retried++
	b.collect(s)
}

func (b *book) expire(s *subscription) {
	b.become(s, braintree.Expired)
	b.notify(braintree.SubscriptionExpired, s)
}

// prorate charges or credits the part of a change that falls on the rest of the
// current cycle: (new amount - old amount) * days left / days of the cycle,
// where the days left are those after today. A credit goes to the balance; a
// charge uses the balance up first. It returns the transaction, if there was
// one; when that failed, the charge stays on the balance.
func (b *book) prorate(s *subscription, oldAmount int64) *transaction {
	if s.status != braintree.Active || s.cycle == 0 {
		return nil
	}
	left, all := days(b.now, s.periodEnd), days(s.periodStart, s.periodEnd)+1
	delta := portion(s.cycleAmount()-oldAmount, int64(max(left, 0)), int64(all))
	s.balance += delta
	if delta <= 0 || s.balance <= 0 {
		return nil
	}
	s.billed = [2][]modification{s.addOns, s.discounts}
	t := b.charge(s, s.balance)
	if t.status.Paid() {
		s.charged = true
		b.notify(braintree.SubscriptionChargedSuccessfully, s)
	} else {
		s.failures++
		b.notify(braintree.SubscriptionChargedUnsuccessfully, s)
	}
	return t
}

// portion is amount * part / whole, rounded half away from zero.
func portion(amount, part, whole int64) int64 {
	if amount < 0 {
		return -portion(-amount, part, whole)
	}
	return (2*amount*part + whole) / (2 * whole)
}
