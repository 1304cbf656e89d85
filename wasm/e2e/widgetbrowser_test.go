package e2e

import "testing"

// The default widget and the page of a dead link are readable in each language and
// theme, on a phone and on a desktop.
func TestBrowser_Widget(t *testing.T) {
	t.Parallel()
	newMall(t).play(t, "widget", "languagesAndThemes", "earned", "variables", "deadLink")
}
