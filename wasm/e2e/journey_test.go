package e2e

import "testing"

// After `make run`, a person changes the reward, sees a friend's purchase become a reward,
// reads why it is not paid yet, and makes a program that converts.
func TestBrowser_Journey(t *testing.T) {
	t.Parallel()
	browsePortal(t, "journey", "reward", "program")
}
