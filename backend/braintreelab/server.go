package braintreelab

import (
	"compress/gzip"
	"crypto/subtle"
	"net/http"
	"strings"

	"kith/backend/labkit"
)

// calls are the gateway's own, below /merchants/{merchant}.
var calls = map[string]func(*book, command) reply{
	"GET /plans":      (*book).listPlans,
	"POST /plans":     (*book).createPlan,
	"GET /plans/{id}": (*book).findPlan,
	"GET /discounts":  (*book).listDiscounts,
	"GET /add_ons":    (*book).listAddOns,

	"POST /customers":                       (*book).createCustomer,
	"GET /customers/{id}":                   (*book).findCustomer,
	"PUT /customers/{id}":                   (*book).updateCustomer,
	"DELETE /customers/{id}":                (*book).deleteCustomer,
	"POST /customers/advanced_search_ids":   (*book).searchCustomerIDs,
	"POST /customers/advanced_search":       (*book).searchCustomers,
	"POST /payment_methods":                 (*book).createMethod,
	"GET /payment_methods/any/{id}":         (*book).findMethod,
	"PUT /payment_methods/any/{id}":         (*book).updateMethod,
	"DELETE /payment_methods/any/{id}":      (*book).deleteMethod,
	"GET /payment_methods/credit_card/{id}": (*book).findMethod,

	"POST /subscriptions":                     (*book).createSubscription,
	"GET /subscriptions/{id}":                 (*book).findSubscription,
	"PUT /subscriptions/{id}":                 (*book).updateSubscription,
	"PUT /subscriptions/{id}/cancel":          (*book).cancelSubscription,
	"POST /subscriptions/advanced_search_ids": (*book).searchSubscriptionIDs,
	"POST /subscriptions/advanced_search":     (*book).searchSubscriptions,

	"POST /transactions":                           onceOnly((*book).createTransaction),
	"GET /transactions/{id}":                       (*book).findTransaction,
	"POST /transactions/{id}/refund":               onceOnly((*book).refund),
	"PUT /transactions/{id}/void":                  onceOnly((*book).void),
	"PUT /transactions/{id}/submit_for_settlement": onceOnly((*book).submitForSettlement),
	"PUT /transactions/{id}/settle":                (*book).settle,
	"PUT /transactions/{id}/settlement_confirm":    (*book).settle,
	"PUT /transactions/{id}/settlement_pending":    (*book).settlementPending,
	"PUT /transactions/{id}/settlement_decline":    (*book).settlementDecline,
	"POST /transactions/advanced_search_ids":       (*book).searchTransactionIDs,
	"POST /transactions/advanced_search":           (*book).searchTransactions,
}

func onceOnly(do func(*book, command) reply) func(*book, command) reply {
	return func(b *book, c command) reply {
		return b.once(c, func(c command) reply { return do(b, c) })
	}
}

const merchantPath = "/merchants/{merchant}"

func (l *Lab) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for call := range calls {
		method, path, _ := strings.Cut(call, " ")
		mux.HandleFunc(method+" "+merchantPath+path, l.serveCall(call))
	}
	mux.HandleFunc(merchantPath+"/", l.serveCall("GET /"))
	l.controlRoutes(mux)
	return mux
}

// commandFor returns the function of a call or a control, or nil for an unknown one.
func commandFor(call string) func(*Lab, command) reply {
	if do, known := calls[call]; known {
		return func(l *Lab, c command) reply { return do(l.book, c) }
	}
	return controls[call]
}

func noCall(*Lab, command) reply { return notFound() }

// serveCall answers one call as the gateway does.
func (l *Lab) serveCall(call string) http.HandlerFunc {
	do := commandFor(call)
	if do == nil {
		do = noCall
	}
	return func(w http.ResponseWriter, r *http.Request) {
		status := l.admit(r)
		if status != 0 {
			w.WriteHeader(status)
			l.remember(r, status, nil)
			return
		}
		f := l.faults.Take(r)
		if f != nil {
			l.remember(r, 0, f)
			if refuse(w, r, f, l.options.Silence) {
				return
			}
		}
		body, err := readBody(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := l.perform(command{call: call, id: r.PathValue("id"), body: body}, do)
		if f != nil {
			f.LoseAnswer(r, l.options.Silence)
		}
		l.remember(r, answer.status, nil)
		write(w, r, answer)
	}
}

// admit returns the status with which a caller is refused, or 0.
func (l *Lab) admit(r *http.Request) int {
	public, private, _ := r.BasicAuth()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.keys {
		if k.Public == public && subtle.ConstantTimeCompare([]byte(k.Private), []byte(private)) == 1 {
			if r.PathValue("merchant") != MerchantID {
				return http.StatusForbidden
			}
			return 0
		}
	}
	return http.StatusUnauthorized
}

func (l *Lab) remember(r *http.Request, status int, f *labkit.Planned) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := labkit.Call{At: l.now(), Method: r.Method, Path: r.URL.Path, Status: status}
	if f != nil {
		one.Fault = f.Kind
	}
	l.calls.Add(one)
}

// write sends an answer, compressed if the client accepts gzip.
func write(w http.ResponseWriter, r *http.Request, answer reply) {
	if answer.doc == nil {
		w.WriteHeader(answer.status)
		return
	}
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(answer.status)
		_, _ = w.Write(answer.doc.Encode())
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(answer.status)
	z := gzip.NewWriter(w)
	// An error means that the client has closed the connection.
	_, _ = z.Write(answer.doc.Encode())
	_ = z.Close()
}
