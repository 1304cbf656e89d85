package gateway

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"kith/backend/gateway/xmltree"
)

// Action is what to do about a call that failed. When an answer has several
// reasons, the last in this order counts: what blocks more comes later.
type Action int

const (
	// Retry the same call later: nothing is known to be wrong with it. The
	// client itself has retried before it says so.
	Retry Action = iota
	// AlreadyDone: what was asked for is so, or cannot be done any more and
	// need not be.
	AlreadyDone
	// SwitchToUpdate: the subscription has the discount; set its amount.
	SwitchToUpdate
	// SwitchToAdd: the subscription has not got the discount; read it again
	// and add it.
	SwitchToAdd
	// ReadBack: it is not known whether money moved. Look with FindRefund, and
	// ask again, under another key, only when the refund is not there.
	ReadBack
	// AwaitSettlement: the transaction cannot be refunded yet. Ask again in an
	// hour; nothing tells when it settles.
	AwaitSettlement
	// Park until the subscription is paid again: it is Past Due.
	Park
	// SetUp: the merchant has to do something at the gateway: make the
	// discount, register the custom field, or enter keys that are good.
	SetUp
	// Missing: the gateway has no such record.
	Missing
	// Terminal: the subscription is canceled or expired for good.
	Terminal
	// Alert: the call was wrong, or its answer makes no sense. A person has to
	// look.
	Alert
)

// actions are the codes that tell what to do (reference, 2). All others are
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
	// The key of an at-most-once call: too long, not allowed to this merchant,
	// used with another body, in flight, used by a call that failed, lost by
	// a fault of the gateway.
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

// Error is every failure of a call.
type Error struct {
	// Action says what to do.
	Action Action
	// Status is the HTTP status; 0 when there was no answer, so that it is
	// not known whether the call had its effect.
	Status int
	// Failures are the gateway's reasons, in its order; only with status 422.
	Failures []Failure
	// Message is the gateway's summary.
	Message string
	// RetryAfter is how long the gateway asks to be left alone; 0 when it did
	// not say.
	RetryAfter time.Duration
	// Err is the cause, when there was no answer or none that can be read.
	Err error
}

// Failure is one reason.
type Failure struct {
	// Code is the gateway's stable code.
	Code string
	// Attribute is the dotted path of what is at fault, such as
	// "subscription.discounts.add.index_0.inherited_from_id".
	Attribute string
	Message   string
}

// Error is for the log: it names no key, and quotes nothing of a customer.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("gateway: ")
	switch {
	case e.Status == 0:
		b.WriteString("no answer")
	default:
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
	for _, f := range e.Failures {
		if f.Code == code {
			return true
		}
	}
	return false
}

// ActionOf is the action of an *Error, and Alert of any other error.
func ActionOf(err error) Action {
	var e *Error
	if errors.As(err, &e) {
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
		// The one refusal that is known to come without a code.
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

// collect walks the nested errors: each level has a list of its own, and the
// levels below it by name.
func (e *Error) collect(path string, level *xmltree.Node) {
	if level == nil {
		return
	}
	for _, n := range level.Children {
		if n.Name == "errors" {
			for _, item := range n.Children {
				e.Failures = append(e.Failures, Failure{
					Code: item.Value("code"), Message: item.Value("message"), Attribute: join(path, item.Value("attribute")),
				})
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
