package braintreelab

import (
	"net/http"
	"strings"

	"kith/backend/gateway/xmltree"
)

// reply is the answer to a command. A reply without a document has no body.
type reply struct {
	status int
	doc    *xmltree.Node
}

func ok(doc *xmltree.Node) reply      { return reply{http.StatusOK, doc} }
func created(doc *xmltree.Node) reply { return reply{http.StatusCreated, doc} }
func notFound() reply                 { return reply{http.StatusNotFound, nil} }

// problem is one reason why a command was refused.
type problem struct {
	// path is the path of the invalid element, such as "subscription", "discounts",
	// "add", "index_0".
	path                     []string
	attribute, code, message string
}

type problems []problem

// add adds a problem by its code.
func (p *problems) add(path []string, attribute, code string) {
	*p = append(*p, problem{path, attribute, code, messages[code]})
}

// refusedFor is the answer to a command that was refused for one reason.
func refusedFor(element, attribute, code string) reply {
	return refused(problems{{[]string{element}, attribute, code, messages[code]}}, nil)
}

// refused is the answer to a refused command. t is the declined transaction, or nil.
func refused(p problems, t *xmltree.Node) reply {
	errs := level("errors")
	var texts []string
	for _, one := range p {
		into := errs
		for _, name := range one.path {
			into = below(into, name)
		}
		into.Children[0].Children = append(into.Children[0].Children, xmltree.Object("error",
			xmltree.Text("code", one.code), xmltree.Text("attribute", one.attribute), xmltree.Text("message", one.message)))
		texts = append(texts, one.message)
	}
	message := strings.Join(texts, "\n")
	if t != nil {
		message = t.Value("processor_response_text")
	}
	return reply{http.StatusUnprocessableEntity, xmltree.Object("api_error_response", errs, xmltree.Text("message", message), t)}
}

// level returns a level of errors; its own list comes first.
func level(name string) *xmltree.Node { return xmltree.Object(name, xmltree.Array("errors")) }

func below(n *xmltree.Node, name string) *xmltree.Node {
	if found := n.At(name); found != nil {
		return found
	}
	made := level(name)
	n.Children = append(n.Children, made)
	return made
}

// messages has the text of each code, in the lab's own words. The codes are the
// gateway's.
var messages = map[string]string{
	"81501": "Amount cannot be negative.", "81502": "Amount is required.", "81503": "Amount is an invalid format.",
	"81531": "Amount must be greater than zero.", "91504": "Transaction can only be voided if status is authorized, submitted_for_settlement or settlement_pending.",
	"91505": "Cannot refund a credit.", "91506": "Cannot refund a transaction unless it is settling or settled.",
	"91507": "Cannot submit for settlement unless status is authorized.", "91512": "Transaction has already been refunded.",
	"91518": "Payment method token is invalid.", "91521": "Refund amount is too large.", "91528": "Subscription id is invalid.",
	"91531": "Subscription status must be Past Due in order to retry.", "91575": "Cannot simulate this settlement from the present status.",
	"81605": "Email is too long.", "91602": "Custom field is invalid", "81603": "Custom field is too long.",
	"91609": "Customer id has already been taken.", "91610": "Customer id is invalid.", "91705": "Customer id is invalid.",
	"91718": "Token is invalid.", "91719": "Token is in use.", "81715": "Credit card number is invalid.", "91732": "Unknown payment method nonce.",
	"81709": "Expiration date is required.",
	"81901": "Cannot edit a canceled subscription.", "81902": "Subscription id has already been taken.", "81905": "Subscription has already been canceled.",
	"81904": "Price is an invalid format.", "81906": "Subscription id is invalid.", "81907": "Trial duration is invalid.",
	"81908": "Trial duration is required.", "81909": "Trial duration unit is invalid.", "81910": "Cannot edit an expired subscription.",
	"91903": "Payment method token is invalid.", "91904": "Plan id is invalid.", "91907": "Number of billing cycles must be greater than zero.",
	"91908": "Number of billing cycles and never expires contradict each other.", "91911": "Add-on or discount is on the subscription already.",
	"91915": "First billing date is invalid.", "91916": "First billing date cannot be in the past.",
	"91917": "First billing date and trial contradict each other.", "91920": "Cannot edit price changing fields on a past due subscription.",
	"91922": "The billing frequency cannot be updated.", "91923": "The currency of the plan does not match.",
	"92002": "Amount is invalid.", "92003": "Amount cannot be blank.", "92010": "Quantity must be greater than zero.",
	"92011": "Existing id is invalid.", "92012": "Existing id is required.", "92013": "Inherited from id is invalid.",
	"92014": "Inherited from id is required.", "92016": "Id to remove is not present.", "92019": "Number of billing cycles must be greater than zero.",
	"92020": "Existing id is of the other kind.", "92021": "Id to remove is of the other kind.",
	"92022": "Cannot edit add-ons or discounts on a past due subscription.", "92023": "Amount is too large.", "92025": "Id to remove is invalid.",
	"915230": "API request key is too long.", "915231": "API request key is not allowed.",
	"915232": "API request key can be reused only with the same request.", "915233": "A request with this API request key is in flight.",
	"915234": "The request with this API request key has failed.",
}
