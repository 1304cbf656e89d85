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
	"GET /plans/{id}": on(plans, (*book).findPlan),
	"GET /discounts":  listCatalog("discounts", discountKind),
	"GET /add_ons":    listCatalog("add_ons", addOnKind),

	"POST /customers":                       (*book).createCustomer,
	"GET /customers/{id}":                   on(customers, (*book).findCustomer),
	"PUT /customers/{id}":                   on(customers, (*book).updateCustomer),
	"DELETE /customers/{id}":                on(customers, (*book).deleteCustomer),
	"POST /customers/advanced_search_ids":   ids((*book).allCustomers),
	"POST /customers/advanced_search":       page("customers", (*book).allCustomers),
	"POST /payment_methods":                 (*book).createMethod,
	"GET /payment_methods/any/{id}":         on(methods, (*book).findMethod),
	"PUT /payment_methods/any/{id}":         on(methods, (*book).updateMethod),
	"DELETE /payment_methods/any/{id}":      on(methods, (*book).deleteMethod),
	"GET /payment_methods/credit_card/{id}": on(methods, (*book).findMethod),

	"POST /subscriptions":                     (*book).createSubscription,
	"GET /subscriptions/{id}":                 on(subscriptions, (*book).findSubscription),
	"PUT /subscriptions/{id}":                 on(subscriptions, (*book).updateSubscription),
	"PUT /subscriptions/{id}/cancel":          on(subscriptions, (*book).cancelSubscription),
	"POST /subscriptions/advanced_search_ids": ids((*book).allSubscriptions),
	"POST /subscriptions/advanced_search":     page("subscriptions", (*book).allSubscriptions),

	"POST /transactions":                           once((*book).createTransaction),
	"GET /transactions/{id}":                       on(transactions, (*book).findTransaction),
	"POST /transactions/{id}/refund":               once(on(transactions, (*book).refund)),
	"PUT /transactions/{id}/void":                  once(void),
	"PUT /transactions/{id}/submit_for_settlement": once(submitForSettlement),
	"PUT /transactions/{id}/settle":                settle,
	"PUT /transactions/{id}/settlement_confirm":    settle,
	"PUT /transactions/{id}/settlement_pending":    settlementPending,
	"PUT /transactions/{id}/settlement_decline":    settlementDecline,
	"POST /transactions/advanced_search_ids":       ids((*book).allTransactions),
	"POST /transactions/advanced_search":           page("credit_card_transactions", (*book).allTransactions),
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

// serveCall answers one call as the gateway does.
func (l *Lab) serveCall(call string) http.HandlerFunc {
	do := commandFor(call)
	if do == nil {
		do = func(*Lab, command) reply { return notFound() }
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
