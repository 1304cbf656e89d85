package referrals

import (
	"net/http"

	"kith/backend/portal/frame"
	"kith/core/operation"
	"kith/core/referral"
)

// unknownCode is a row of the page.
type unknownCode struct {
	referral.UnknownCode
	// Person is the last one who gave the code.
	Person referral.Identity
}

// unknownCodes is the data of the page. May is true if the visitor may attribute people.
type unknownCodes struct {
	Codes []unknownCode
	May   bool
}

// unknownPage shows the codes that people gave and no user owns.
func unknownPage(v *frame.Visit) error {
	all, err := v.Engine.Codes.Unknown(v.Ctx(), v.Caller.Tenant)
	if err != nil {
		return err
	}
	rows := make([]unknownCode, len(all))
	for i, c := range all {
		rows[i] = unknownCode{c, referral.Identity{Account: c.LastAccount, User: c.LastUser}}
	}
	return v.Page(http.StatusOK, "unknown", "Unknown codes", unknownCodes{rows, v.May(operation.AttributeUser)})
}
