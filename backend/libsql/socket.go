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
		Type    string         `json:"type"`
		JWT     string         `json:"jwt,omitempty"`
		ID      int32          `json:"request_id,omitempty"`
		Request *socketRequest `json:"request,omitempty"`
	}
	socketRequest struct {
		Type   string      `json:"type"`
		Stream int32       `json:"stream_id"`
		Batch  *hranaBatch `json:"batch,omitempty"`
	}
	socketAnswer struct {
		Type     string
		ID       int32 `json:"request_id"`
		Error    *hranaError
		Response struct{ Result hranaResult }
	}
)

// batch runs statements, and connects if there is no connection.
func (s *socket) batch(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	if s.conn == nil {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	answer, err := s.ask(ctx, socketRequest{Type: "batch", Stream: socketStream, Batch: &hranaBatch{steps}})
	if err != nil {
		return nil, err
	}
	return &answer.Response.Result, nil
}

// next implements session.
func (s *socket) next(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	if s.conn == nil {
		return nil, errBroken
	}
	return s.batch(ctx, steps)
}

// reset implements session. It does nothing: a stream lasts as long as its connection.
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
	if err := s.openStream(ctx); err != nil {
		s.close()
		return err
	}
	return nil
}

func (s *socket) openStream(ctx context.Context) error {
	if err := s.send(ctx, socketMessage{Type: "hello", JWT: s.token}); err != nil {
		return err
	}
	if _, err := s.receive(ctx, "hello_ok"); err != nil {
		return err
	}
	_, err := s.ask(ctx, socketRequest{Type: "open_stream", Stream: socketStream})
	return err
}

func (s *socket) ask(ctx context.Context, r socketRequest) (*socketAnswer, error) {
	s.sent++
	if err := s.send(ctx, socketMessage{Type: "request", ID: s.sent, Request: &r}); err != nil {
		return nil, err
	}
	answer, err := s.receive(ctx, "response_ok")
	if err == nil && answer.ID != s.sent {
		s.close()
		err = fmt.Errorf("the server answered request %d, not %d", answer.ID, s.sent)
	}
	return answer, err
}

func (s *socket) send(ctx context.Context, m socketMessage) error {
	text, err := json.Marshal(m) // #nosec G117 -- the protocol sends the token in this field
	if err != nil {
		return err
	}
	if err := s.conn.Write(ctx, websocket.MessageText, text); err != nil {
		s.close()
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	return nil
}

// receive reads an answer of type want, or the server's error.
func (s *socket) receive(ctx context.Context, want string) (*socketAnswer, error) {
	text, err := s.read(ctx)
	if err != nil {
		s.close()
		return nil, err
	}
	answer := &socketAnswer{}
	if err := json.Unmarshal(text, answer); err != nil {
		s.close()
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	switch {
	case answer.Error != nil:
		return nil, fmt.Errorf("the server: %s", answer.Error.Message)
	case answer.Type != want:
		s.close()
		return nil, fmt.Errorf("the server answered %q, not %q", answer.Type, want)
	}
	return answer, nil
}

func (s *socket) read(ctx context.Context) ([]byte, error) {
	_, message, err := s.conn.Reader(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	text, err := s.readText(message)
	if err != nil && !errors.Is(err, errTooLarge) {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return text, err
}
