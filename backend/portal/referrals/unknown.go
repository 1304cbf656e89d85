package referrals

import (
	"net/http"

	"kith/backend/portal/frame"
)

// unknownPage shows the codes that people gave and no user owns.
func unknownPage(v *frame.Visit) error {
	all, err := v.Engine.Admin.Referrals.UnknownCodes(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	return v.Page(http.StatusOK, "unknown", "Unknown codes", all)
}
