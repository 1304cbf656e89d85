package shop

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// storyTimeout bounds the story.
const storyTimeout = 30 * time.Second

// storyRun is the state of the story of a tenant.
type storyRun struct {
	mu sync.Mutex
	storyState
}

// storyState is what the page shows of the story.
type storyState struct {
	Running bool   `json:"running"`
	Played  bool   `json:"played"`
	Done    int    `json:"done"`
	All     int    `json:"all"`
	Text    string `json:"text"`
	Problem string `json:"problem"`
}

func (s *site) storyState(ctx context.Context) (storyState, error) {
	s.story.mu.Lock()
	state := s.story.storyState
	s.story.mu.Unlock()
	if state.Running || state.Played || s.Story == nil {
		return state, nil
	}
	played, err := s.Story.Played(ctx, s.tenant.Alias)
	state.Played = played
	return state, err
}

// storyPage says what the story does, and shows its progress.
func (v *visit) storyPage() error {
	if v.Story == nil {
		return refuse("The story is a part of kith dev, which this server is not.")
	}
	state, err := v.storyState(v.r.Context())
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "story", "Play the whole story", map[string]any{"Story": state})
}

// playStory begins the story, which continues after the answer.
func (v *visit) playStory() error {
	if v.Story == nil {
		return refuse("The story is a part of kith dev, which this server is not.")
	}
	state, err := v.storyState(v.r.Context())
	if err != nil {
		return err
	}
	if !state.Running && !state.Played {
		v.begin(context.WithoutCancel(v.r.Context()))
	}
	return v.redirect("/story")
}

// begin starts the story, unless it runs already.
func (s *site) begin(ctx context.Context) {
	s.story.mu.Lock()
	defer s.story.mu.Unlock()
	if s.story.Running {
		return
	}
	s.story.storyState = storyState{Running: true, Text: "Begins"}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, storyTimeout)
		defer cancel()
		err := s.Story.Play(ctx, s.tenant.Alias, func(done, all int, text string) {
			s.story.mu.Lock()
			defer s.story.mu.Unlock()
			s.story.Done, s.story.All, s.story.Text = done, all, text
		})
		s.story.mu.Lock()
		defer s.story.mu.Unlock()
		s.story.Running, s.story.Played = false, err == nil
		if err != nil {
			s.story.Problem = "The story stopped: " + err.Error() + ". Play it again: it continues where it stopped."
			s.Log.Error("demo story", "tenant", s.tenant.Alias, "error", err)
		}
	}()
}

// storyProgress is what the script of the page asks while the story runs.
func (v *visit) storyProgress() error {
	state, err := v.storyState(v.r.Context())
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(state)
}
