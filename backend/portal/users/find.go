package users

import (
	"strings"

	"kith/backend/app/users"
	"kith/backend/portal/frame"
	"kith/core/wire"
)

// pageSize is the number of users of a page.
const pageSize = 25

// findData is the data of the search page.
type findData struct {
	*frame.Form
	users.Found
	// Searched is true if the visitor entered something.
	Searched bool
	frame.Links
}

func findPage(v *frame.Visit) error {
	f := v.NewForm()
	search := users.Search{Text: f.Value("search"), After: f.Value("after"), Limit: pageSize}
	data := findData{Form: f, Searched: strings.TrimSpace(search.Text) != ""}
	found, err := v.Engine.Users.Find(v.Ctx(), v.Caller.Tenant, search)
	if err != nil && !f.Refuse(err, map[string]string{"search": "The search", "after": "The address"}) {
		return err
	}
	data.Found = found
	data.Links = frame.LinksOf(v, "after", found.Next, search.After == "")
	return v.Page(f.Status(), "find", "People", data)
}

// userName returns what to call a user.
func userName(u wire.UserInfo) string {
	return frame.PersonName(u.User.FirstName, u.User.LastName, u.User.Email, u.User.ID)
}
