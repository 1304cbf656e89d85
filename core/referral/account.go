package referral

import "kith/core"

// Status is an account's subscription status (clients 1.1.5).
type Status string

const (
	Trial     Status = "TRIAL"
	Paid      Status = "PAID"
	Free      Status = "FREE"
	Cancelled Status = "CANCELLED"
)

// ParseStatus returns s as a status or an error about field (RS022).
func ParseStatus(field, s string) (Status, error) {
	switch status := Status(s); status {
	case Trial, Paid, Free, Cancelled:
		return status, nil
	}
	err := core.Invalid(field, "must be one of PAID, TRIAL, FREE, CANCELLED")
	err.RS = "RS022"
	return "", err
}

// Report returns the account with a status from an unsigned call of a browser; nil
// means none. The status is only stored for people to see. It does not convert or end
// a referral, and does not replace a status from a server or a gateway.
func (a Account) Report(status *Status) Account {
	if status != nil && *status != Cancelled && a.Status != Cancelled && a.Standing.FirstPaid == 0 {
		a.Status = *status
	}
	return a
}

// Unconfirmed reports whether the status PAID is only reported: neither a server, a signed
// token nor a gateway has said it, so it converts nothing.
func (a Account) Unconfirmed() bool { return a.Status == Paid && a.Standing.FirstPaid == 0 }

// Interval is the unit of a billing interval (clients 1.1.6).
type Interval string

// ParseInterval returns s as an interval or an error about field.
func ParseInterval(field, s string) (Interval, error) {
	switch s {
	case "DAY", "WEEK", "MONTH", "QUARTER", "SEMI_ANNUAL", "YEAR":
		return Interval(s), nil
	}
	return "", core.Invalid(field, "must be one of DAY, WEEK, MONTH, QUARTER, SEMI_ANNUAL, YEAR")
}

// DefaultCurrency is the currency of an account whose caller gave none
// (clients 1.1.4).
const DefaultCurrency = "USD"

// Account is a stored account.
type Account struct {
	ID       core.AccountID
	Currency string
	// Status is the subscription status; Trial by default.
	Status Status
	// Interval and IntervalValue are the billing interval; empty and zero if not
	// given.
	Interval      Interval
	IntervalValue int64
	// Value is the subscription's value as the JSON number that was sent, to keep all
	// digits; empty if not given.
	Value             string
	PaymentProviderID core.PaymentProviderID
	// Standing is the state of the account's referral.
	Standing Standing
	Created  core.Time
}

// AccountUpdate is the body of an account sync. A nil field does not change.
type AccountUpdate struct {
	ID            core.AccountID
	Currency      *string
	Status        *Status
	Interval      *Interval
	IntervalValue *int64
	Value         *string
	Code          *core.ReferralCode
}

// Apply returns the account with the fields of the update.
func (u AccountUpdate) Apply(a Account) Account {
	set(&a.Currency, u.Currency)
	set(&a.Status, u.Status)
	set(&a.Interval, u.Interval)
	set(&a.IntervalValue, u.IntervalValue)
	set(&a.Value, u.Value)
	return a
}

// NewAccount returns a new account with the defaults.
func NewAccount(id core.AccountID, now core.Time) Account {
	return Account{
		ID: id, Currency: DefaultCurrency, Status: Trial, Created: now,
		Standing: Standing{Referral: None},
	}
}

// changes reports whether set would change the stored value.
func changes[T comparable](stored T, given *T) bool { return given != nil && *given != stored }

// set replaces the stored value by the given one, unless that is nil.
func set[T any](stored *T, given *T) {
	if given != nil {
		*stored = *given
	}
}
