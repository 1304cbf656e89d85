package libsql

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// stream runs batches of statements on a server, one batch after the other.
type stream interface {
	// open connects to the server.
	open(ctx context.Context) error
	// next runs a batch that depends on those before: if it does not reach the server's
	// stream on which they ran, it fails. After an error next must not be called again.
	next(ctx context.Context, steps []hranaStep) (*hranaResult, error)
	// reset is called before a batch that depends on none, if those after it are run by next.
	reset()
	// batch runs a batch that depends on none, on a new connection if need be.
	batch(ctx context.Context, steps []hranaStep) (*hranaResult, error)
	close()
}

type (
	hranaStep struct {
		Condition *hranaCondition `json:"condition,omitempty"`
		Stmt      hranaStmt       `json:"stmt"`
	}
	hranaCondition struct {
		Type string          `json:"type"` // "ok": true if that step succeeded
		Step *int            `json:"step,omitempty"`
		Cond *hranaCondition `json:"cond,omitempty"` // of type "not"
	}
	hranaStmt struct {
		SQL      string       `json:"sql"`
		Args     []hranaValue `json:"args,omitempty"`
		WantRows bool         `json:"want_rows"`
	}
	hranaValue struct {
		Type   string  `json:"type"`
		Value  any     `json:"value,omitempty"`
		Base64 *string `json:"base64,omitempty"`
	}
	hranaRequest struct {
		Type   string      `json:"type"`
		Stream int32       `json:"stream_id,omitempty"` // over a WebSocket
		Batch  *hranaBatch `json:"batch,omitempty"`
	}
	hranaBatch struct {
		Steps []hranaStep `json:"steps"`
	}
	hranaError    struct{ Message string }
	hranaResponse struct {
		Error    *hranaError
		Response struct{ Result hranaResult }
	}
	// hranaResult has a result or an error for each step of a batch, or neither
	// when the condition of the step was false.
	hranaResult struct {
		Results []*hranaRows  `json:"step_results"`
		Errors  []*hranaError `json:"step_errors"`
	}
	hranaRows struct {
		Cols     []struct{ Name string }
		Affected int64 `json:"affected_row_count"`
		Rows     [][]struct {
			Type   string
			Value  json.RawMessage
			Base64 string
		}
	}
)

// stepOf returns the step that runs a statement.
func stepOf(text string, args []any, rows bool) hranaStep {
	stmt := hranaStmt{SQL: text, WantRows: rows}
	for _, arg := range args {
		stmt.Args = append(stmt.Args, hranaValueOf(arg))
	}
	return hranaStep{Stmt: stmt}
}

// chain makes each step run only if the one before succeeded.
func chain(steps []hranaStep) []hranaStep {
	for i := 1; i < len(steps); i++ {
		before := i - 1
		steps[i].Condition = &hranaCondition{Type: "ok", Step: &before}
	}
	return steps
}

// result returns the result of a batch of n steps.
func (r *hranaResponse) result(n int) (*hranaResult, error) {
	if r.Error != nil {
		return nil, r.Error.err()
	}
	done := &r.Response.Result
	if len(done.Results) != n || len(done.Errors) != n {
		return nil, fmt.Errorf("the server answered %d of %d statements", len(done.Results), n)
	}
	return done, nil
}

// err returns the first error of a step, or nil.
func (r *hranaResult) err() error {
	for _, e := range r.Errors {
		if e != nil {
			return e.err()
		}
	}
	return nil
}

func (e *hranaError) err() error { return fmt.Errorf("the server: %s", e.Message) }

func hranaValueOf(v any) hranaValue {
	switch v := v.(type) {
	case int64:
		return hranaValue{Type: "integer", Value: strconv.FormatInt(v, 10)}
	case int:
		return hranaValueOf(int64(v))
	case bool:
		if v {
			return hranaValueOf(1)
		}
		return hranaValueOf(0)
	case float64:
		return hranaValue{Type: "float", Value: v}
	case string:
		return hranaValue{Type: "text", Value: v}
	case []byte:
		text := base64.StdEncoding.EncodeToString(v)
		return hranaValue{Type: "blob", Base64: &text}
	default:
		return hranaValue{Type: "null"}
	}
}

// readText reads the answer to a batch. Its limit is above maxBytes, since JSON
// escapes may multiply the size of a value and there is a result for each step.
func (l limits) readText(r io.Reader) ([]byte, error) {
	limit := 8 * int64(l.maxBytes)
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%w than %d bytes", errTooLarge, limit)
	}
	return text, err
}

// outcome returns the result or the error of a step.
func (l limits) outcome(of *hranaResult, step int) (o outcome) {
	if e := of.Errors[step]; e != nil {
		return outcome{err: e.err()}
	}
	if of.Results[step] == nil {
		return outcome{err: errors.New("the server did not run the statement")}
	}
	o.result, o.err = l.rows(of.Results[step])
	return o
}

func (l limits) rows(from *hranaRows) (*result, error) {
	r := &result{}
	for _, c := range from.Cols {
		r.columns = append(r.columns, c.Name)
	}
	size := 0
	for n, row := range from.Rows {
		if len(row) != len(r.columns) {
			return nil, fmt.Errorf("a row has %d values in %d columns", len(row), len(r.columns))
		}
		for _, v := range row {
			value, err := hranaRead(v.Type, v.Value, v.Base64)
			if err != nil {
				return nil, err
			}
			size += sizeOfValue(value)
			r.values = append(r.values, value)
		}
		if n >= l.maxRows || size > l.maxBytes {
			return nil, l.tooLarge()
		}
	}
	return r, nil
}

func hranaRead(kind string, value json.RawMessage, blob string) (any, error) {
	var err error
	switch kind {
	case "null":
		return nil, nil
	case "integer":
		var text string
		if err = json.Unmarshal(value, &text); err == nil {
			return strconv.ParseInt(text, 10, 64)
		}
	case "float":
		var f float64
		if err = json.Unmarshal(value, &f); err == nil {
			return f, nil
		}
	case "text":
		var text string
		if err = json.Unmarshal(value, &text); err == nil {
			return text, nil
		}
	case "blob":
		return base64.RawStdEncoding.DecodeString(strings.TrimRight(blob, "="))
	default:
		err = fmt.Errorf("unknown type")
	}
	return nil, fmt.Errorf("the server's %q: %w", kind, err)
}
