package libsql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/websocket"
)

// socket implements the libSQL protocol over a WebSocket (docs/HRANA_3_SPEC.md of the
// server), on one stream, one batch after the other. The server verifies the token
// once per connection; over HTTP it does so for each message.
type socket struct {
	url, token string
	limits

	conn *websocket.Conn // nil while not connected
	sent int32           // number of requests on conn
}

// socketStream is the number of the stream.
const socketStream = 1

// errBroken reports that a connection broke or could not be made.
var errBroken = errors.New("no connection to the server")

type (
	socketMessage struct {
		Type    string        `json:"type"`
		JWT     string        `json:"jwt,omitempty"`
		ID      int32         `json:"request_id,omitempty"`
		Request *hranaRequest `json:"request,omitempty"`
	}
	socketAnswer struct {
		Type string
		ID   int32 `json:"request_id"`
		hranaResponse
	}
)

// next implements stream.
func (s *socket) next(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	if s.conn == nil {
		return nil, errBroken
	}
	answer, err := s.ask(ctx, hranaRequest{Type: "batch", Stream: socketStream, Batch: &hranaBatch{steps}})
	if err != nil {
		return nil, err
	}
	return answer.result(len(steps))
}

// batch implements stream.
func (s *socket) batch(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	if s.conn == nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	return s.next(ctx, steps)
}

// reset does nothing: a stream lasts as long as its connection.
func (s *socket) reset() {}

func (s *socket) close() {
	if s.conn != nil {
		_ = s.conn.CloseNow()
		s.conn = nil
	}
}

// open connects.
func (s *socket) open(ctx context.Context) error {
	conn, _, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{Subprotocols: []string{"hrana3"}})
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	conn.SetReadLimit(-1) // readText has a limit
	s.conn, s.sent = conn, 0
	if _, err = s.exchange(ctx, socketMessage{Type: "hello", JWT: s.token}, "hello_ok"); err == nil {
		_, err = s.ask(ctx, hranaRequest{Type: "open_stream", Stream: socketStream})
	}
	if err != nil {
		s.close()
	}
	return err
}

func (s *socket) ask(ctx context.Context, r hranaRequest) (*socketAnswer, error) {
	s.sent++
	return s.exchange(ctx, socketMessage{Type: "request", ID: s.sent, Request: &r}, "response_ok")
}

// exchange sends a message, and returns the answer of type want, or the server's error.
// The connection is closed after any other error.
func (s *socket) exchange(ctx context.Context, m socketMessage, want string) (*socketAnswer, error) {
	answer, err := s.send(ctx, m)
	switch {
	case err != nil:
	case answer.Error != nil:
		return nil, answer.Error.err()
	case answer.Type != want || answer.ID != m.ID:
		err = fmt.Errorf("the server answered %q to request %d, not %q to %d", answer.Type, answer.ID, want, m.ID)
	default:
		return answer, nil
	}
	s.close()
	return nil, err
}

func (s *socket) send(ctx context.Context, m socketMessage) (*socketAnswer, error) {
	text, err := json.Marshal(m) // #nosec G117 -- the protocol sends the token in this field
	if err != nil {
		return nil, err
	}
	if err = s.conn.Write(ctx, websocket.MessageText, text); err == nil {
		text, err = s.read(ctx)
	}
	if errors.Is(err, errTooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	answer := &socketAnswer{}
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	return answer, nil
}

func (s *socket) read(ctx context.Context) ([]byte, error) {
	_, message, err := s.conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	return s.readText(message)
}
