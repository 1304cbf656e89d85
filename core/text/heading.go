package text

// Heading is what the beginning of a widget depends on.
type Heading struct {
	// Conversion is true for the widget of a referred user.
	Conversion bool
	// User is true if the widget has a user, and so a share link.
	User bool
	// Referrer is the name of the user's referrer, or empty.
	Referrer string
	// Give is what the friend gets, and Get what the user gets; either may be empty.
	Give, Get string
}

// Heading returns the title of a widget and the sentence below it.
func (c *Catalog) Heading(h Heading) (title, text string) {
	switch {
	case h.Conversion && h.Referrer != "" && h.Give != "":
		title = Fill(c.GiftFromReward, "name", h.Referrer, "reward", h.Give)
	case h.Conversion && h.Referrer != "":
		title = Fill(c.GiftFrom, "name", h.Referrer)
	case h.Conversion && h.Give != "":
		title = Fill(c.WelcomeReward, "reward", h.Give)
	case h.Conversion:
		title = c.Welcome
	case h.Give != "" && h.Get != "":
		title = Fill(c.TitleBoth, "give", h.Give, "get", h.Get)
	case h.Give != "":
		title = Fill(c.TitleGive, "give", h.Give)
	case h.Get != "":
		title = Fill(c.TitleGet, "get", h.Get)
	default:
		title = c.TitleShare
	}
	switch {
	case h.Conversion:
		return title, c.TextConversion
	case !h.User:
		return title, c.TextSignIn
	case h.Give != "" && h.Get != "":
		return title, c.TextBoth
	}
	return title, c.TextShare
}
