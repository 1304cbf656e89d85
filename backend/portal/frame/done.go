package frame

// doneTexts say what happened, beside the texts of Pages.Done. The parameter done of a page
// names one, so that a page shows no text that a link has brought.
var doneTexts = map[string]string{
	"second-step-needed": "This tenant requires two-step sign-in. Set it up here, then open the tenant again.",
	"session-ended":      "Your session has ended. Sign in again, and repeat the last step: it was not done.",
}
