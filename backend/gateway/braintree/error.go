package braintree

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway/xmltree"
)

// Action is what to do about a failed call. If an answer has several reasons, the last
// action in this order counts: a later action is a stronger obstacle.
type Action int

const (
	// Retry: the call itself has no known error; repeat it later. The client has
	// already repeated it several times.
	Retry Action = iota
	// AlreadyDone: the requested state exists, or is not needed any more.
	AlreadyDone
	// SwitchToUpdate: the subscription has the discount already; update its amount.
	SwitchToUpdate
	// SwitchToAdd: the subscription does not have the discount; read the subscription
	// again and add it.
	SwitchToAdd
	// ReadBack: it is unknown whether money moved. Call FindRefund, and repeat the call,
	// with another key, only if the refund does not exist.
	ReadBack
	// AwaitSettlement: the transaction cannot be refunded yet. Try again in an hour;
	// the gateway sends no notification when it settles.
	AwaitSettlement
	// Park: the subscription is Past Due; wait until it is paid.
	Park
	// SetUp: the merchant must change the set-up: create the discount, register the
	// custom field, or enter valid keys.
	SetUp
	// Missing: the gateway has no such record.
	Missing
	// Terminal: the subscription is canceled or expired, which is final.
	Terminal
	// Alert: the call was invalid, or its answer is not understood. An operator must
	// look at it.
	Alert
)

// actions has the action of each known code (gateway 2.4). The action of all others is
// Alert.
var actions = map[string]Action{
	"91911": SwitchToUpdate,
	"92016": AlreadyDone, "92025": AlreadyDone,
	"92011": SwitchToAdd, "92012": SwitchToAdd,
	"92013": SetUp, "92014": SetUp, "91602": SetUp,
	"92022": Park, "91920": Park,
	"81901": Terminal, "81905": Terminal, "81910": Terminal,
	"92002": Alert, "92003": Alert, "92023": Alert,
	"91506": AwaitSettlement, "91574": AwaitSettlement,
	"91512": ReadBack, "91521": ReadBack,
	"91504": AlreadyDone,
	// The key of an at-most-once call: too long, not available to this merchant, used
	// with another body, in flight, used by a call that failed, lost by an error of
	// the gateway.
	keyTooLong: Alert, keyNotAllowed: ReadBack, keyReused: Alert, keyInFlight: Retry, keyFailed: ReadBack, keyLost: ReadBack,
}

const (
	keyTooLong    = "915230"
	keyNotAllowed = "915231"
	keyReused     = "915232"
	keyInFlight   = "915233"
	keyFailed     = "915234"
	keyLost       = "915235"
)

// Error is the error of a failed call.
type Error struct {
	// Action is what to do.
	Action Action
	// Status is the HTTP status; 0 if there was no answer, so that it is unknown
	// whether the call had an effect.
	Status int
	// Failures are the gateway's reasons, in its order. Only a 422 has them.
	Failures []Failure
	// Message is the gateway's summary.
	Message string
	// RetryAfter is the pause that the gateway asks for; 0 if it does not ask.
	RetryAfter time.Duration
	// Err is the cause, if there was no answer or the answer cannot be read.
	Err error
}

// Failure is one reason.
type Failure struct {
	// Code is the gateway's stable code.
	Code string
	// Attribute is the dotted path of the invalid attribute, such as
	// "subscription.discounts.add.index_0.inherited_from_id".
	Attribute string
}

// Error returns a text for the log, without keys and without data of customers.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("gateway: ")
	if e.Status == 0 {
		b.WriteString("no answer")
	} else {
		b.WriteString("status " + strconv.Itoa(e.Status))
	}
	for _, f := range e.Failures {
		b.WriteString(", " + f.Code + " on " + f.Attribute)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Has reports whether a code is among the reasons.
func (e *Error) Has(code string) bool {
	return slices.ContainsFunc(e.Failures, func(f Failure) bool { return f.Code == code })
}

// ActionOf returns the action of an *Error, and Alert for any other error.
func ActionOf(err error) Action {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Action
	}
	return Alert
}

// refusal reads the body of a 422.
func refusal(status int, doc *xmltree.Node) *Error {
	e := &Error{Status: status, Message: doc.Value("message")}
	e.collect("", doc.At("errors"))
	if doc == nil || doc.Name != "api_error_response" || len(e.Failures) == 0 {
		e.Action = Alert
		// The only known refusal without a code.
		if strings.Contains(e.Message, "Custom field is invalid") {
			e.Action = SetUp
		}
		return e
	}
	for _, f := range e.Failures {
		action, known := actions[f.Code]
		if !known {
			action = Alert
		}
		e.Action = max(e.Action, action)
	}
	return e
}

// collect collects the nested errors: each level has its own list, and named levels
// below it.
func (e *Error) collect(path string, level *xmltree.Node) {
	if level == nil {
		return
	}
	for _, n := range level.Children {
		if n.Name == "errors" {
			for _, item := range n.Children {
				e.Failures = append(e.Failures, Failure{Code: item.Value("code"), Attribute: join(path, item.Value("attribute"))})
			}
			continue
		}
		e.collect(join(path, n.Name), n)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
