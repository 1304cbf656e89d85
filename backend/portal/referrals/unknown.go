package referrals

import (
	"net/http"

	"kith/backend/portal/frame"
	"kith/core/operation"
	"kith/core/referral"
)

// unknownCodes is the data of the page. May is true if the visitor may attribute people.
type unknownCodes struct {
	Codes []referral.UnknownCode
	May   bool
}

// unknownPage shows the codes that people gave and no user owns.
func unknownPage(v *frame.Visit) error {
	all, err := v.Engine.Codes.Unknown(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	return v.Page(http.StatusOK, "unknown", "Unknown codes", unknownCodes{all, v.May(operation.AttributeUser)})
}
